import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { BESIDE, folderWith, GOOD_KEY } from '../settings/folder.ts'
import { createCertificate } from '../support/certificate.ts'
import { run } from '../support/command-line.ts'
import { missingDatabase, startDatabase } from '../support/database-server.ts'
import { startOpenIdProvider } from '../support/openid-provider.ts'
import { freePort } from '../support/ports.ts'
import { connect, LONGEST } from './connect-fixture.ts'

async function serve(t: Test, listener: RequestListener): Promise<string> {
  const server = createHttpServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('check --connect finds everything of a new folder in order', async t => {
  const { code, lines } = await connect(t, {})
  t.equal(code, 0)
  t.match(lines, [
    /^reached store \(embedded, in .*\): the first start creates/,
    /^reached accounts \(file\): no accounts/,
  ])
})

t.test('without --connect nothing is asked', async t => {
  const folder = folderWith(t, {
    ...BESIDE,
    'gateway.yaml': stringify({ store: { kind: 'redis', redis: { url: 'redis://127.0.0.1:1' } } }),
  })
  const { code, output } = await run(folder, ['check', '--config', 'gateway.yaml'])
  t.equal(code, 0)
  t.notMatch(output, /reached/i)
})

t.test('check --connect asks the backend of the accounts as a login does', async t => {
  const asked: string[] = []
  let status = 404
  const url = await serve(t, (request, response) => {
    request.on('data', chunk => asked.push(String(chunk))).on('end', () => response.writeHead(status).end('{}'))
  })
  const config = {
    accounts: { kind: 'http', url, secret: GOOD_KEY, timeout: LONGEST },
    permissions: { source: 'accounts' },
  }
  const found = await connect(t, config)
  t.equal(found.code, 0)
  t.match(found.lines[1], /^reached accounts \(http\): answers the question for an account, and for rights$/)
  t.same(
    asked.map(text => Object.keys(JSON.parse(text))),
    [['username'], ['id']],
  )
  status = 401
  const refused = await connect(t, config)
  t.equal(refused.code, 1)
  t.match(refused.lines[1], /^NOT REACHED accounts \(http\): .*status 401; correct accounts\.url, accounts\.secret/)
  t.notMatch(refused.output, GOOD_KEY)
})

for (const kind of ['postgres', 'mysql'] as const) {
  t.test(
    `check --connect lets ${kind} check updates without running them`,
    { skip: missingDatabase(kind) },
    async t => {
      const server = await startDatabase(kind)
      t.teardown(() => server.stop())
      const [table, reader] = [`connect_${process.pid}`, `reader_${process.pid}`]
      await server.run(
        `CREATE TABLE ${table} (id bigint, username varchar(64), password varchar(80), status varchar(10))`,
        `INSERT INTO ${table} VALUES (1, 'ann', 'x', 'ACTIVE')`,
        ...(kind === 'postgres'
          ? [`CREATE ROLE ${reader} LOGIN PASSWORD 'pw1'`, `GRANT SELECT ON ${table} TO ${reader}`]
          : []),
      )
      // The tests' own user of MariaDB creates no users.
      t.teardown(() => server.run(`DROP TABLE ${table}`, ...(kind === 'postgres' ? [`DROP ROLE ${reader}`] : [])))
      const accountsOf = (url: string, column = 'password', columns = 'id, username, password, status') => ({
        accounts: {
          kind: 'sql',
          url,
          timeout: LONGEST,
          query: `SELECT ${columns} FROM ${table} WHERE username = :username`,
          update: { password: `UPDATE ${table} SET ${column} = :password WHERE id = :id` },
        },
      })
      const owner = await connect(t, accountsOf(server.url))
      t.equal(owner.code, 0)
      t.match(owner.lines[1], /^reached accounts \(sql\): answers .*, accepts the updates: password$/)
      const other = new URL(server.url)
      Object.assign(other, { username: reader, password: 'pw1' })
      const unknown = accountsOf(server.url, 'no_such_column')
      for (const wrong of kind === 'postgres' ? [accountsOf(String(other)), unknown] : [unknown]) {
        const { code, lines } = await connect(t, wrong)
        t.equal(code, 1)
        t.match(lines[1], /^NOT REACHED accounts \(sql\): .*; correct accounts\.url \(its scheme, /)
      }
      const incomplete = await connect(t, accountsOf(server.url, 'password', 'id, username, password'))
      t.match(incomplete.lines[1], /^NOT REACHED accounts \(sql\): .*the query returns no column "status"; /)
      const scheme = kind === 'postgres' ? 'mysql' : 'postgres'
      const misnamed = await connect(t, accountsOf(server.url.replace(/^\w+:/, `${scheme}:`)))
      t.match(
        misnamed.lines[1],
        new RegExp(`^NOT REACHED .*; it is a server of .*; begin accounts.url with ${kind}://$`),
      )
      t.match(await server.run(`SELECT password FROM ${table}`), [{ password: 'x' }], 'nothing has changed')
    },
  )
}

t.test('check --connect reports each target of an upstream', async t => {
  let isHealthy = true
  const url = await serve(t, (request, response) => {
    response.writeHead(isHealthy && request.url === '/healthz' ? 204 : 500).end()
  })
  const dead = `http://127.0.0.1:${await freePort()}`
  const upstreams = [
    { name: 'orders', match: '/api/v1/a', targets: [url, dead] },
    { name: 'checked', match: '/api/v1/b', target: url, health: { path: '/healthz', timeout: LONGEST } },
    { name: 'echo', match: '/api/v1/c', target: 'builtin:echo' },
  ]
  const { code, lines } = await connect(t, { upstreams })
  t.equal(code, 1)
  t.match(lines.slice(2), [
    `reached upstream orders (${url}): accepts connections`,
    new RegExp(`^NOT REACHED upstream orders \\(${dead}\\): .*ECONNREFUSED.*; start it, or correct its target$`),
    `reached upstream checked (${url}): healthy`,
    'reached upstream echo (builtin:echo): built in',
  ])
  isHealthy = false
  t.match((await connect(t, { upstreams })).lines[4], /^NOT REACHED upstream checked .*: answered with 500/)
})

t.test('check --connect says what is wrong with the TLS of a target, in one line', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-connect-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const ca = createCertificate(folder, 'DNS:other.internal')
  const serveTls = async (ALPNProtocols: string[]): Promise<string> => {
    const tls = { cert: readFileSync(ca), key: readFileSync(join(folder, 'key.pem')), ALPNProtocols }
    const server = createTlsServer(tls).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    return `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  const target = await serveTls(['http/1.1'])
  const h2 = await serveTls(['h2'])
  const plain = (await serve(t, (_request, response) => void response.end())).replace('http:', 'https:')
  const upstreams = [
    { name: 'unknown', match: '/api/v1/a', target },
    { name: 'other', match: '/api/v1/b', target, tls: { ca } },
    { name: 'h2', match: '/api/v1/c', target: h2, tls: { ca, server_name: 'other.internal' } },
    { name: 'plain', match: '/api/v1/d', target: plain },
  ]
  const untrusted = 'name its authority in tls\\.ca, correct tls\\.server_name, or renew the certificate$'
  const { code, lines } = await connect(t, { upstreams })
  t.equal(code, 1)
  t.match(lines.slice(2), [
    new RegExp(`^NOT REACHED upstream unknown .*not trusted: self-signed certificate; ${untrusted}`),
    new RegExp(`^NOT REACHED upstream other .*not trusted: .*does not match.*; ${untrusted}`),
    /^NOT REACHED upstream h2 .*: TLS with HTTP\/1\.1 fails: .*alert no application protocol; correct its target \(.*\), or tls$/,
    /^NOT REACHED upstream plain .*: TLS with HTTP\/1\.1 fails: .*; correct its target \(http:\/\/ or https:\/\/\), or tls$/,
  ])
})

t.test('check --connect says of a target that wants a certificate of the gateway whether it accepts it', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-connect-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const cert = createCertificate(folder)
  const key = join(folder, 'key.pem')
  const foreign = join(folder, 'foreign')
  mkdirSync(foreign)
  const other = { cert: createCertificate(foreign), key: join(foreign, 'key.pem') }
  for (const maxVersion of ['TLSv1.3', 'TLSv1.2'] as const) {
    const pem = readFileSync(cert)
    const options = { cert: pem, key: readFileSync(key), ca: pem, requestCert: true, maxVersion }
    const server = createTlsServer(options).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    const target = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    const upstreams = [
      { name: 'none', match: '/api/v1/a', target, tls: { ca: cert } },
      { name: 'other', match: '/api/v1/b', target, tls: { ca: cert, ...other } },
      { name: 'good', match: '/api/v1/c', target, tls: { ca: cert, cert, key } },
    ]
    const { code, lines } = await connect(t, { upstreams })
    t.equal(code, 1)
    t.match(
      lines.slice(2),
      [
        maxVersion === 'TLSv1.3'
          ? /^NOT REACHED upstream none .*: it refuses the certificate of the gateway: .*required; set or renew tls\.cert and tls\.key$/
          : /^NOT REACHED upstream none .*: TLS with HTTP\/1\.1 fails: /,
        /^NOT REACHED upstream other /,
        `reached upstream good (${target}): accepts connections`,
      ],
      maxVersion,
    )
  }
})

t.test('check --connect ends with a target that never answers its check', async t => {
  const server = createServer(() => undefined).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const health = { path: '/', timeout: '100ms' }
  const { code, lines } = await connect(t, { upstreams: [{ name: 'a', match: '/api', target, health }] })
  t.match([code, lines[2]], [1, /^NOT REACHED upstream a .*not answered in 100 ms/])
})

const SECRET = 'Zq8-secret-of-the-client'

/** A configuration with one provider. */
const signsInWith = (issuer: string, changes: object = {}) => ({
  browser: { business: 'on', url: 'https://admin.example.com' },
  login: {
    providers: [
      {
        ...{ name: 'staff', side: 'business', label: 'Company account', issuer, account: 'claims' },
        ...{ client_id: 'dualgate', client_secret: SECRET, ...changes },
      },
    ],
  },
})

t.test('check --connect asks each provider for its configuration and keys', async t => {
  const { issuer, stop } = await startOpenIdProvider({ clients: [] })
  t.teardown(stop)
  const { code, lines } = await connect(t, signsInWith(issuer))
  t.equal(code, 0)
  t.equal(
    lines[2],
    `reached provider staff (${issuer}): answers with its configuration and keys; a sign-out ends the session there, too; ` +
      'it sends back-channel logouts; client and secret were not tried',
  )
})

t.test('check --connect says why a provider cannot be used', async t => {
  const { issuer, stop } = await startOpenIdProvider({ clients: [] })
  t.teardown(stop)
  const port = await freePort()
  const html = await serve(t, (_, response) => response.end('<html>'))
  const slow = await serve(t, () => undefined)
  const cases: [config: object, text: RegExp][] = [
    [signsInWith(`http://127.0.0.1:${port}`), /ECONNREFUSED/],
    [signsInWith(`${issuer}/`), /it says that its issuer is http/],
    [signsInWith(html), /no discovery/],
    [signsInWith(slow, { timeout: '50ms' }), /no discovery/],
    [signsInWith(issuer, { algorithms: ['PS512'] }), /it signs with /],
  ]
  for (const [config, text] of cases) {
    const { code, lines, output } = await connect(t, config as Record<string, unknown>)
    t.equal(code, 1)
    t.match(lines[2], /^NOT REACHED provider staff \(http.*; start it, or correct issuer, ca, proxy or algorithms$/)
    t.match(lines[2], text)
    t.notMatch(output, SECRET)
  }
})

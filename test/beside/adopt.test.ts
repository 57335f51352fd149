import { createHmac, randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import bcrypt from 'bcrypt'
import { sm2 } from 'sm-crypto-v2'
import t, { type Test } from 'tap'
import { readConfiguration } from '../../src/settings/load.ts'
import { generateSm2PrivateKey } from '../../src/settings/sm2-key.ts'
import { GOOD_KEY } from '../settings/folder.ts'
import { call } from '../support/client.ts'
import { type Outcome, run } from '../support/command-line.ts'
import { missingDatabase, startDatabase } from '../support/database-server.ts'
import { limitFiles, withoutFullDisk } from '../support/full-disk.ts'
import { startGateway } from '../support/process.ts'
import { type RedisServer, startRedis, withoutRedis } from '../support/redis-server.ts'
import { ROOT } from '../support/root.ts'
import { until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'
import { isoInShanghai, otherProgram, type SignIn } from './other-program.ts'

const PREFIX = 'hei:auth'
const SM2_KEY = generateSm2PrivateKey()
const naiveInShanghai: SignIn['form'] = at => isoInShanghai(at).slice(0, 19).replace('T', ' ')

interface Family {
  server: RedisServer
  folder: string
  tokens: string[]
  /** Adds lines to the `.env` of the service. */
  set(lines: Record<string, string | number>): void
}

/** A Redis as a service of the family fills it, and a folder with its `.env`. */
async function familyService(t: Test, secret = GOOD_KEY): Promise<Family> {
  const server = await startRedis()
  t.teardown(() => server.stop())
  await server.cli('FLUSHALL')
  const other = otherProgram(server, secret, PREFIX)
  const tokens = [
    await other.signIn('1', { extra: { username: 'admin' } }),
    await other.signIn('1', { extra: { username: 'admin' } }),
    await other.signIn('9', { type: 'CONSUMER', form: isoInShanghai }),
  ]
  await server.cli('SET', 'BUSINESS:captcha:0b9c', 'ABCD', 'EX', '60')
  await server.cli('SET', 'unrelated:key', 'x')
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-adopt-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const set = (lines: Record<string, string | number>): void =>
    writeFileSync(
      join(folder, 'service.env'),
      Object.entries(lines)
        .map(line => `${line.join('=')}\n`)
        .join(''),
      { flag: 'a' },
    )
  set({ REDIS__HOST: '127.0.0.1', REDIS__PORT: server.port, JWT__SECRET_KEY: secret, APP__TIMEZONE: 'Asia/Shanghai' })
  set({ SM2__PRIVATE_KEY: SM2_KEY, APP__HOST: '0.0.0.0', APP__PORT: 8000 })
  return { server, folder, tokens, set }
}

/** A busy machine may take longer than the shipped second. */
const PATIENT = { STORE__TIMEOUT: '30s' }

const adopt = (folder: string, ...words: string[]): Promise<Outcome> =>
  run(folder, ['adopt', '--env', 'service.env', ...words])

const textOf = (folder: string, file: string): string => readFileSync(join(folder, file), 'utf8')

t.test('adopt reports what a move needs, without secrets and tokens', { skip: withoutRedis }, async t => {
  const { server, folder, tokens } = await familyService(t)
  const before = await server.cli('DBSIZE')
  const { code, output } = await adopt(folder)
  t.equal(code, 0)
  t.match(output, /^prefix hei:auth$/m)
  t.match(output, /BUSINESS {2}2 tokens of 1 users, 0 disabled/)
  t.match(output, /CONSUMER {2}1 tokens of 1 users/)
  t.match(output, /created_at like 0000-00-00T00:00:00\.000000\+00:00 \(2 of 2/)
  t.match(output, /created_at like 0000-00-00T00:00:00\+08:00 \(1 of 1/)
  t.match(output, /no roles in the records/)
  t.match(output, /JWT__SECRET_KEY fits 3 of 3 tokens/)
  t.match(output, /captchas <TYPE>:captcha:<id>/)
  t.match(output, /what will not work:\n {2}- its database is not known: .*\n\n/)
  for (const secret of [GOOD_KEY, SM2_KEY, ...tokens]) t.notOk(output.includes(secret), 'no secret')
  t.equal(await server.cli('DBSIZE'), before, 'nothing is changed')
})

t.test(
  'adopt writes a configuration without faults, and its secrets into .env alone',
  { skip: withoutRedis },
  async t => {
    const { folder, server, set } = await familyService(t)
    set({ DB__HOST: '127.0.0.1', DB__PORT: 1, DB__USER: 'svc', DB__PASSWORD: 'p@ss#w/rd', DB__DATABASE: 'hei_data' })
    set({ JWT__EXPIRE_SECONDS: 86400, JWT__TOKEN_NAME: 'X-Token' })
    const { code, output } = await adopt(folder, 'gateway')
    t.equal(code, 0)
    const root = join(folder, 'gateway')
    const { settings } = readConfiguration('config/gateway.yaml', { NODE_ENV: 'production' }, root)
    t.match(settings, {
      profile: 1,
      timezone: 'Asia/Shanghai',
      listen: { port: 8080 },
      jwt: { secret_key: GOOD_KEY, expire_seconds: 86400, token_name: 'X-Token', algorithm: 'HS256' },
      store: { prefix: PREFIX, redis: { url: `redis://127.0.0.1:${server.port}/0` } },
      login: { captcha: { key: '{type}:captcha:{id}' }, sm2: { private_key: SM2_KEY } },
      permissions: { source: 'accounts' },
      accounts: { kind: 'sql', url: 'mysql://svc:p%40ss%23w%2Frd@127.0.0.1:1/hei_data' },
      upstreams: [{ match: '/api', target: 'http://127.0.0.1:8000', pass_authorization: 'bare' }],
    })
    t.equal((await run(root, ['check'])).code, 0)
    t.equal(statSync(join(root, '.env')).mode & 0o777, 0o600)
    const shown = [output, textOf(root, 'config/gateway.yaml')].join()
    for (const secret of [GOOD_KEY, SM2_KEY, 'p@ss#w/rd', 'p%40ss']) t.notOk(shown.includes(secret), secret)
    t.match(shown, '#gate: { exceptions: [{ path: /api/v1/sys/dict/tree, needs: none }] }', 'also after sign-in')
    t.match(output, /- the query for the accounts fails: .*ECONNREFUSED/, 'a database that does not answer is reported')
  },
)

t.test('adopt replaces no file', { skip: withoutRedis }, async t => {
  const { folder } = await familyService(t)
  for (const file of ['.env', 'config/gateway.yaml']) {
    const root = mkdtempSync(join(folder, 'root-'))
    const other = file === '.env' ? 'config' : '.env'
    if (file !== '.env') await adopt(folder, root).then(() => rmSync(join(root, '.env')))
    writeFileSync(join(root, file), 'mine')
    const { code, errors } = await adopt(folder, root)
    t.equal(code, 1)
    t.match(errors, `${file} exists, so nothing was written`)
    t.equal(textOf(root, file), 'mine')
    t.notOk(existsSync(join(root, other === 'config' ? 'config/gateway.yaml' : other)), 'nor is the other written')
  }
})

t.test(
  'adopt writes both files or none, also where the disk is full in between',
  { skip: withoutRedis || withoutFullDisk },
  async t => {
    const { folder } = await familyService(t)
    await adopt(folder, 'first')
    t.teardown(() => limitFiles('unlimited'))
    limitFiles(statSync(join(folder, 'first/.env')).size)
    const { code, errors } = await adopt(folder, 'second')
    limitFiles('unlimited')
    t.equal(code, 1)
    t.match(errors, 'EFBIG')
    t.same(readdirSync(join(folder, 'second')), ['config'])
    t.same(readdirSync(join(folder, 'second/config')), [])
    t.equal((await adopt(folder, 'second')).code, 0)
  },
)

t.test('a session of the adopted service passes the gateway that adopt configured', { skip: withoutRedis }, async t => {
  const { folder, tokens, server, set } = await familyService(t)
  const backend = await startUpstream()
  t.teardown(() => backend.close())
  set({ APP__PORT: backend.port })
  t.match((await adopt(folder)).code, 0)
  t.match((await run(folder, ['check', '--connect'])).output, /reached +store .*\n(.*\n)*.*reached +upstream backend/)
  const gateway = await startGateway(folder, PATIENT, [join(ROOT, 'dist/main.js'), 'start'])
  t.teardown(() => gateway.end('SIGKILL'))
  const [admin, , consumer] = tokens
  t.equal((await call(gateway.url, { path: '/api/v1/orders', token: admin! })).status, 200)
  t.match(backend.requests.at(-1)?.headers, { 'x-login-id': '1', 'x-login-type': 'BUSINESS', authorization: admin })
  t.equal((await call(gateway.url, { path: '/api/v1/c/cart', token: consumer! })).status, 200)
  t.match(backend.requests.at(-1)?.headers, { 'x-login-id': '9', 'x-login-type': 'CONSUMER' })
  await otherProgram(server, GOOD_KEY, PREFIX).signOut('1', admin!)
  t.equal((await call(gateway.url, { path: '/api/v1/orders', token: admin! })).json().code, 401)
})

const TABLES = [
  'CREATE TABLE sys_user (id varchar(32) PRIMARY KEY, username varchar(32), password varchar(255), nickname varchar(32), avatar text, status varchar(16))',
  'CREATE TABLE sys_role (id varchar(32) PRIMARY KEY, code varchar(32))',
  'CREATE TABLE rel_user_role (id varchar(32) PRIMARY KEY, user_id varchar(32), role_id varchar(32))',
  'CREATE TABLE rel_role_permission (id varchar(32) PRIMARY KEY, role_id varchar(32), permission_code varchar(255))',
  'CREATE TABLE rel_user_permission (id varchar(32) PRIMARY KEY, user_id varchar(32), permission_code varchar(255))',
  `INSERT INTO sys_user VALUES ('1', 'admin', '${bcrypt.hashSync('correct horse', 4)}', 'Admin', NULL, 'ACTIVE')`,
  `INSERT INTO sys_user VALUES ('2', 'gone', '${bcrypt.hashSync('correct horse', 4)}', 'Gone', NULL, 'DISABLED')`,
  "INSERT INTO sys_role VALUES ('7', 'OPERATOR')",
  "INSERT INTO rel_user_role VALUES ('1', '1', '7')",
  "INSERT INTO rel_role_permission VALUES ('1', '7', 'sys:session:page'), ('2', '7', 'sys:user:page')",
  "INSERT INTO rel_user_permission VALUES ('1', '1', 'sys:session:exit'), ('2', '1', 'sys:user:page'), ('3', '2', 'sys:secret')",
]

for (const kind of ['mysql', 'postgres'] as const) {
  t.test(
    `users of the adopted service sign in from its tables in ${kind}, with their rights`,
    { skip: withoutRedis || missingDatabase(kind) },
    async t => {
      const { folder, tokens, server, set } = await familyService(t)
      const database = await startDatabase(kind)
      t.teardown(() => database.stop())
      if (database.own === null) {
        t.comment('LEFT OUT: the tables are made in a database of its own only')
        return
      }
      await database.run(...TABLES)
      set({ DB__URL: database.url.replace(':', kind === 'mysql' ? '+pymysql:' : '+asyncpg:') })
      const { output } = await adopt(folder)
      t.match(output, /found nothing that will not work/)
      const isReached = async () =>
        /reached +accounts \(sql\): answers .*, and for rights/.test((await run(folder, ['check', '--connect'])).output)
      t.ok(await until(isReached))
      const environment = { ...PATIENT, ACCOUNTS__TIMEOUT: '30s', LOGIN__RATE_LIMIT: 'off' }
      const gateway = await startGateway(folder, environment, [join(ROOT, 'dist/main.js'), 'start'])
      t.teardown(() => gateway.end('SIGKILL'))
      const page = (token: string) => call(gateway.url, { path: '/api/v1/sys/session/page', token })
      t.equal(
        (await page(tokens[0]!)).json().code,
        200,
        'a session without rights in its record has those of its account',
      )
      const exit = { user_id: 'absent' }
      const granted = await call(gateway.url, {
        method: 'POST',
        path: '/api/v1/sys/session/exit',
        token: tokens[0]!,
        body: exit,
      })
      t.equal(granted.json().code, 200, 'and those that are granted to its user directly')

      const publicKey = (await call(gateway.url, { path: '/api/v1/public/b/sm2/public-key' })).json().data
      const signIn = async (username: string) => {
        // While the machine is busy, captchas are refused.
        const captcha = () => call(gateway.url, { path: '/api/v1/public/b/captcha' })
        let answer = await captcha()
        while (answer.status === 503) answer = await captcha()
        const { captcha_id } = answer.json().data
        const captcha_value = await server.cli('GET', `BUSINESS:captcha:${captcha_id}`)
        const body = { captcha_id, captcha_value, username, password: sm2.doEncrypt('correct horse', publicKey, 1) }
        return (await call(gateway.url, { method: 'POST', path: '/api/v1/public/b/login', body })).json()
      }
      const { data } = await signIn('admin')
      t.equal((await page(data.token)).json().code, 200)
      const record = JSON.parse(await server.cli('GET', `${PREFIX}:BUSINESS:token:${data.token}`))
      t.match(record, { user_id: '1', extra: { username: 'admin', nickname: 'Admin', roles: ['OPERATOR'] } })
      t.equal((await signIn('gone')).message, 'Account inactive')
    },
  )
}

t.test('adopt says which sessions the gateway will not accept', { skip: withoutRedis }, async t => {
  const { folder, server } = await familyService(t)
  const opaque = randomBytes(32).toString('hex')
  await server.cli(
    'SET',
    `${PREFIX}:BUSINESS:token:${opaque}`,
    JSON.stringify({ user_id: '3', type: 'BUSINESS', created_at: 'yesterday', extra: {} }),
  )
  await server.cli('SET', `${PREFIX}:CONSUMER:token:a.b.c`, 'not JSON')
  const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const head = `${encoded({ alg: 'HS512', typ: 'JWT' })}.${encoded({ sub: '4' })}`
  const bare = `${head}.${createHmac('sha512', GOOD_KEY).update(head).digest('base64url')}`
  await server.cli(
    'SET',
    `${PREFIX}:BUSINESS:token:${bare}`,
    JSON.stringify({ user_id: '4', type: 'BUSINESS', created_at: '', extra: {} }),
  )
  const { output } = await adopt(folder)
  t.match(output, /2 of 6 sessions read have tokens that are not JWTs/)
  t.match(output, /1 of 6 sessions read have tokens without the claims jti and iat/)
  t.match(output, /1 of 6 sessions read have records that the gateway cannot read/)
  t.match(output, /2 of 6 sessions read have a created_at that the gateway cannot read/)
  t.match(output, /JWT__SECRET_KEY does not fit 2 of 6 sessions/)
  for (const token of [opaque, bare]) t.notOk(output.includes(token))
})

t.test('adopt finds the time zone of records that do not name it', { skip: withoutRedis }, async t => {
  const { folder, server, set } = await familyService(t)
  await server.cli('FLUSHALL')
  await otherProgram(server, GOOD_KEY, PREFIX).signIn('1', { form: naiveInShanghai! })
  t.notMatch((await adopt(folder, 'a')).output, /hours ahead/)
  t.match(textOf(folder, 'a/config/gateway.yaml'), /^timezone: "Asia\/Shanghai"$/m)
  set({ APP__TIMEZONE: 'UTC' })
  t.match((await adopt(folder, 'b')).output, /records are 8 hours ahead of UTC, and its time zone UTC is not/)
  t.match(textOf(folder, 'b/config/gateway.yaml'), /^timezone: "Etc\/GMT-8"$/m)
  t.equal((await run(join(folder, 'b'), ['check'])).code, 0)
})

t.test(
  'a secret that can be guessed starts no gateway until the operator accepts it',
  { skip: withoutRedis },
  async t => {
    const { folder } = await familyService(t, 'hei-fastapi-jwt-secret-key-2026-please-change-in-production')
    t.match((await adopt(folder)).output, /JWT__SECRET_KEY is a published example.* remove the "#"/)
    t.match(await run(folder, ['check']), { code: 1, errors: /JWT__SECRET_KEY: is a published example/ })
    writeFileSync(join(folder, '.env'), textOf(folder, '.env').replace('#JWT__ACCEPT', 'JWT__ACCEPT'))
    t.match(await run(folder, ['check']), { code: 0, output: /warning .*an attacker who guesses it/ })
  },
)

t.test('adopt writes no secret that the gateway refuses', { skip: withoutRedis }, async t => {
  const { folder, set } = await familyService(t, 'too-short')
  set({ SM2__PRIVATE_KEY: 'your-private-key', DB__URL: 'sqlite:///x.db' })
  const { output } = await adopt(folder)
  t.match(output, /JWT__SECRET_KEY is shorter than 32 bytes/)
  t.match(output, /SM2__PRIVATE_KEY is not 64 hex digits: \.env has a new one/)
  t.match(output, /its database is not PostgreSQL, MySQL or MariaDB/)
  t.equal((await run(folder, ['check'])).code, 0)
  t.notMatch(textOf(folder, '.env'), /too-short|your-private-key/)
})

t.test('adopt reads the settings of a service from YAML, for profile 2', { skip: withoutRedis }, async t => {
  const { folder, server } = await familyService(t)
  writeFileSync(
    join(folder, 'other.yaml'),
    `redis: { url: "redis://127.0.0.1:${server.port}/0" }\njwt: { secret_key: ${'x'.repeat(9)}${GOOD_KEY} }\nserver: { port: 8080 }\n`,
  )
  const { output } = await run(folder, ['adopt', '--env', 'other.yaml'])
  t.match(output, /JWT__SECRET_KEY fits 0 of 3 tokens/)
  t.match(output, /JWT__SECRET_KEY does not fit 3 of 3 sessions read/)
  const { settings } = readConfiguration('config/gateway.yaml', {}, folder)
  t.match(settings, { profile: 2, listen: { port: 18080 }, session_administration: true })
})

/** Characters that control a terminal or the direction of its text; not the line feed. */
const CONTROLS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/

t.test('nothing in the Redis of the service controls the terminal of adopt', { skip: withoutRedis }, async t => {
  const { folder, server } = await familyService(t)
  await server.cli('FLUSHALL')
  const evil = 'a\u001b]0;title\u0007\u009b31m\u202eb\nprefix forged'
  const extra = { [evil]: 1 }
  await otherProgram(server, GOOD_KEY, evil).signIn('1', { extra })
  const { output } = await adopt(folder)
  t.notMatch(output, CONTROLS)
  t.notMatch(output, /^prefix forged/m, 'a line break makes no line')
  t.match(output, String.raw`prefix a\u001b]0;title\u0007\u009b31m\u202eb\u000aprefix forged`)
  t.match(output, String.raw`extra names a\u001b]0`)
  t.notMatch(textOf(folder, 'config/gateway.yaml'), CONTROLS, 'nor does the configuration, when it is shown')
  const { errors } = await run(folder, ['check'])
  t.match(errors, /store\.prefix: must be .* not "a/)
  t.notMatch(errors, CONTROLS, 'nor the message of a fault that names it')
})

t.test('adopt names what is wrong in the YAML of a service, and writes nothing', async t => {
  const folder = t.testdir({ 'open.yaml': 'jwt: { secret_key: hidden\n', 'list.yaml': '- hidden\n' })
  for (const [file, fault] of [
    ['open.yaml', /^open\.yaml:2: .*bracket/],
    ['list.yaml', /^list\.yaml: must consist of keys and their values/],
  ] as const) {
    const { code, errors } = await run(folder, ['adopt', '--env', file, 'x'])
    t.same([code, existsSync(join(folder, 'x'))], [1, false], file)
    t.match(errors, fault)
    t.notMatch(errors, /hidden/)
  }
})

t.test('adopt reads a .env with a byte order mark, and refuses one in another encoding', async t => {
  const folder = t.testdir({ 'marked.env': '\uFEFFREDIS__URL=redis://127.0.0.1:1/0\n' })
  t.match((await run(folder, ['adopt', '--env', 'marked.env', 'x'])).errors, /Redis does not answer/)
  writeFileSync(join(folder, 'wide.env'), 'REDIS__URL=redis://127.0.0.1:1/0\n', 'utf16le')
  const { code, errors } = await run(folder, ['adopt', '--env', 'wide.env', 'x'])
  t.same([code, existsSync(join(folder, 'x'))], [1, false])
  t.equal(errors, `dualgate: ${join(folder, 'wide.env')} is not UTF-8 text; save it in this encoding\n`)
})

t.test('adopt without a Redis reports this, and writes nothing', async t => {
  const folder = t.testdir({ '.other': 'A=1\n' })
  const unnamed = await run(folder, ['adopt', '--env', '.other'])
  t.match(unnamed, { code: 2, errors: /address of Redis is missing: \.other does not name it; use --redis URL$/m })
  t.match(await run(folder, ['adopt']), { code: 2, errors: /name the file of the other service with --env FILE/ })
  const { code, errors } = await run(folder, ['adopt', '--redis', 'redis://user:hidden@127.0.0.1:1/0', 'x'])
  t.same([code, existsSync(join(folder, 'x'))], [1, false])
  t.match(errors, /Redis does not answer/)
  t.notMatch(errors, /hidden/)
})

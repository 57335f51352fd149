import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createCertificate } from '../support/certificate.ts'
import { json } from '../support/hostile-provider.ts'
import { freePort } from '../support/ports.ts'
import { outcomeOf, startHostile, textOf } from './hostile-fixture.ts'
import { newRequest, open, REDIRECT_URI } from './provider-fixture.ts'

const DISCOVERY = '/.well-known/openid-configuration'

t.test('a provider that is down fails each use, and not the start', async t => {
  const provider = open(t, `http://127.0.0.1:${await freePort()}`)
  const request = newRequest()
  const callback = new URLSearchParams({ code: 'x', state: request.state })
  t.match(await textOf(provider.authorizationUrl(request, REDIRECT_URI)), /the provider staff\n.*\n.*no discovery/s)
  await t.rejects(provider.prove(callback, request, REDIRECT_URI, []), { name: 'Unavailable' })
  await t.rejects(provider.logoutNotice('a.b.c'), { name: 'Unavailable' })
  await t.rejects(provider.reach(), { name: 'Unavailable' })
  t.equal(await provider.endSessionUrl('a.b.c', 'http://127.0.0.1/'), null)
})

t.test('a provider that sends its header and never its body fails after the time limit, at each address', async t => {
  for (const path of [DISCOVERY, '/keys', '/token', '/userinfo']) {
    // As short as it is, a busy machine may reach it for another answer: the outcome is the same.
    const all = await startHostile(t, { timeout: 300 })
    all.hostile.answers[path] = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{')
    }
    t.equal(await outcomeOf(all.prove(all.callback(), ['groups']), all), 'unavailable', path)
  }
})

t.test('answers that are nonsense fail, and redirects are not followed', async t => {
  const nonsense: [name: string, status: number, headers: Record<string, string>, body: string][] = [
    ['HTML', 200, { 'content-type': 'text/html' }, '<html>the-code-of-the-callback</html>'],
    ['two megabytes', 200, { 'content-type': 'application/json' }, `{"a":"${'x'.repeat(2_097_152)}"}`],
    ['a redirect', 302, { location: '/elsewhere' }, ''],
    ['an error', 500, {}, ''],
    ['nothing', 204, {}, ''],
    ['a list', 200, { 'content-type': 'application/json' }, '[]'],
  ]
  for (const [name, status, headers, body] of nonsense) {
    for (const path of [DISCOVERY, '/keys', '/token', '/userinfo']) {
      const all = await startHostile(t)
      all.hostile.answers[path] = (_, response) => response.writeHead(status, headers).end(body)
      t.equal(await outcomeOf(all.prove(all.callback(), ['groups']), all), 'unavailable', `${name} at ${path}`)
      t.notOk(all.hostile.requests.includes('GET /elsewhere'))
    }
  }
})

t.test('DiscoveryIssuerMismatch: configuration of another issuer is not used, by a slash alone either', async t => {
  for (const change of ['https://elsewhere.example.com', '/', undefined]) {
    const all = await startHostile(t)
    const { hostile, provider, request } = all
    hostile.metadata.issuer = change === '/' ? `${hostile.issuer}/` : change
    t.equal(await outcomeOf(provider.authorizationUrl(request, REDIRECT_URI), all), 'unavailable')
    t.equal(await outcomeOf(all.prove(), all), 'unavailable')
    const issuer = JSON.stringify(hostile.metadata.issuer ?? '').slice(1, -1)
    if (change !== undefined) t.match(await textOf(provider.reach()), `its issuer is ${issuer}`)
    t.notOk(hostile.requests.includes('POST /token'))
  }
})

t.test('configuration without an address that a sign-in needs, or with one of another scheme, is not used', async t => {
  for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'])
    for (const value of [undefined, 17, '/token', 'javascript:alert(1)', 'file:///etc/passwd']) {
      const all = await startHostile(t)
      all.hostile.metadata[name] = value
      t.equal(await outcomeOf(all.prove(), all), 'unavailable', `${name}: ${value}`)
      t.match(await textOf(all.provider.reach()), `${name} is missing`)
    }
})

t.test('simultaneous uses share one request for the configuration, and one that failed is made anew', async t => {
  const all = await startHostile(t)
  const { hostile, provider } = all
  const urls = () =>
    Promise.all(Array.from({ length: 10 }, () => outcomeOf(provider.authorizationUrl(newRequest(), REDIRECT_URI), all)))
  hostile.answers[DISCOVERY] = json(500, {})
  t.same([...new Set(await urls())], ['unavailable'])
  t.equal(hostile.requests.length, 1)
  hostile.answers = {}
  t.same([...new Set(await urls())], ['accepted'])
  t.equal(hostile.requests.length, 2)
  hostile.now += 3_599_999
  await urls()
  t.equal(hostile.requests.length, 2, 'it is kept for an hour')
  hostile.now += 1
  await urls()
  t.equal(hostile.requests.length, 3)
})

/** The hostile provider behind TLS, with a certificate of its own authority. */
async function startTls(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-provider-'))
  const ca = createCertificate(folder)
  const pair = { cert: readFileSync(ca), key: readFileSync(join(folder, 'key.pem')) }
  const metadata = { plain: false }
  const server = createServer(pair, (_, response) => {
    const token_endpoint = metadata.plain ? `${issuer.replace('https', 'http')}/token` : `${issuer}/token`
    const content = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint,
      jwks_uri: `${issuer}/keys`,
    }
    json(200, content)({} as never, response, '')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { issuer, ca, metadata }
}

t.test('the certificate of a provider is verified, by the authorities of the settings', async t => {
  const { issuer, ca } = await startTls(t)
  t.match(await open(t, issuer, { ca }).authorizationUrl(newRequest(), REDIRECT_URI), `${issuer}/authorize`)
  t.match(await textOf(open(t, issuer).authorizationUrl(newRequest(), REDIRECT_URI)), /self-signed certificate/)
})

t.test('what belongs to an issuer with TLS never goes over plain HTTP', async t => {
  const { issuer, ca, metadata } = await startTls(t)
  metadata.plain = true
  t.match(
    await textOf(open(t, issuer, { ca }).reach()),
    /token_endpoint is missing, or is not a URL of the right scheme/,
  )
})

t.test('a provider is reached through the proxy of the settings', async t => {
  const { issuer, ca } = await startTls(t)
  const tunnels: string[] = []
  const server = createHttpServer().on('connect', (request, socket) => {
    tunnels.push(request.url!)
    const [host, port] = request.url!.split(':')
    const target = connect(Number(port), host)
    for (const one of [socket, target]) one.on('error', () => undefined)
    target.on('connect', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      target.pipe(socket).pipe(target)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  const proxy = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await open(t, issuer, { ca, proxy }).authorizationUrl(newRequest(), REDIRECT_URI)
  t.same(tunnels, [new URL(issuer).host])
})

import { spawnSync } from 'node:child_process'
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { delimiter, join } from 'node:path'
import { calculateJwkThumbprint, exportJWK, type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose'
import t, { type Test } from 'tap'
import { KEYS_PATH } from '../../../src/gate/own-pages.ts'
import { generateIdentityKey } from '../../../src/settings/identity-key.ts'
import { call } from '../../support/client.ts'
import { runEnvoy, withoutEnvoy } from '../../support/envoy.ts'
import { openFixture } from '../../support/gateway-fixture.ts'
import { temporaryFolder } from '../../support/image.ts'
import { newKeyPair } from '../../support/key-pair.ts'
import { freePort } from '../../support/ports.ts'
import { ROOT } from '../../support/root.ts'
import { type Arrived, startUpstream } from '../../support/upstream.ts'
import { type Backend, missing, startBackend } from './backend-processes.ts'

/* The verifiers of config/examples/assertions, behind a gateway that sends assertions, and reached directly. */

const FOLDER = join(ROOT, 'config/examples/assertions')
const HEADER = 'x-login-assertion'

interface Verifier {
  name: string
  skip: string | false
  /** What it answers to an assertion for another audience. */
  otherAudience: 401 | 403
  /** What it answers as long as it has not got the keys. */
  withoutKeys: 401 | 500 | 503
  /** Starts it at a port; `internal` is the listener with the keys. */
  start(t: Test, port: number, internal: string): Promise<void>
}

const verifierWith = (backend: Backend, withoutKeys: 500 | 503): Verifier => ({
  ...backend,
  otherAudience: 401,
  withoutKeys,
  start: (t, port, internal) => startBackend(t, backend, port, { JWKS_URL: `${internal}${KEYS_PATH}` }),
})

/** Whether a Python has PyJWT, and one that is new enough: a system often has an old one. */
const HAS_PYJWT = 'import cryptography, jwt; assert [int(part) for part in jwt.__version__.split(".")[:2]] >= [2, 14]'

const PYTHON = (process.env.PATH ?? '')
  .split(delimiter)
  .map(folder => join(folder, 'python3'))
  .find(python => existsSync(python) && spawnSync(python, ['-c', HAS_PYJWT]).status === 0)

/** A backend that believes its proxy. Like many, it reads `_` in names of headers as `-`. */
function answerIdentity(response: ServerResponse, { headers }: Arrived): void {
  const header = (wanted: string): string =>
    Object.entries(headers)
      .filter(([name]) => name.replaceAll('_', '-') === wanted)
      .map(([, value]) => value)
      .join()
  const [, payload = 'e30'] = header(HEADER).split('.')
  const { username, roles } = JSON.parse(Buffer.from(payload, 'base64url').toString())
  response.end(JSON.stringify({ id: header('x-login-id'), type: header('x-login-type'), username, roles }))
}

async function startEnvoy(t: Test, port: number, internal: string): Promise<void> {
  const backend = await startUpstream({ answer: (_request, response, arrived) => answerIdentity(response, arrived) })
  t.teardown(() => backend.close())
  const places = {
    'address: 0.0.0.0, port_value: 3000': `address: 127.0.0.1, port_value: ${port}`,
    'port_value: 8081': `port_value: ${new URL(internal).port}`,
    'port_value: 3001': `port_value: ${backend.port}`,
  }
  let text = readFileSync(join(FOLDER, 'envoy.yaml'), 'utf8')
  for (const [from, to] of Object.entries(places)) {
    if (!text.includes(from)) throw new Error(`envoy.yaml does not contain ${from}`)
    text = text.replace(from, to)
  }
  const envoy = await runEnvoy(port, text)
  t.teardown(() => envoy.stop())
}

const PYJWT: Backend = {
  name: 'PyJWT',
  skip: PYTHON === undefined && 'LEFT OUT: no python3 on PATH has PyJWT 2.14 (pip install pyjwt[crypto])',
  words: () => [PYTHON!, join(FOLDER, 'pyjwt_backend.py')],
}

const SPRING: Backend = {
  name: 'Spring',
  skip: missing('mvn'),
  words: t => {
    // Maven writes beside the sources.
    const folder = temporaryFolder(t, 'spring')
    cpSync(join(FOLDER, 'spring'), folder, { recursive: true })
    return ['mvn', '--file', join(folder, 'pom.xml'), '--batch-mode', 'spring-boot:run']
  },
}

const VERIFIERS: Verifier[] = [
  verifierWith(PYJWT, 503),
  verifierWith(SPRING, 500),
  { name: 'Envoy', skip: withoutEnvoy, otherAudience: 403, withoutKeys: 401, start: startEnvoy },
]

/** A private key, with what stands in the header of an assertion that it signs. */
interface Key {
  key: KeyObject
  header: JWTHeaderParameters
}

async function keyOf(pem: string): Promise<Key> {
  const key = createPrivateKey(pem)
  const kid = await calculateJwkThumbprint(await exportJWK(createPublicKey(key)))
  return { key, header: { alg: 'ES256', typ: 'JWT', kid } }
}

const sign = (claims: JWTPayload, { key, header }: { key: KeyObject | Uint8Array; header: JWTHeaderParameters }) =>
  new SignJWT(claims).setProtectedHeader(header).sign(key)

const encoded = (content: object): string => Buffer.from(JSON.stringify(content)).toString('base64url')

const PATH = '/api/v1/c/orders'
const USER = { id: '42', type: 'CONSUMER', username: '王小明', roles: ['订单管理员', 'audit'] }

const toOrders = (match: string, target: string) => ({
  name: match.replaceAll('/', '-').slice(1),
  match,
  target,
  identity: { assertion: { audience: 'orders' } },
})

for (const { name, skip, otherAudience, withoutKeys, start } of VERIFIERS) {
  t.test(`a backend with ${name}`, { skip }, async t => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const folder = temporaryFolder(t, 'keys')
    const [file, nextFile] = [join(folder, 'identity.pem'), join(folder, 'next.pem')]
    for (const path of [file, nextFile]) writeFileSync(path, generateIdentityKey(), { mode: 0o600 })
    const [current, next] = await Promise.all([file, nextFile].map(path => keyOf(readFileSync(path, 'utf8'))))

    /** A gateway with `identity`, whose upstream at `/api/v1/c/echo` shows the assertion that the backend gets. */
    const open = (identity: object) =>
      openFixture(t, {
        config: { identity },
        upstreams: [
          ...['/api/v1/c', '/api/v1/public/c/open', '/api/v1/orders'].map(match => toOrders(match, url)),
          toOrders('/api/v1/c/echo', 'builtin:echo'),
          { name: 'billing', match: '/api/v1/c/billing', target: 'builtin:echo', identity: { assertion: {} } },
        ],
      })
    type Fixture = Awaited<ReturnType<typeof open>>
    const signInTo = async (fixture: Fixture, side: 'business' | 'consumer', extra: object): Promise<string> =>
      (await fixture.operate(side, 'login', { user_id: USER.id, extra })).data.token
    const consumerOf = (fixture: Fixture): Promise<string> =>
      signInTo(fixture, 'consumer', { username: USER.username, roles: USER.roles })
    const assertionOf = async (fixture: Fixture, path = '/api/v1/c/echo'): Promise<string> =>
      (await fixture.get(path, await consumerOf(fixture))).json().headers[HEADER]

    const fixture = await open({ key_file: file, previous_key_file: nextFile })
    await start(t, port, fixture.internal)
    const ask = (headers: Record<string, string>) => call(url, { path: PATH, headers })
    const now = Math.floor(Date.now() / 1000)
    const { id: sub, type: login_type, ...rest } = USER
    const claims = { iss: 'dualgate', aud: 'orders', sub, login_type, ...rest, iat: now, nbf: now, exp: now + 600 }

    t.test('reads the identity of a request that comes through the gateway', async t => {
      const answer = await fixture.get(PATH, await consumerOf(fixture))
      t.same([answer.status, answer.json()], [200, USER])
      const other = await fixture.get('/api/v1/orders', await signInTo(fixture, 'business', {}))
      t.match(other.json(), { id: '42', type: 'BUSINESS', roles: [] })
      t.equal(other.json().username ?? null, null)
    })

    t.test('gets no assertion of a client through the gateway', async t => {
      const headers = { [HEADER]: await sign({ ...claims, sub: '43' }, current!) }
      t.equal((await fixture.call({ path: '/api/v1/public/c/open', headers })).status, 401)
      const token = await consumerOf(fixture)
      t.equal((await fixture.call({ path: PATH, headers, token })).json().id, '42')
    })

    t.test('accepts an assertion of the gateway from every program, and of either key', async t => {
      const assertion = await assertionOf(fixture)
      t.same((await ask({ [HEADER]: assertion })).json(), USER)
      const claimed = { 'X-Login-Id': '43', 'X-Login-Type': 'BUSINESS', X_Login_Id: '43', x_login_type: 'BUSINESS' }
      t.same((await ask({ [HEADER]: assertion, ...claimed })).json(), USER, 'beside other headers')
      for (const key of [current!, next!]) t.same((await ask({ [HEADER]: await sign(claims, key) })).json(), USER)
    })

    t.test('refuses every other request', async t => {
      const valid = await sign(claims, current!)
      const [header, payload, signature] = valid.split('.') as [string, string, string]
      const changed = encoded({ ...claims, sub: '43' })
      const none = encoded({ ...current!.header, alg: 'none' })
      const published = createPublicKey(current!.key)
      const secret = Buffer.from(published.export({ type: 'spki', format: 'pem' }))
      const own = newKeyPair('ES256')
      const jwk = await exportJWK(own.publicKey)
      const withClaims = (other: object): Promise<string> => sign({ ...claims, ...other } as JWTPayload, current!)
      const refused: [what: string, assertion: string, status?: number][] = [
        ['of another gateway', await assertionOf(await open({}))],
        ['of another issuer with the same key', await assertionOf(await open({ issuer: 'another', key_file: file }))],
        ['of no issuer', await withClaims({ iss: undefined })],
        ['for another audience', await assertionOf(fixture, '/api/v1/c/billing'), otherAudience],
        ['for no audience', await withClaims({ aud: undefined }), otherAudience],
        ['ended ten seconds ago', await withClaims({ iat: now - 70, nbf: now - 70, exp: now - 10 })],
        ['without an end', await withClaims({ exp: undefined })],
        ['from the future', await withClaims({ iat: now + 300, nbf: now + 300 })],
        ['of another user', [header, changed, signature].join('.')],
        ['without a signature', `${header}.${payload}.`],
        ['with the algorithm none', `${none}.${payload}.`],
        ['with the algorithm none and a signature', [none, payload, signature].join('.')],
        ['with HS256', await sign(claims, { key: secret, header: { ...current!.header, alg: 'HS256' } })],
        ['with an own key', await sign(claims, { key: own.privateKey, header: current!.header })],
        ['with an own key in it', await sign(claims, { key: own.privateKey, header: { ...current!.header, jwk } })],
        ['with an own key of another id', await sign(claims, await keyOf(generateIdentityKey()))],
        ['that is no JWT', 'x'],
        ['which is empty', ''],
      ]
      for (const [what, assertion, status = 401] of refused)
        t.equal((await ask({ [HEADER]: assertion })).status, status, `an assertion ${what}`)
      t.equal((await ask({})).status, 401, 'without one')
      t.equal((await ask({ 'X-Login-Id': '42', 'X-Login-Type': 'CONSUMER' })).status, 401, 'with an id alone')
      t.equal((await ask({ Authorization: `Bearer ${valid}` })).status, 401, 'in another header')
      t.equal((await ask({ [HEADER]: valid })).status, 200, 'and accepts what these differ from')
    })

    t.test('lets nothing pass as long as it has not got the keys', async t => {
      const another = await freePort()
      await start(t, another, `http://127.0.0.1:${await freePort()}`)
      const headers = { [HEADER]: await sign(claims, current!) }
      t.equal((await call(`http://127.0.0.1:${another}`, { path: PATH, headers })).status, withoutKeys)
    })
  })
}

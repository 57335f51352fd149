import { createHash } from 'node:crypto'
import t from 'tap'
import type { ProviderFault } from '../../src/provider/refusal.ts'
import { json, SUBJECT } from '../support/hostile-provider.ts'
import { openHostile } from './hostile-fixture.ts'
import { newRequest, parametersOf, REDIRECT_URI } from './provider-fixture.ts'

t.test('a sign-in is requested with state, nonce and PKCE, and its code is used with the verifier', async t => {
  const { hostile, provider } = await openHostile(t, { scopes: ['email'] })
  const request = newRequest()
  const url = new URL(await provider.authorizationUrl(request, REDIRECT_URI))
  t.equal(url.origin + url.pathname, hostile.metadata.authorization_endpoint)
  t.same(Object.fromEntries(url.searchParams), {
    ...parametersOf(request),
    scope: 'openid email',
    code_challenge: createHash('sha256').update(request.verifier).digest('base64url'),
  })
  const callback = hostile.authorize(url.href)
  await provider.prove(callback, request, REDIRECT_URI, [])
  const { body } = hostile.requests.find(({ endpoint }) => endpoint === 'token')!
  t.same(Object.fromEntries(body), {
    grant_type: 'authorization_code',
    code: callback.get('code'),
    redirect_uri: REDIRECT_URI,
    code_verifier: request.verifier,
  })
})

/** What a callback becomes, and why it is refused. */
const CALLBACKS: readonly (readonly [name: string, fault: ProviderFault, changes: Record<string, unknown>])[] = [
  ['without state', 'state', { state: undefined }],
  ['of another sign-in', 'state', { state: 'x'.repeat(43) }],
  ['without code', 'callback-form', { code: undefined }],
  ['with an empty code', 'callback-form', { code: '' }],
  ['of another issuer', 'issuer-mismatch', { iss: 'https://other.example.com' }],
  ['without the issuer that is promised', 'issuer-mismatch', { iss: undefined }],
  ['with an ID token', 'callback-form', { id_token: 'e30.e30.e30' }],
  ['with an access token', 'callback-form', { access_token: 'a' }],
  ['with a signed answer', 'callback-form', { response: 'e30.e30.e30' }],
  ['of a user who declined', 'denied', { error: 'access_denied' }],
  ['of a user who declined, without code', 'denied', { error: 'access_denied', code: undefined }],
  ['with another error', 'provider-error', { error: 'server_error' }],
  ['with an empty error', 'provider-error', { error: '' }],
  ['with an error of another issuer', 'issuer-mismatch', { error: 'access_denied', iss: 'https://other.example.com' }],
  ['with an error of another sign-in', 'state', { error: 'access_denied', state: 'other' }],
]

t.test('a callback that is wrong is refused before its code is used, each with its own reason', async t => {
  for (const [name, fault, changes] of CALLBACKS)
    await t.test(name, async t => {
      const { hostile, refuses, signIn } = await openHostile(t)
      await refuses(fault, signIn([], changes))
      t.equal(hostile.count('token'), 0)
    })
})

t.test('a callback whose parameters are there twice is refused', async t => {
  const { hostile, provider, refuses } = await openHostile(t)
  for (const name of ['code', 'state', 'iss', 'error', 'error_description']) {
    const request = newRequest()
    const callback = hostile.authorize(await provider.authorizationUrl(request, REDIRECT_URI))
    const value = callback.get(name) ?? 'x'
    callback.delete(name)
    callback.append(name, value)
    callback.append(name, value)
    await refuses('callback-form', provider.prove(callback, request, REDIRECT_URI, []))
  }
  t.equal(hostile.count('token'), 0)
})

t.test(
  'the issuer may be missing in a callback where the provider does not promise it, and not be another',
  async t => {
    const { hostile, refuses, signIn } = await openHostile(t)
    hostile.metadata.authorization_response_iss_parameter_supported = undefined
    t.match(await signIn([], { iss: undefined }), { sub: SUBJECT })
    await refuses('issuer-mismatch', signIn([], { iss: 'https://other.example.com' }))
  },
)

t.test("the provider's text of an error is kept without secrets, in one line, and cut", async t => {
  const { hostile, provider, refuses } = await openHostile(t)
  const request = newRequest()
  const callback = hostile.authorize(await provider.authorizationUrl(request, REDIRECT_URI), { error: 'server_error' })
  callback.set('error_description', `at ${request.state}\nand ${callback.get('code')}\u2028${'x'.repeat(300)}`)
  const { detail } = await refuses('provider-error', provider.prove(callback, request, REDIRECT_URI, []))
  t.match(detail, /^server_error: at …\\u\{a\}and …\\u\{2028\}x+$/)
  t.equal(detail!.length, 200)
})

t.test('a refused code and a refused client have reasons of their own', async t => {
  const { hostile, refuses } = await openHostile(t)
  const cases = [
    [400, 'invalid_grant', 'code-refused'],
    [401, 'invalid_client', 'client-refused'],
    [400, 'unauthorized_client', 'client-refused'],
  ] as const
  for (const [status, error, fault] of cases) {
    hostile.answers.token = (_, response) => json(response, { error, error_description: 'why' }, status)
    t.match(await refuses(fault), { detail: `${error}: why` })
  }
  hostile.answers.token = (_, response) => {
    response.setHeader('www-authenticate', 'Basic realm="provider"')
    json(response, { error: 'invalid_client' }, 401)
  }
  await refuses('client-refused')
})

t.test('an error of the token endpoint that repeats its request is kept without secrets', async t => {
  for (const client_auth of ['basic', 'post'] as const) {
    const { hostile, refuses } = await openHostile(t, { client_auth })
    for (const error of ['invalid_grant', 'invalid_client']) {
      hostile.answers.token = ({ headers, body }, response) => {
        const basic = (headers.authorization ?? '').replace('Basic ', '')
        if (basic !== '') hostile.secrets.push(basic)
        const secret = decodeURIComponent(Buffer.from(basic, 'base64').toString().split(':')[1] ?? '')
        const description = [secret, basic, ...body.values()].join(' ').slice(0, 1000)
        json(response, { error, error_description: description }, 400)
      }
      await refuses(error === 'invalid_grant' ? 'code-refused' : 'client-refused')
    }
  }
})

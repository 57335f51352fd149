import t, { type Test } from 'tap'
import { json } from '../support/hostile-provider.ts'
import { type Hostile, outcomeOf, startHostile } from './hostile-fixture.ts'
import { CLIENT, REDIRECT_URI } from './provider-fixture.ts'

/* What a browser brings back, and what the token endpoint and userinfo answer. */

async function outcomeOfCallback(
  t: Test,
  change: (callback: URLSearchParams, all: Hostile) => void,
): Promise<[outcome: string, requests: string[]]> {
  const all = await startHostile(t)
  const callback = all.callback()
  change(callback, all)
  return [await outcomeOf(all.prove(callback), all), all.hostile.requests]
}

t.test('a callback with another state, issuer or form is refused before its code is used', async t => {
  const cases: [change: (callback: URLSearchParams, all: Hostile) => void, expected: string][] = [
    [callback => callback.delete('state'), 'state'],
    [callback => callback.set('state', 'x'.repeat(43)), 'state'],
    [callback => callback.append('state', 'another'), 'callback-form'],
    [callback => callback.set('iss', 'https://elsewhere.example.com'), 'issuer-mismatch'],
    [(callback, { hostile }) => callback.set('iss', `${hostile.issuer}/`), 'issuer-mismatch'],
    [
      (_, { hostile }) =>
        void Object.assign(hostile.metadata, { authorization_response_iss_parameter_supported: true }),
      'issuer-mismatch',
    ],
    [callback => callback.delete('code'), 'callback-form'],
    [callback => callback.set('code', ''), 'callback-form'],
    [callback => callback.append('code', 'another'), 'callback-form'],
    [callback => callback.set('id_token', 'a.b.c'), 'callback-form'],
    [callback => callback.set('response', 'a.b.c'), 'callback-form'],
    [callback => callback.set('error', 'access_denied'), 'denied'],
    [callback => callback.set('error', 'server_error'), 'provider-error'],
  ]
  for (const [change, expected] of cases) {
    const [outcome, requests] = await outcomeOfCallback(t, change)
    t.equal(outcome, expected, String(change))
    t.notOk(requests.includes('POST /token'), 'the code is not used')
  }
  const [outcome] = await outcomeOfCallback(t, (callback, { hostile }) => callback.set('iss', hostile.issuer))
  t.equal(outcome, 'accepted')
})

t.test("the provider's own text is cut and escaped, and without the code and the state", async t => {
  const all = await startHostile(t)
  const text = `\u001b[31mred\n${'x'.repeat(300)}`
  const refused = all.prove(all.callback({ error: 'odd', error_description: `${all.request.state} ${text}` }))
  const { detail } = await refused.then(t.fail, fault => fault)
  t.match(detail, /^odd: … \\u\{1b\}\[31mred\\u\{a\}x+$/)
  t.equal(detail.length, 200)
})

t.test('a code is sent with its verifier and its redirect URI, and the secret as the settings say', async t => {
  for (const [client_auth, authorization, body] of [
    ['basic', /^Basic /, /^(?!.*client_secret)/],
    ['post', /^$/, /client_secret=the/],
  ] as const) {
    const all = await startHostile(t, { client_auth })
    const { hostile, request } = all
    const token = await hostile.signed(hostile.claims)
    const seen: string[] = []
    hostile.answers['/token'] = (request, response, body) => {
      seen.push(request.headers.authorization ?? '', body)
      json(200, { ...hostile.tokens, id_token: token })(request, response, body)
    }
    t.equal(await outcomeOf(all.prove(), all), 'accepted')
    t.match(seen[0], authorization)
    t.match(seen[1], body)
    const fields = new URLSearchParams(seen[1])
    t.equal(fields.get('code_verifier'), request.verifier)
    t.equal(fields.get('redirect_uri'), REDIRECT_URI)
    t.equal(fields.get('grant_type'), 'authorization_code')
  }
})

t.test('a refused code, a refused client, and an answer that is nonsense have their own reasons', async t => {
  const html = '<html>the-code-of-the-callback</html>'
  const cases: [status: number, content: unknown, expected: string][] = [
    [400, { error: 'invalid_grant', error_description: 'the-code-of-the-callback was used' }, 'code-refused'],
    [400, { error: 'invalid_client' }, 'client-refused'],
    [401, { error: 'invalid_client', error_description: CLIENT.client_secret }, 'client-refused'],
    [400, { error: 'unauthorized_client' }, 'client-refused'],
    [400, html, 'unavailable'],
    [404, { message: 'no' }, 'unavailable'],
    [429, {}, 'unavailable'],
    [500, { error: 'invalid_grant' }, 'unavailable'],
    [302, {}, 'unavailable'],
    [204, '', 'unavailable'],
    [200, html, 'unavailable'],
    [200, [], 'unavailable'],
    [200, { id_token: 'a.b.c' }, 'unavailable'],
    [200, { access_token: 17, token_type: 'Bearer', id_token: 'a.b.c' }, 'unavailable'],
  ]
  for (const [status, content, expected] of cases) {
    const all = await startHostile(t)
    all.hostile.answers['/token'] = (request, response, body) => {
      response.setHeader('location', 'https://elsewhere.example.com')
      if (typeof content === 'string') response.writeHead(status, { 'content-type': 'text/html' }).end(content)
      else json(status, content)(request, response, body)
    }
    t.equal(await outcomeOf(all.prove(), all), expected, `${status} ${JSON.stringify(content)}`)
  }
  const challenged = await startHostile(t)
  challenged.hostile.answers['/token'] = (_, response) =>
    response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end()
  t.equal(await outcomeOf(challenged.prove(), challenged), 'client-refused')
})

t.test('userinfo is requested only for a claim that the ID token does not have', async t => {
  const all = await startHostile(t)
  const { hostile } = all
  Object.assign(hostile.claims, { preferred_username: 'ada', realm: { name: 'one' } })
  hostile.userinfo = { sub: 'ada', groups: ['/staff'], preferred_username: 'eve', _claim_names: { more: 'src1' } }
  const names = ['preferred_username', 'realm.name']
  const { claims } = await all.prove(all.callback(), names)
  t.equal(claims.preferred_username, 'ada')
  t.notOk(hostile.requests.includes('GET /userinfo'))
  const more = await all.prove(all.callback(), [...names, 'groups', 'unknown', '__proto__', 'realm.roles'])
  t.match(more.claims, { preferred_username: 'ada', realm: { name: 'one' }, groups: ['/staff'] })
  t.match(more.claims, { _claim_names: { more: 'src1' } }, 'that a claim is elsewhere')
  t.notOk(Object.hasOwn(more.claims, 'unknown'))
  t.equal(hostile.requests.filter(one => one === 'GET /userinfo').length, 1)
})

t.test('InvalidSubInUserinfo: userinfo of another user is refused, and userinfo that fails is no answer', async t => {
  const cases: [status: number, content: unknown, expected: string][] = [
    [200, { sub: 'eve', groups: [] }, 'userinfo-subject'],
    [200, { groups: [] }, 'userinfo-subject'],
    [200, { sub: ['ada'], groups: [] }, 'userinfo-subject'],
    [401, {}, 'userinfo'],
    [403, {}, 'userinfo'],
    [500, {}, 'unavailable'],
    [200, [], 'unavailable'],
  ]
  for (const [status, content, expected] of cases) {
    const all = await startHostile(t)
    all.hostile.answers['/userinfo'] = json(status, content)
    const outcome = await outcomeOf(all.prove(all.callback(), ['groups']), all)
    t.equal(outcome, expected, `${status} ${JSON.stringify(content)}`)
  }
})

t.test('a provider without userinfo gives the claims of the ID token', async t => {
  const all = await startHostile(t)
  delete all.hostile.metadata.userinfo_endpoint
  t.equal((await all.prove(all.callback(), ['groups'])).sub, 'ada')
})

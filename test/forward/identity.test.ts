import { join } from 'node:path'
import t from 'tap'
import { call } from '../support/client.ts'
import { openFixture, startFixture } from '../support/gateway-fixture.ts'
import { ROOT } from '../support/root.ts'
import { type Arrived, startUpstream } from '../support/upstream.ts'

const [OLD, NEW] = ['the key of yesterday', 'the key of tomorrow']

/** The example for Node, which services copy. */
const { clientOf } = await import(join(ROOT, 'config/examples/backends/identity.mjs'))

t.test('a service can verify that a request came through the gateway', async t => {
  const backend = await startUpstream()
  const upstream = (name: string, identity: object) => ({
    name,
    match: `/api/v1/c/${name}`,
    rewrite: `/${name}`,
    target: backend.url,
    identity,
  })
  const fixture = await startFixture({
    upstreams: [
      upstream('signed', { signature: [NEW, OLD], extra: true }),
      upstream('told', { extra: true }),
      upstream('plain', {}),
      { name: 'public', match: '/api/v1/public/c', target: backend.url, identity: { signature: [NEW] } },
    ],
  })
  t.teardown(() => Promise.all([fixture.close(), backend.close()]))
  const { token } = (await fixture.operate('consumer', 'login', { user_id: '42', extra: { nickname: '安' } })).data
  const ask = async (path: string, method = 'GET'): Promise<Arrived & { path: string }> => {
    const forged = { 'X-Login-Signature': 't=1,v1=00', X_Login_Extra: 'e30', 'x.login.signature': 't=1,v1=00' }
    t.equal((await call(fixture.url, { path, method, token, headers: forged })).status, 200)
    const arrived = backend.requests.at(-1)!
    return { ...arrived, path: arrived.url.split('?')[0]! }
  }

  const signed = await ask('/api/v1/c/signed/7?a=1', 'POST')
  t.equal(signed.path, '/signed/7')
  for (const keys of [[NEW], [OLD], [OLD, NEW]]) {
    t.same(clientOf(signed, keys), { id: '42', type: 'CONSUMER', extra: { nickname: '安' } })
  }
  t.equal(clientOf(signed, ['another key altogether']), null)
  t.equal(clientOf(signed, [NEW], Date.now() / 1000 + 120), null, 'it is too old')
  const { headers } = signed
  for (const change of [
    { method: 'GET' },
    { path: '/signed/8' },
    { headers: { ...headers, 'x-login-id': '43' } },
    { headers: { ...headers, 'x-login-type': 'BUSINESS' } },
    { headers: { ...headers, 'x-login-extra': Buffer.from('{"roles":["SUPER_ADMIN"]}').toString('base64url') } },
    { headers: { ...headers, 'x-login-signature': undefined } },
    { headers: { ...headers, 'x-login-signature': 't=,v1=' } },
  ]) {
    t.equal(clientOf({ ...signed, ...change }, [NEW]), null, JSON.stringify(Object.keys(change)))
  }

  const told = await ask('/api/v1/c/told')
  t.equal(told.headers['x-login-signature'], undefined)
  t.same(JSON.parse(Buffer.from(String(told.headers['x-login-extra']), 'base64url').toString()), { nickname: '安' })
  const plain = await ask('/api/v1/c/plain')
  t.equal(plain.headers['x-login-extra'], undefined, 'only configured headers are sent')
  t.equal(plain.headers['x-login-signature'], undefined)
  const open = await ask('/api/v1/public/c/x')
  t.same(clientOf(open, [NEW]), { id: '', type: '', extra: '' }, 'a request without a session is signed as one')
})

t.test('further headers carry the identity, and no client can send one of them in any spelling', async t => {
  const backend = await startUpstream()
  t.teardown(() => backend.close())
  const headers = {
    'X-WEBAUTH-USER': 'username',
    'X-WEBAUTH-NAME': 'nickname',
    'X-WEBAUTH-GROUPS': 'roles',
    'Remote-User': 'id',
    'X-Side': 'type',
    'X-Forwarded-User': 'username',
  }
  const app = { target: backend.url, identity: { headers } }
  const fixture = await openFixture(t, {
    upstreams: [
      { name: 'app', match: '/api/v1/c/app', ...app },
      { name: 'open', match: '/api/v1/public/c/app', ...structuredClone(app) },
    ],
  })
  const forged = {
    'X-WebAuth-User': 'root',
    X_WEBAUTH_NAME: 'root',
    'x.webauth.groups': 'root',
    REMOTE_USER: '0',
    'remote-user': '0',
    x_side: 'BUSINESS',
    'X-Forwarded-User': 'root',
    x_forwarded_user: 'root',
  }
  const arrivedFor = async (extra: object, path = '/api/v1/c/app') => {
    const { token } = (await fixture.operate('consumer', 'login', { user_id: '42', extra })).data
    t.equal((await call(fixture.url, { path, token, headers: forged })).status, 200)
    const { rawHeaders } = backend.requests.at(-1)!
    return rawHeaders.flatMap((name, index) =>
      index % 2 === 0 && /webauth|remote|side|user/i.test(name) ? [`${name}: ${rawHeaders[index + 1]}`] : [],
    )
  }
  t.same(await arrivedFor({ username: 'an', nickname: '安 100%', roles: ['editor', 'a,b', '安\n'] }), [
    'X-WEBAUTH-USER: an',
    'X-WEBAUTH-NAME: %E5%AE%89%20100%25',
    'X-WEBAUTH-GROUPS: editor,a%2Cb,%E5%AE%89%0A',
    'Remote-User: 42',
    'X-Side: CONSUMER',
    'X-Forwarded-User: an',
  ])
  t.same(
    await arrivedFor({ username: '\ud800', nickname: 7, roles: [] }),
    ['X-WEBAUTH-USER: %EF%BF%BD', 'Remote-User: 42', 'X-Side: CONSUMER', 'X-Forwarded-User: %EF%BF%BD'],
    'what a user does not have has no header',
  )
  t.same(await arrivedFor({ username: 'an' }, '/api/v1/public/c/app'), [], 'no session is read here')
})

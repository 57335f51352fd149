import t from 'tap'
import { ownRoutes } from '../../src/settings/own-routes.ts'
import { PROFILES } from '../../src/settings/profile.ts'
import { openFixture, someone } from '../support/gateway-fixture.ts'

/* A cache between a client and the gateway, or the browser of a shared machine, that keeps what is for one client alone. */

const fixture = await openFixture(t)
const token = await fixture.signIn()

t.test('no answer of the gateway’s own API may be kept by a cache', async t => {
  for (const route of ownRoutes(fixture.settings, PROFILES[1])) {
    const [method, path] = route.split(' ') as [string, string]
    if (!path.startsWith('/api/') || path.endsWith('/logout')) continue
    const query = path.endsWith('/account/detail') ? '?id=1' : '?user_id=1'
    const answer = await fixture.call({ method, path: path + query, token, ...(method === 'POST' && { body: {} }) })
    if (method === 'GET' && path.endsWith('/export')) t.match(answer.headers, { 'content-type': /^text\/csv/ })
    else if (method === 'GET') t.match(answer.json(), { code: 200 }, route)
    t.equal(answer.headers['cache-control'], 'no-store', route)
  }
})

t.test('nor one that shows a password once', async t => {
  const post = (name: string, body: object) => fixture.post(`/api/v1/sys/account/${name}`, body, token)
  const added = await post('add', { username: someone() })
  const { id } = added.json().data
  for (const answer of [added, await post('reset-password', { id })]) {
    t.match(answer.json().data, { password: /^\S{20,}$/ })
    t.equal(answer.headers['cache-control'], 'no-store')
  }
})

t.test('an answer of an upstream that no cache knows as one for a single client is private', async t => {
  const known = await fixture.get('/api/v1/b/x', token)
  t.equal(known.headers['cache-control'], undefined, 'an Authorization tells caches enough')
  const named = await openFixture(t, { environment: { JWT__TOKEN_NAME: 'X-Token' } })
  const ofOne = await named.gateway.sides.business.login(undefined, someone())
  const ask = (path: string) => named.call({ path, headers: { 'x-token': ofOne } })
  t.match(await ask('/api/v1/b/x'), { status: 200, headers: { 'cache-control': 'private' } })
  t.equal((await ask('/api/v1/public/b/x')).headers['cache-control'], undefined, 'where no session is read')
})

import t from 'tap'
import { completed, missingIn } from '../../src/provider/claim-path.ts'

t.test('userinfo completes the ID token, and changes nothing of it', async t => {
  const idToken = { sub: 'ada', email: 'ada@example.com', hasgroups: true }
  const userinfo = JSON.parse(
    '{"sub":"ada","email":"eve@example.com","realm":{"roles":["a"]},"x":1,"hasgroups":false,"__proto__":{"y":1}}',
  )
  const missing = missingIn(idToken, ['email', 'realm.roles', 'realm.none', '__proto__'])
  t.same(missing, ['realm.roles', 'realm.none', '__proto__'])
  const all = completed(idToken, userinfo, missing)
  t.same(Object.entries(all).slice(0, 4), [...Object.entries(idToken), ['realm', { roles: ['a'] }]])
  t.equal((all as { y?: unknown }).y, undefined)
})

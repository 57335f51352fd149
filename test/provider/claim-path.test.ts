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

t.test('the mark of a verified address counts for the address beside it alone', async t => {
  const marks: [idToken: Record<string, unknown>, userinfo: Record<string, unknown>, mark: unknown][] = [
    [{ email: 'a@b.c' }, { email: 'a@b.c', email_verified: true }, true],
    [{ email: 'a@b.c' }, { email: 'eve@b.c', email_verified: true }, undefined],
    [{ email: 'a@b.c' }, { email_verified: true }, undefined],
    [{ email: 'a@b.c', email_verified: false }, { email: 'a@b.c', email_verified: true }, false],
    [{}, { email: 'eve@b.c', email_verified: true }, true],
    [{ email_verified: true }, { email: 'eve@b.c' }, undefined],
    [{ email_verified: true }, { email: 'eve@b.c', email_verified: false }, false],
    [{ email_verified: false }, { email: 'eve@b.c', email_verified: true }, true],
  ]
  for (const [idToken, userinfo, mark] of marks) {
    const all = completed(idToken, userinfo, missingIn(idToken, ['email', 'email_verified']))
    t.equal(all.email_verified, mark, JSON.stringify([idToken, userinfo]))
  }
})

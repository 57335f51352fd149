import { createHash } from 'node:crypto'
import t from 'tap'
import { loginIdOf } from '../../../src/login/identity/login-id.ts'
import { isLoginId } from '../../../src/session/record.ts'

/* The login ids of a provider's users. */

const hashOf = (sub: string): string => createHash('sha256').update(sub).digest('base64url')

t.test('a sub that fits stands in the login id as it is', async t => {
  for (const sub of [
    '7',
    'anna',
    'A1b2-C3',
    'f3b1c2d4-0000-4000-8000-5e6f7a8b9c0d',
    'auth0:5f7c8ec7',
    'a@b.example',
    'H:x',
    'h',
  ])
    t.equal(loginIdOf('staff', sub), `staff:${sub}`)
  const longest = 'x'.repeat(128 - 'staff:'.length)
  t.equal(loginIdOf('staff', longest), `staff:${longest}`)
})

t.test('a sub that does not fit is replaced as a whole by its digest', async t => {
  const subs = ['auth0|5f7c8ec7', 'anna müller', '张三', 'a/b', 'a\nb', 'x'.repeat(123), 'x'.repeat(5000)]
  for (const sub of subs) {
    t.equal(loginIdOf('staff', sub), `staff:h:${hashOf(sub)}`)
    t.ok(isLoginId(loginIdOf('a'.repeat(32), sub)))
  }
})

t.test('no sub equals the digest of another', async t => {
  const digest = loginIdOf('staff', 'auth0|1').slice('staff:'.length)
  t.equal(digest, `h:${hashOf('auth0|1')}`)
  t.equal(loginIdOf('staff', digest), `staff:h:${hashOf(digest)}`)
  t.equal(loginIdOf('staff', 'h:'), `staff:h:${hashOf('h:')}`)
})

t.test('subs that differ in anything have different login ids', async t => {
  const subs = [
    'anna',
    'Anna',
    'ANNA',
    ' anna',
    'anna ',
    '\u00e4',
    'a\u0308',
    '\u00c4',
    'ﬁ',
    'fi',
    'x'.repeat(122),
    'x'.repeat(123),
  ]
  const ids = subs.map(sub => loginIdOf('staff', sub))
  t.equal(new Set(ids).size, subs.length)
})

t.test('one sub at two providers is two users', async t => {
  t.not(loginIdOf('staff', '7'), loginIdOf('partners', '7'))
  t.not(loginIdOf('staff', 'a|b'), loginIdOf('partners', 'a|b'))
})

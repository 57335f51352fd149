import t from 'tap'
import type { LoginType } from '../../src/session/sides.ts'
import { type CookieSettings, createSessionCookies } from '../../src/token/cookie.ts'

const BOTH: ReadonlySet<LoginType> = new Set(['BUSINESS', 'CONSUMER'])

const cookies = (settings: Partial<CookieSettings> = {}) =>
  createSessionCookies({ sides: BOTH, secure: true, keep: 'session', ...settings })!

t.test('a cookie is sent to this host alone, over HTTPS, to no script, and not with writes of other sites', async t => {
  const { set, expire } = cookies()
  t.equal(set('BUSINESS', 'a.b.c', 60), '__Host-dualgate-b=a.b.c; Max-Age=60; Path=/; HttpOnly; SameSite=Lax; Secure')
  t.equal(expire('CONSUMER'), '__Host-dualgate-c=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax; Secure')
})

t.test('the settings change its name with its attributes', async t => {
  const ofDomain = cookies({ domain: 'wiki.example' })
  t.equal(
    ofDomain.set('CONSUMER', 'a.b.c', 60),
    '__Secure-dualgate-c=a.b.c; Max-Age=60; Path=/; Domain=wiki.example; HttpOnly; SameSite=Lax; Secure',
  )
  t.match(ofDomain.expire('CONSUMER'), /^__Secure-dualgate-c=; Max-Age=0; .*Domain=wiki\.example/)
  t.equal(
    cookies({ secure: false }).set('BUSINESS', 'a.b.c', 60),
    'dualgate-b=a.b.c; Max-Age=60; Path=/; HttpOnly; SameSite=Lax',
  )
  t.equal(
    cookies({ keep: 'browser' }).set('BUSINESS', 'a.b.c', 60),
    '__Host-dualgate-b=a.b.c; Path=/; HttpOnly; SameSite=Lax; Secure',
  )
  t.equal(createSessionCookies({ sides: new Set(), secure: true, keep: 'session' }), null)
})

t.test('a cookie is read by its whole name, and counted', async t => {
  const { read } = cookies()
  const found = (header: string | undefined) => read(header, 'BUSINESS')
  t.same(found('a=1; __Host-dualgate-b=x.y.z; b=2'), { token: 'x.y.z', count: 1 })
  t.same(found('__Host-dualgate-b = x.y.z '), { token: 'x.y.z', count: 1 })
  t.same(found('__Host-dualgate-b=x.y.z;__Host-dualgate-b=x.y.z'), { token: 'x.y.z', count: 2 })
  t.same(found('__Host-dualgate-b; __Host-dualgate-b=x.y.z'), { token: 'x.y.z', count: 2 }, 'a cookie without a name')
  for (const header of [
    undefined,
    '',
    'x__Host-dualgate-b=x.y.z',
    '__host-dualgate-b=x.y.z',
    'dualgate-b=x.y.z',
    '__Host-dualgate-c=x.y.z',
    'a="__Host-dualgate-b=x.y.z"',
    // To browsers these names have no prefix: a sibling host can set them.
    '\u00a0__Host-dualgate-b=x.y.z',
    '__Host-dualgate-b\u00a0=x.y.z',
  ])
    t.same(found(header), { token: null, count: 0 }, String(header))
  for (const value of ['', '"x.y.z"', 'x.y', 'x.y.z.', 'é.y.z', 'x y.z.a', `${'x'.repeat(5000)}.y.z`])
    t.same(found(`__Host-dualgate-b=${value}`), { token: null, count: 1 }, value.slice(0, 10))
})

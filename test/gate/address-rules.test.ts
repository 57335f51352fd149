import t from 'tap'
import { coversPath, createAccess, folded } from '../../src/gate/address-rules.ts'

const COVERED: [pattern: string, path: string, covers: boolean][] = [
  ['/console', '/console', true],
  ['/console', '/console/', true],
  ['/console', '/console/x', false],
  ['/console', '/consoles', false],
  ['/console/*', '/console', true],
  ['/console/*', '/console/', true],
  ['/console/*', '/console/a/b', true],
  ['/console/*', '/consoles', false],
  ['/api/v1/sys/*', '/api/v1/SYS/Users', true],
  ['/api/v1/Sys', '/api/v1/sYs/', true],
  ['/api/v1/sys/*', '/api/v1/sys%20/x', true],
  ['/api/v1/sys/*', '/api/v1/%EF%BD%93ys./x', true],
  ['/api/v1/sys/*', '/api/v1/sys.x/y', false],
  // The letters that Java, Python and others take for an i, and two that they write with two letters.
  ['/api/v1/list/*', '/api/v1/l%C4%B0st/x', true],
  ['/api/v1/list/*', '/api/v1/l%C4%B1st/x', true],
  ['/api/v1/list/*', '/api/v1/LI%CC%87ST/x', true],
  ['/api/v1/class', '/api/v1/cla%C3%9F', true],
  ['/api/v1/class', '/api/v1/cla%E1%BA%9E', true],
  ['/api/v1/list/*', '/api/v1/l%C3%ADst/x', false],
  // Formats, as Rails and others read them.
  ['/api/v1/sys/*', '/api/v1/sys.json', true],
  ['/api/v1/sys/*', '/api/v1/Sys.JSON/', true],
  ['/api/v1/sys', '/api/v1/sys.a.b', true],
  ['/api/v1/sys', '/api/v1/sys.json/x', false],
  ['/api/v1/sys', '/api/v1/system.json', false],
  ['/api/v1/sys.json', '/api/v1/sys', false],
  ['/api/v1/sys.json', '/api/v1/sys.xml', false],
  ['/api/v1/sys/*', '/api/v1/sys.json/*', false],
  ['/api/v1/sys', '/api/v1/sys.json/*', false],
  ['/api/v1/sys/*', '/api/v2/sys/x', false],
  ['/*', '/', true],
  ['/*', '/anything', true],
  ['/api/*', '/api/v1/*', true],
  ['/api/v1/*', '/api/*', false],
  ['/api/v1', '/api/v1/*', false],
]

for (const [pattern, path, covers] of COVERED) {
  t.test(`${pattern} ${covers ? 'covers' : 'does not cover'} ${path}`, async t => {
    t.equal(coversPath(pattern, path), covers)
  })
}

t.test('the form in which paths are compared takes as long for dots as for letters', async t => {
  // Tried at each dot for each end, these would take hours.
  const dots = '.'.repeat(2_000_000)
  t.ok(folded(`/a/${dots}b`) === `/a/${dots}b`, 'dots within a segment stay')
  t.equal(folded(`/a${dots}/b${dots}`), '/a/b', 'dots at the end of a segment do not')
})

t.test('allow names the only addresses, deny excepts from them, and no rule admits an unknown address', async t => {
  const [allowing, denying, both] = createAccess([
    { path: '/*', allow: ['10.0.0.0/8', '2001:db8::/32'] },
    { path: '/*', deny: ['10.0.0.0/8'] },
    { path: '/*', allow: ['10.0.0.0/8'], deny: ['10.0.0.9'] },
  ])
  const ADDRESSES: [address: string | null, allowing: boolean, denying: boolean, both: boolean][] = [
    ['10.1.2.3', true, false, true],
    ['::ffff:10.1.2.3', true, false, true],
    ['10.0.0.9', true, false, false],
    ['2001:db8::7', true, true, false],
    ['11.0.0.1', false, true, false],
    ['fe80::1%eth0', false, true, false],
    ['', false, false, false],
    ['unknown', false, false, false],
    ['10.1.2.3, 11.0.0.1', false, false, false],
    ['10.1.2.3:80', false, false, false],
    [null, false, false, false],
  ]
  for (const [address, ...admitted] of ADDRESSES) {
    t.same(
      [allowing, denying, both].map(rule => rule!.admits(address)),
      admitted,
      `${address}`,
    )
  }
})

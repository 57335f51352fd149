import t from 'tap'
import { CONSOLE_PATHS, signInPagesOf } from '../../src/gate/own-pages.ts'
import { createPageRules, type WrittenPage } from '../../src/gate/page-rules.ts'
import { readTarget } from '../../src/gate/path.ts'
import { isForwardable, verdictOf } from '../../src/gate/rules.ts'
import { LOGIN_TYPES } from '../../src/session/sides.ts'
import { PROFILES } from '../../src/settings/profile.ts'

/* Rule 7: paths outside of /api, as the operator named them. The first page that matches decides. */

const PAGES: WrittenPage[] = [
  { path: '/wiki/assets/*', needs: 'none' },
  { path: '/wiki/drafts/*', methods: ['GET'], needs: 'none' },
  { path: '/wiki/*', needs: 'business' },
  { path: '/shop', needs: 'consumer' },
  { path: '/both/*', methods: ['GET', 'POST'], needs: 'either' },
  { path: '/', needs: 'none' },
]

/** What is decided, as `rule need`, with the position of the page. */
const ROWS: [method: string, target: string, expected: string][] = [
  ['GET', '/wiki', '7 BUSINESS by 2'],
  ['GET', '/wiki/', '7 BUSINESS by 2'],
  ['GET', '/wiki/a/b?x=/../y', '7 BUSINESS by 2'],
  ['POST', '/wiki/a', '7 BUSINESS by 2'],
  ['DELETE', '/wiki/a', '7 BUSINESS by 2'],
  ['GET', '/wikis', 'no rule'],
  ['GET', '/x/wiki', 'no rule'],
  // Where a session is needed, every spelling that a backend could take for the same path.
  ['GET', '/WIKI/a', '7 BUSINESS by 2'],
  ['GET', '/wiki%20/a', '7 BUSINESS by 2'],
  ['GET', '/wiki./a', '7 BUSINESS by 2'],
  ['GET', '/%EF%BD%97iki/a', '7 BUSINESS by 2'],
  ['GET', '/wiki/assets%20/a.css', '7 BUSINESS by 2'],
  ['GET', '/w%C4%B1ki/a', '7 BUSINESS by 2'],
  ['GET', '/wiki.json', '7 BUSINESS by 2'],
  ['GET', '/shop.json', '7 CONSUMER by 3'],
  ['GET', '/shop', '7 CONSUMER by 3'],
  ['GET', '/Shop/', '7 CONSUMER by 3'],
  ['GET', '/shop/a', 'no rule'],
  // Where none is needed, only what is written.
  ['GET', '/wiki/assets', '7 none by 0'],
  ['GET', '/wiki/assets/a.css', '7 none by 0'],
  ['GET', '/wiki/Assets/a.css', '7 BUSINESS by 2'],
  ['GET', '/wiki/assetsx', '7 BUSINESS by 2'],
  ['GET', '/wiki/assets.json', '7 BUSINESS by 2'],
  ['GET', '/', '7 none by 5'],
  ['GET', '/index.html', 'no rule'],
  // Methods.
  ['GET', '/wiki/drafts/a', '7 none by 1'],
  ['HEAD', '/wiki/drafts/a', '7 none by 1'],
  ['PUT', '/wiki/drafts/a', '7 BUSINESS by 2'],
  ['GET', '/both/a', '7 either by 4'],
  ['HEAD', '/both', '7 either by 4'],
  ['PUT', '/both/a', 'no rule'],
  ['OPTIONS', '/wiki/a', '2 none'],
  ['OPTIONS', '/elsewhere', '2 none'],
  // Other rules come first, and some paths stay the gateway's.
  ['GET', '/favicon.ico', '1 none'],
  ['GET', '/docs', '1 none'],
  ['GET', '/api/v1/c/x', '4 CONSUMER'],
  ['GET', '/api/v1/wiki/x', '6 BUSINESS'],
]

const pages = createPageRules(PAGES)

for (const [method, target, expected] of ROWS) {
  t.test(`with pages, ${method} ${target} is decided as ${expected}`, async t => {
    const verdict = verdictOf(readTarget(target).path, method, { ...PROFILES[1].paths, pages })
    const by = verdict?.page === undefined ? '' : ` by ${pages.indexOf(verdict.page)}`
    t.equal(verdict === null ? 'no rule' : `${verdict.rule.number} ${verdict.need}${by}`, expected)
  })
}

/** With a page for every path. */
const RESERVED: [target: string, isForwarded: boolean][] = [
  ['/', true],
  ['/index.html', true],
  ['/favicon.ico', false],
  ['/apis', true],
  ['/api/v1/c/x', true],
  ['/api', false],
  ['/api/', false],
  ['/api/x', false],
  ['/API/v1/c/x', false],
  ['/api%20/v1/c/x', false],
  ['/api./v1/c/x', false],
  ['/%EF%BD%81pi/v1/c/x', false],
  ['/console%E3%80%80/', false],
  ['/Api/V1/public/b/x', false],
  ['/console', false],
  ['/console/', false],
  ['/Console/main.js', false],
  ['/docs', false],
  ['/docs/x', false],
  ['/redoc/', false],
  ['/openapi.json', false],
  ['/OpenApi.json', false],
  ['/v3/api-docs', false],
  ['/sign-in/b/', false],
  ['/sign-out', false],
  ['/.well-known/dualgate/jwks.json', false],
  ['/.well-known/security.txt', true],
]

for (const [target, isForwarded] of RESERVED) {
  t.test(`with a page for every path, ${target} is ${isForwarded ? '' : 'not '}forwarded`, async t => {
    const everything = createPageRules([{ path: '/*', needs: 'none' }])
    const { path } = readTarget(target)
    t.equal(isForwardable(path, { pages: everything }), isForwarded)
    if (!isForwarded) {
      const verdict = verdictOf(path, 'GET', { ...PROFILES[1].paths, pages: everything })
      t.not(verdict?.rule.number, 7)
    }
  })
}

t.test('without pages only paths below /api/v<n> are forwarded', async t => {
  for (const [target] of RESERVED) {
    const { path } = readTarget(target)
    t.equal(isForwardable(path, { pages: [] }), target === '/api/v1/c/x', target)
  }
})

t.test("the paths of the gateway's own pages are no pages of anybody else", async t => {
  const everything = createPageRules([{ path: '/*', needs: 'none' }])
  const own = [
    ...PROFILES[1].paths.open,
    ...PROFILES[2].paths.open,
    ...CONSOLE_PATHS,
    ...signInPagesOf(LOGIN_TYPES, true),
  ]
  for (const path of own) t.equal(isForwardable(readTarget(path).path, { pages: everything }), false, path)
})

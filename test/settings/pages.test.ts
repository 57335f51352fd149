import t from 'tap'
import { faultsOf, settingsOf } from './folder.ts'

const written = (pages: readonly string[], matches: readonly string[] = ['/']): string =>
  [
    'gate:',
    '  pages:',
    ...pages.map(page => `    - { ${page} }`),
    'upstreams:',
    ...matches.map((match, index) => `  - { name: u${index}, match: ${match}, target: "http://127.0.0.1:1" }`),
    '',
  ].join('\n')

t.test('a page is for all methods unless it names some', async t => {
  const { gate } = settingsOf(t, written(['path: /wiki/*, needs: business', 'path: "/*", methods: [GET], needs: none']))
  t.same(gate.pages, [
    { path: '/wiki/*', needs: 'business' },
    { path: '/*', methods: ['GET'], needs: 'none' },
  ])
})

const FAULTS: [title: string, pages: string[], fault: RegExp, matches?: string[]][] = [
  ...['wiki', '/wiki//x', '/wiki/../x', '/wiki?a=1', '/wiki/%78', '/维基', '/wiki*', '/*/x', '"/wiki "'].map(
    (path): [string, string[], RegExp] => [
      `the path ${path}`,
      [`path: ${path}, needs: none`],
      /path: must be a path such as .* other characters have several spellings/,
    ],
  ),
  ['a path of the API', ['path: /api/v1/x, needs: none'], /lies below \/api, where rules 3 to 6 decide/],
  ['the API in capitals', ['path: /API/*, needs: none'], /lies below \/api/],
  ['the console', ['path: /console/*, needs: none'], /lies in \/console\/\*, which the gateway keeps/],
  ['a document', ['path: /Docs, needs: none'], /lies in \/docs\/\*/],
  ['the icon', ['path: /favicon.ico, needs: none'], /lies in \/favicon.ico/],
  [
    'a page behind another one',
    ['path: /wiki/*, needs: business', 'path: /wiki/a, needs: none'],
    /is never reached, because page 1 in the list, \/wiki\/\*, matches first/,
  ],
  [
    'methods that an earlier page has',
    ['path: /wiki/*, methods: [GET, POST], needs: business', 'path: /wiki/a, methods: [HEAD], needs: none'],
    /is never reached/,
  ],
  ['an upstream at a path of the gateway', [], /match: lies in \/console\/\*/, ['/console']],
  ['an upstream at another spelling of the API', [], /match: lies in \/api\/\*/, ['/API']],
]

for (const [title, pages, fault, matches] of FAULTS) {
  t.test(`${title} is a fault that names its remedy`, async t => {
    const faults = faultsOf(
      t,
      pages.length === 0 ? written([], matches).replace('  pages:\n', '  pages: []\n') : written(pages, matches),
    )
    t.equal(faults.length, 1, faults.join('\n'))
    t.match(faults[0], fault)
  })
}

t.test('pages and upstreams that fit each other are no faults', async t => {
  for (const [pages, matches] of [
    [['path: /wiki/*, methods: [GET], needs: none', 'path: /wiki/*, needs: business'], ['/wiki']],
    [['path: /wiki/a, needs: none'], ['/wiki', '/api/v1']],
    [['path: "/*", needs: none'], ['/', '/wiki/x']],
    [['path: /, needs: none'], ['/']],
  ] as const) {
    t.equal(settingsOf(t, written(pages, matches)).gate.pages.length, pages.length)
  }
})

t.test('a page without an upstream is a warning, and so is an upstream that no page covers', async t => {
  const { warnings } = settingsOf(t, written(['path: /wiki/*, needs: none'], ['/api/v1', '/wikis', '/']))
  t.equal(warnings.length, 1, warnings.join('\n'))
  t.match(warnings[0], /upstreams\[1\]\.match is outside of \/api, and no page covers it/)
  const unserved = settingsOf(
    t,
    written(['path: /wiki/*, needs: none', 'path: /shop, needs: none'], ['/api/v1', '/shop']),
  )
  t.equal(unserved.warnings.length, 1, unserved.warnings.join('\n'))
  t.match(unserved.warnings[0], /gate\.pages\[0\] has no upstream/)
})

t.test('a rule about client addresses can name a page', async t => {
  const access = 'access: [{ path: /wiki/*, allow: [10.0.0.0/8] }, { path: /shop, allow: [10.0.0.0/8] }]\n'
  const faults = faultsOf(t, access + written(['path: /wiki/*, needs: none']))
  t.equal(faults.length, 1)
  t.match(faults[0], /access\[1\]\.path: covers nothing/)
})

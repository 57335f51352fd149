import t from 'tap'
import { faultsOf, settingsOf } from './folder.ts'

const written = (...entries: string[]): string => `access:\n${entries.map(entry => `  - { ${entry} }\n`).join('')}`

t.test('rules about client addresses are read from the file and from the environment', async t => {
  const rule = 'path: /api/v1/sys/*, allow: [10.0.0.0/8], deny: [10.0.0.9]'
  const expected = [{ path: '/api/v1/sys/*', allow: ['10.0.0.0/8'], deny: ['10.0.0.9'] }]
  t.match(settingsOf(t, written(rule)).access, expected)
  t.match(settingsOf(t, '', { ACCESS: `[{ ${rule} }]` }).access, expected)
})

const FAULTS: [title: string, entries: string[], fault: RegExp, settings?: string][] = [
  ...['console', '/api/v1/%73ys', '/api/v1/sys*', '/api/v1/../sys', '/', '"/api/v1/a b"'].map(
    (path): [string, string[], RegExp] => [
      `the path ${path}`,
      [`path: ${path}, allow: [10.0.0.1]`],
      /^gateway\.yaml:2 access\[0\]\.path: must be a path such as \/console/,
    ],
  ),
  ['a path that is never served', ['path: /app/*, allow: [10.0.0.1]'], /access\[0\]\.path: covers nothing/],
  ['the page, where it is off', ['path: /console/*, allow: [10.0.0.1]'], /covers nothing/, 'console: off\n'],
  ['no list', ['path: /console'], /access\[0\]: needs allow, or deny, or both/],
  ['an empty list', ['path: /console, allow: []'], /access\[0\]\.allow: must have at least 1 entry/],
  [
    'a name',
    ['path: /console, deny: [10.0.0.1, office]'],
    /access\[0\]\.deny\[1\]: must be an address or a CIDR range/,
  ],
  ['a range too long', ['path: /console, allow: [10.0.0.0/33]'], /access\[0\]\.allow\[0\]: must be an address/],
  [
    'a rule behind one that covers its paths',
    ['path: /api/v1/*, deny: [10.0.0.1]', 'path: /API/v1/sys/*, allow: [10.0.0.1]'],
    /^gateway\.yaml:3 access\[1\]: is never reached, because rule 1 in the list, \/api\/v1\/\*, matches first/,
  ],
]

for (const [title, entries, fault, settings = ''] of FAULTS) {
  t.test(`${title} is a fault, with its place and a remedy`, async t => {
    t.match(faultsOf(t, settings + written(...entries)).join('\n'), fault)
  })
}

t.test('own routes, pages, versions and everything can have rules', async t => {
  const paths = [
    '/console',
    '/console/main.js',
    '/docs',
    '/openapi.json',
    '/api/v1/public/b/login',
    '/api/v2/*',
    '/api/*',
    '/*',
  ]
  t.doesNotThrow(() => settingsOf(t, written(...paths.map(path => `path: ${path}, allow: [10.0.0.1]`))))
})

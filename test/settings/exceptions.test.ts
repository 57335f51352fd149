import t from 'tap'
import { faultsOf, settingsOf } from './folder.ts'

const written = (...entries: string[]): string =>
  `gate:\n  exceptions:\n${entries.map(entry => `    - { ${entry} }\n`).join('')}`

t.test('an exception without methods is for GET', async t => {
  const { gate } = settingsOf(
    t,
    written(
      'path: /api/v1/sys/dict/tree, needs: none',
      'path: /api/v1/file/*, methods: [POST, HEAD], needs: either',
      'path: /api/v2/*, needs: consumer',
    ),
  )
  t.same(gate.exceptions, [
    { path: '/api/v1/sys/dict/tree', methods: ['GET'], needs: 'none' },
    { path: '/api/v1/file/*', methods: ['POST', 'HEAD'], needs: 'either' },
    { path: '/api/v2/*', methods: ['GET'], needs: 'consumer' },
  ])
})

t.test('exceptions can come from the environment', async t => {
  const { gate } = settingsOf(t, '', { GATE__EXCEPTIONS: '[{ path: /api/v1/x, needs: business }]' })
  t.match(gate.exceptions, [{ path: '/api/v1/x', needs: 'business' }])
})

const SPELLINGS = /path: must be a path such as .* other characters have several spellings/

const FAULTS: [title: string, entries: string[], fault: RegExp, settings?: string][] = [
  ...[
    'api/v1/x',
    '/api/v1//x',
    '/api/v1/../x',
    '/api/v1/x/.',
    '/api/v1/x/./*',
    '/api/v1/x?a=1',
    '"/api/v1/x#a"',
    '/api/v1/x;a',
    '/api/v1/%78',
    '/api/v1/%E4%B8%AD',
    '/api/v1/中',
    '/api/v1/a:b',
    '/api/v1/a@b',
    '/api/v1/x*',
    '/api/v1/*/x',
    '/api/v1/x/**',
    '"/api/v1/x "',
    '"/api/v1/x\\n"',
    '"/*"',
    '/',
    'http://h/api/v1/x',
  ].map((path): [string, string[], RegExp] => [`the path ${path}`, [`path: ${path}, needs: none`], SPELLINGS]),
  [
    'a path outside the API',
    ['path: /console2, needs: none'],
    /matches no rule and is never forwarded; .* name it in gate\.pages instead/,
  ],
  ['a path of no version', ['path: /api/vx/y, needs: none'], /matches no rule/],
  ['every version', ['path: /api/*, needs: none'], /matches no rule/],
  ['a path in capitals', ['path: /API/v1/x, needs: none'], /matches no rule/],
  ['an open path', ['path: /docs, needs: business'], /is decided by rule 1, and only rules 4, 5, 6 have exceptions/],
  ['a public path', ['path: /api/v1/public/b/*, needs: business'], /is decided by rule 3, .*; remove it/],
  [
    'everything public in profile 2',
    ['path: /api/v9/public/*, needs: business'],
    /is decided by rule 3/,
    'profile: 2\n',
  ],
  [
    'the logout',
    ['path: /api/v1/b/logout, methods: [POST], needs: none'],
    /^gateway\.yaml:3 gate\.exceptions\[0\]\.path: excepts POST \/api\/v1\/b\/logout, which the gateway serves itself; remove it$/,
  ],
  [
    'the logout with another method',
    ['path: /api/v1/c/logout, methods: [GET], needs: none'],
    /excepts POST \/api\/v1\/c\/logout/,
  ],
  [
    'everything of the C side',
    ['path: /api/v1/c/*, needs: either'],
    /excepts POST \/api\/v1\/c\/logout, which the gateway serves itself; write narrower paths, without it$/,
  ],
  ['everything', ['path: /api/v1/*, needs: none'], /excepts GET \/api\/v1\/public\/b\/captcha/],
  ['the administration', ['path: /api/v1/sys/session/page, needs: none'], /excepts GET \/api\/v1\/sys\/session\/page/],
  [
    'what is around the administration',
    ['path: /api/v1/client/*, needs: none'],
    /excepts GET \/api\/v1\/client\/session/,
  ],
  [
    'own routes of a second version',
    ['path: /api/v3/sys/session/*, needs: consumer'],
    /excepts GET \/api\/v3\/sys\/session/,
    'api_versions: [1, 3]\n',
  ],
  [
    'the same twice',
    ['path: /api/v1/x, needs: none', 'path: /api/v1/x, needs: either'],
    /^gateway\.yaml:4 gate\.exceptions\[1\]: is never reached with GET, because exception 1 in the list, \/api\/v1\/x, matches first; put it before/,
  ],
  [
    'a path behind its folder',
    ['path: /api/v1/x/*, needs: none', 'path: /api/v1/x/y, needs: business'],
    /exceptions\[1\]: is never reached with GET, because exception 1/,
  ],
  [
    'a folder behind its parent',
    ['path: /api/v1/x/*, needs: none', 'path: /api/v1/x/y/*, needs: business'],
    /never reached/,
  ],
  [
    'the folder itself behind its pattern',
    ['path: /api/v1/x/*, needs: none', 'path: /api/v1/x/, needs: business'],
    /never reached/,
  ],
  [
    'HEAD behind GET',
    ['path: /api/v1/x, needs: none', 'path: /api/v1/x, methods: [HEAD], needs: business'],
    /never reached with HEAD/,
  ],
  [
    'one of two methods',
    ['path: /api/v1/x, methods: [POST], needs: none', 'path: /api/v1/x, methods: [PUT, POST], needs: either'],
    /never reached with POST/,
  ],
  ['a method that is named twice', ['path: /api/v1/x, methods: [PUT, PUT], needs: none'], /names PUT twice/],
  [
    'OPTIONS',
    ['path: /api/v1/x, methods: [OPTIONS], needs: none'],
    /methods\[0\]: must be GET, HEAD, POST, PUT, PATCH or DELETE, not "OPTIONS"/,
  ],
  ['a method in lower case', ['path: /api/v1/x, methods: [get], needs: none'], /methods\[0\]: must be/],
  ['no methods', ['path: /api/v1/x, methods: [], needs: none'], /methods: must have at least 1 entry/],
  ['another need', ['path: /api/v1/x, needs: admin'], /needs: must be none, business, consumer or either, not "admin"/],
  ['no need', ['path: /api/v1/x'], /needs: is missing/],
  ['an unknown key', ['path: /api/v1/x, need: none, needs: none'], /need: unknown setting/],
]

for (const [title, entries, fault, settings = ''] of FAULTS) {
  t.test(`an exception with a fault is refused, with place and remedy: ${title}`, async t => {
    const found = faultsOf(t, written(...entries) + settings)
    t.equal(found.length, 1, found.join('\n'))
    t.match(found[0], fault)
  })
}

t.test('exceptions can name paths that the gateway does not serve itself', async t => {
  const sound: [settings: string, path: string][] = [
    ['login: { logout_routes: off }\n', '/api/v1/c/*'],
    ['login: { logout_routes: off }\n', '/api/v1/b/logout'],
    ['session_administration: off\n', '/api/v1/sys/session/page'],
    ['profile: 2\n', '/api/v1/client/*'],
    ['', '/api/v2/sys/session/page'],
    ['', '/api/v1/sys/session/page/'],
    ['', '/api/v1/b/logout/x'],
    ['', '/api/v2/public/*'],
  ]
  for (const [settings, path] of sound)
    t.same(faultsOf(t, written(`path: ${path}, needs: either`) + settings), [], path)
})

t.test('a narrower exception before a wider one is valid, and so is the same path with other methods', async t => {
  const entries = [
    'path: /api/v1/x/y, needs: business',
    'path: /api/v1/x/*, needs: none',
    'path: /api/v1/x/*, methods: [POST], needs: either',
    'path: /api/v1/z, methods: [HEAD], needs: consumer',
    'path: /api/v1/z, needs: none',
  ]
  t.same(faultsOf(t, written(...entries)), [])
})

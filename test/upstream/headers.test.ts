import t from 'tap'
import { createPageRules } from '../../src/gate/page-rules.ts'
import type { Verdict } from '../../src/gate/rules.ts'
import type { LoginType } from '../../src/session/sides.ts'
import type { Session } from '../../src/side/side.ts'
import {
  createRequestHeaders,
  type HeaderPolicy,
  type IncomingRequest,
} from '../../src/upstream/headers/request-headers.ts'
import { ruleNumbered } from '../support/gate-rules.ts'

const session = (type: LoginType, user_id: string): Session => ({
  token: 'a.b.c' as Session['token'],
  claims: { jti: 'j', iat: 0 },
  record: { user_id, type, created_at: '', extra: {} },
})

type Headers = [name: string, value: string][]

interface Case extends Partial<Omit<IncomingRequest, 'rawHeaders' | 'connection'>> {
  tokenHeader?: string
  policy?: Partial<HeaderPolicy>
}

/** Values that stand for tokens of ours, and for others. */
const OWN_TOKENS = {
  isIn: (value: string) => value.startsWith('Bearer ours'),
  hasKey: (value: string) => value.includes('dgb_'),
  bareOf: (value: string) => (value === 'Bearer ours' ? 'ours' : value),
}

const AUTHENTICATED: Verdict = { need: 'CONSUMER', rule: ruleNumbered(4) }
const PUBLIC: Verdict = { need: 'none', rule: ruleNumbered(3) }
const PREFLIGHT: Verdict = { need: 'none', rule: ruleNumbered(2) }
const USER = session('CONSUMER', 'user-7')

/** What goes on of these headers: name and value pairs, names in lower case. */
function sent(headers: Headers, { tokenHeader = 'authorization', policy, ...request }: Case = {}): Headers {
  const connection = headers.filter(([name]) => name.toLowerCase() === 'connection').map(([, value]) => value)
  const flat = createRequestHeaders(tokenHeader, OWN_TOKENS)(
    {
      rawHeaders: headers.flat(),
      connection: connection.length > 0 ? connection.join(', ') : undefined,
      verdict: AUTHENTICATED,
      session: USER,
      hasCookieSession: false,
      id: 'request-1',
      ip: '198.51.100.7',
      protocol: 'http',
      host: 'shop.example',
      httpVersion: '1.1',
      ...request,
    },
    { host: 'backend:3000', passAuthorization: 'off', via: true, edits: null, ...policy },
  )
  const pairs: Headers = []
  for (let i = 0; i < flat.length; i += 2) pairs.push([flat[i]!.toLowerCase(), flat[i + 1]!])
  return pairs
}

const valuesOf = (name: string, headers: Headers): string[] => headers.filter(([n]) => n === name).map(([, v]) => v)

const OURS: Headers = [
  ['x-forwarded-for', '198.51.100.7'],
  ['x-forwarded-proto', 'http'],
  ['x-forwarded-host', 'shop.example'],
  ['x-forwarded-port', '80'],
  ['x-request-id', 'request-1'],
  ['trace_id', 'request-1'],
  ['via', '1.1 dualgate'],
  ['x-login-id', 'user-7'],
  ['x-login-type', 'CONSUMER'],
]

t.test('a request gets its host first, its own headers in their order, and ours last', async t => {
  const headers: Headers = [
    ['Host', 'shop.example'],
    ['Accept', 'application/json'],
    ['Cookie', 'a=1'],
    ['X-Custom', 'one'],
    ['x-custom', 'two'],
    ['Content-Length', '3'],
  ]
  t.same(sent(headers), [
    ['host', 'backend:3000'],
    ['accept', 'application/json'],
    ['cookie', 'a=1'],
    ['x-custom', 'one'],
    ['x-custom', 'two'],
    ['content-length', '3'],
    ...OURS,
  ])
})

const NEVER_PASSED = [
  // identity, in every spelling that some server folds into ours
  'X-Login-Id',
  'x-login-id',
  'X-LOGIN-ID',
  'X_Login_Id',
  'X-Login_Id',
  'X.Login.Id',
  'x_login.id',
  'X-Login-Type',
  'X_LOGIN_TYPE',
  'X-Login-Extra',
  'x.login.extra',
  'X-Login-Signature',
  'X_Login-Signature',
  // another method
  'X-HTTP-Method-Override',
  'X_HTTP_Method_Override',
  'X-HTTP-Method',
  'X.HTTP.Method',
  'X-Method-Override',
  'x_method_override',
  // where the client is, and what it asks for
  'X-Forwarded-For',
  'X_Forwarded_For',
  'X-Forwarded-Proto',
  'X-Forwarded-Host',
  'X-Forwarded-Port',
  'X-Forwarded-Prefix',
  'X-Forwarded-User',
  'x.forwarded.email',
  'Forwarded',
  'X-Real-IP',
  'X_Real_IP',
  'X-Original-URL',
  'X_Original_URL',
  'X-Rewrite-URL',
  'SCRIPT_NAME',
  'Script-Name',
  'X-Script-Name',
  'Daphne-Root-Path',
  'X-Vhm-Root',
  'X-Accel-Redirect',
  'X_Accel_Internal',
  'X-Sendfile-Type',
  'X_Sendfile_Type',
  'X-Request-Id',
  'trace_id',
  'Trace_Id',
  'TRACE-ID',
  'trace.id',
  // one connection only
  'Keep-Alive',
  'Proxy-Connection',
  'Proxy-Authorization',
  'Proxy_Authenticate',
  'TE',
  'Trailer',
  'Transfer-Encoding',
  'Transfer_Encoding',
  'Upgrade',
  'HTTP2-Settings',
  'HTTP2_Settings',
  'Expect',
  // a second framing
  'Content_Length',
  'Content.Length',
]

for (const [rule, circumstances] of Object.entries({
  'an authenticated': {},
  'a public': { verdict: PUBLIC, session: null },
  'an OPTIONS': { verdict: PREFLIGHT, session: null },
})) {
  t.test(`${rule} request cannot bring a header that is the gateway's own`, async t => {
    for (const name of NEVER_PASSED) {
      const headers = sent(
        [
          [name, 'forged'],
          [name, 'forged'],
        ],
        circumstances,
      )
      t.notOk(
        headers.some(([, value]) => value === 'forged'),
        name,
      )
    }
  })
}

t.test('names that only resemble ours pass', async t => {
  for (const name of ['x-login', 'x-login-identity', 'x-forwarded', 'x-realip', 'x-tenant_id', 'content-type']) {
    t.same(valuesOf(name, sent([[name, 'mine']])), ['mine'])
  }
})

t.test('Connection removes what it names, but nothing that we set or that the upstream needs', async t => {
  const connections = ['X-Hop', 'x-hop, keep-alive', 'close,X-HOP', ' x-hop ,, upgrade']
  for (const value of connections) {
    const headers = sent([
      ['X-Hop', 'gone'],
      ['Connection', value],
      ['X-Stays', 'here'],
    ])
    t.same(valuesOf('x-hop', headers), [], value)
    t.same(valuesOf('x-stays', headers), ['here'], value)
    t.same(valuesOf('connection', headers), [], value)
  }

  const PROTECTED: [string, string][] = [
    ['Content-Length', '3'],
    ['Content-Type', 'text/plain'],
    ['Cookie', 'a=1'],
    ['Cache-Control', 'no-store'],
  ]
  for (const [name, value] of PROTECTED) {
    const headers = sent([
      ['Connection', `keep-alive, ${name}`],
      [name, value],
    ])
    t.same(valuesOf(name.toLowerCase(), headers), [value], name)
  }

  for (const [name, value] of [['host', 'backend:3000'], ...OURS] as Headers) {
    t.same(valuesOf(name, sent([['Connection', name]])), [value], name)
  }
  const basic: Headers = [
    ['Connection', 'authorization'],
    ['Authorization', 'Basic x'],
  ]
  t.same(valuesOf('authorization', sent(basic, { verdict: PUBLIC, session: null })), ['Basic x'])
})

t.test('several Connection headers count together', async t => {
  const headers = sent([
    ['Connection', 'x-a'],
    ['Connection', 'x-b'],
    ['X-A', '1'],
    ['X-B', '2'],
  ])
  t.same(valuesOf('x-a', headers), [])
  t.same(valuesOf('x-b', headers), [])
})

t.test('which upstreams get the header with the token', async t => {
  const carried: Headers = [
    ['Authorization', 'Bearer a'],
    ['X-Token', 'b'],
    ['Cookie', 'c'],
  ]
  const pass = { policy: { passAuthorization: 'on' } } as const
  const open = { verdict: PUBLIC, session: null }
  const preflight = { verdict: PREFLIGHT, session: null }
  const custom = { tokenHeader: 'x-token' }
  const CASES: [string, Case, string[]][] = [
    ['authenticated', {}, ['x-token', 'cookie']],
    ['authenticated, passed on', pass, ['authorization', 'x-token', 'cookie']],
    ['public', open, ['authorization', 'x-token', 'cookie']],
    ['OPTIONS', preflight, ['x-token']],
    ['OPTIONS, passed on', { ...preflight, ...pass }, ['x-token']],
    ['authenticated, token in X-Token', custom, ['cookie']],
    ['authenticated, token in X-Token, passed on', { ...custom, ...pass }, ['authorization', 'x-token', 'cookie']],
    ['public, token in X-Token', { ...custom, ...open }, ['authorization', 'x-token', 'cookie']],
    ['OPTIONS, token in X-Token', { ...custom, ...preflight, ...pass }, []],
  ]
  for (const [name, circumstances, expected] of CASES) {
    const names = sent(carried, circumstances).map(([n]) => n)
    t.same(
      names.filter(n => ['authorization', 'x-token', 'cookie'].includes(n)),
      expected,
      name,
    )
  }
  t.same(valuesOf('x_token', sent([['X_Token', 'b']], custom)), [], 'another spelling of it is dropped with it')
})

t.test('a token of ours is not forwarded where no session was needed, unless the upstream gets tokens', async t => {
  const open = { verdict: PUBLIC, session: null, tokenHeader: 'x-token' }
  for (const name of ['Authorization', 'AUTHORIZATION', 'X-Token', 'X_Token', 'x.token']) {
    const key = name.toLowerCase()
    t.same(valuesOf(key, sent([[name, 'Bearer ours']], open)), [], name)
    t.same(valuesOf(key, sent([[name, 'Bearer other']], open)), ['Bearer other'], `${name} of another scheme`)
    const passed = sent([[name, 'Bearer ours']], { ...open, policy: { passAuthorization: 'on' } })
    t.same(valuesOf(key, passed), ['Bearer ours'], `${name}, passed on`)
  }
  const spelledTwice: Headers = [
    ['X-Token', 'Bearer other'],
    ['X_Token', 'Bearer ours'],
  ]
  t.same(valuesOf('x_token', sent(spelledTwice, open)), [], 'each value is judged by itself')
})

t.test('with `bare` an upstream gets the token without a scheme, in any form of the client', async t => {
  const bare = { policy: { passAuthorization: 'bare' } } as const
  const SENT: Headers[] = [
    [['Authorization', 'Bearer a.b.c']],
    [['authorization', 'a.b.c']],
    [['AUTHORIZATION', 'bEARER a.b.c']],
    [['Connection', 'authorization']],
    [],
  ]
  for (const headers of SENT) t.same(valuesOf('authorization', sent(headers, bare)), ['a.b.c'], headers.flat().join())
  const custom = { ...bare, tokenHeader: 'x-token' }
  const both: Headers = [
    ['X-Token', 'Bearer a.b.c'],
    ['X_Token', 'forged'],
    ['Authorization', 'Basic YTpi'],
  ]
  t.same(valuesOf('x-token', sent(both, custom)), ['a.b.c'])
  t.same(valuesOf('x_token', sent(both, custom)), [], 'another spelling of it does not stand beside it')
  t.same(valuesOf('authorization', sent(both, custom)), ['Basic YTpi'], 'what is of another scheme is passed')
  const open = { ...bare, verdict: PUBLIC, session: null }
  for (const value of ['Bearer other', 'Basic YTpi', 'Bearer']) {
    t.same(valuesOf('authorization', sent([['Authorization', value]], open)), [value], `${value} without a session`)
  }
  t.same(valuesOf('authorization', sent([['Authorization', 'Bearer ours']], open)), ['ours'], 'without a session')
  t.same(valuesOf('authorization', sent([], open)), [], 'without a session no token is sent')
  const preflight = { ...bare, verdict: PREFLIGHT, session: null }
  t.same(valuesOf('authorization', sent([['Authorization', 'Bearer ours']], preflight)), [], 'nor with OPTIONS')
})

t.test('without a session there is no identity', async t => {
  const names = sent([], { verdict: PUBLIC, session: null }).map(([name]) => name)
  t.notOk(names.some(name => name.startsWith('x-login')))
})

t.test('the port is that of Host, or the default of the protocol', async t => {
  const PORTS: [host: string, protocol: string, port: string][] = [
    ['shop.example', 'http', '80'],
    ['shop.example', 'https', '443'],
    ['shop.example:8443', 'https', '8443'],
    ['[2001:db8::1]', 'http', '80'],
    ['[2001:db8::1]:8080', 'http', '8080'],
    ['shop.example:abc', 'http', '80'],
    ['', 'http', '80'],
  ]
  for (const [host, protocol, port] of PORTS) {
    t.same(valuesOf('x-forwarded-port', sent([], { host, protocol })), [port], `${protocol}://${host}`)
  }
  t.same(valuesOf('x-forwarded-host', sent([], { host: '' })), [], 'no host was requested')
})

t.test('the gateway appends itself to Via, with the protocol version of the client', async t => {
  const before: Headers = [
    ['Via', '1.0 fred, 1.1 p.example'],
    ['via', '2 edge'],
  ]
  t.same(valuesOf('via', sent(before)), ['1.0 fred, 1.1 p.example', '2 edge', '1.1 dualgate'])
  t.same(valuesOf('via', sent([], { httpVersion: '1.0' })), ['1.0 dualgate'])
  t.same(valuesOf('via', sent([['Connection', 'via']])), ['1.1 dualgate'])
  t.same(valuesOf('via', sent(before, { policy: { via: false } })), ['1.0 fred, 1.1 p.example', '2 edge'])
})

t.test('names that clients make up do not accumulate', async t => {
  const build = createRequestHeaders('authorization', OWN_TOKENS)
  const request = {
    connection: undefined,
    verdict: PUBLIC,
    session: null,
    hasCookieSession: false,
    id: 'r',
    ip: '::1',
    protocol: 'http',
    host: 'h',
    httpVersion: '1.1',
  }
  for (let i = 0; i < 3000; i++)
    build(
      { ...request, rawHeaders: [`x-made-up-${i}`, '1'] },
      { host: 'h', passAuthorization: 'off', via: true, edits: null },
    )
  const headers = build(
    { ...request, rawHeaders: ['X_Login_Id', '1', 'X-Fine', '2'] },
    { host: 'h', passAuthorization: 'off', via: true, edits: null },
  )
  t.notOk(headers.includes('X_Login_Id'))
  t.ok(headers.includes('X-Fine'))
})

t.test('session cookies are removed, and every other cookie stays byte for byte', async t => {
  const forwarded = (...cookies: string[]) => {
    const headers = sent(cookies.map(cookie => ['Cookie', cookie]))
    return valuesOf('cookie', headers)
  }
  const own = ['__Host-dualgate-b', '__Secure-dualgate-b', 'dualgate-b', '__Host-dualgate-c', 'dualgate-c']
  for (const name of own) {
    t.same(forwarded(`${name}=a.b.c`), [], name)
    t.same(forwarded(`a=1; ${name}=a.b.c;b="2;3 "`), ['a=1;b="2;3 "'], name)
    t.same(forwarded(`${name}=a.b.c; a=1`), ['a=1'], name)
    t.same(forwarded(`a=1; ${name} =a.b.c`), ['a=1'], name)
    t.same(forwarded(name), [], 'a cookie without a name')
  }
  const others = ['xdualgate-b=1', 'a=dualgate-b=1', '__host-dualgate-b=1', 'dualgate-bb=1', 'dualgate-a=1; =2;;']
  for (const cookie of others) t.same(forwarded(cookie), [cookie])
  t.same(forwarded('dualgate-b=1', 'a=1'), ['a=1'], 'in several lines')
})

t.test("with a session cookie the authorization of a page is the application's own", async t => {
  const page: Verdict = {
    need: 'BUSINESS',
    rule: ruleNumbered(7),
    page: createPageRules([{ path: '/wiki/*', needs: 'business' }])[0]!,
  }
  const basic: Headers = [['Authorization', 'Basic YTpi']]
  const asked = { verdict: page, session: USER, hasCookieSession: true }
  t.same(valuesOf('authorization', sent(basic, asked)), ['Basic YTpi'])
  t.same(valuesOf('authorization', sent([['Authorization', 'Bearer ours']], asked)), [], 'our token is not')
  t.same(valuesOf('authorization', sent(basic, { ...asked, verdict: AUTHENTICATED })), [], 'on no other path')
  const bare = { ...asked, policy: { passAuthorization: 'bare' } } as const
  t.same(valuesOf('authorization', sent(basic, bare)), ['Basic YTpi'], 'never two of them')
  t.same(valuesOf('authorization', sent([], bare)), ['a.b.c'])
  t.same(valuesOf('authorization', sent(basic, { ...bare, verdict: AUTHENTICATED })), ['a.b.c'])
})

import { fc } from '../support/random.ts'
import type { Proven } from './readers.ts'

/** A request as it is sent. */
export interface Sent {
  method: string
  target: string
  /** Whose token comes along. */
  token: Proven
  /** Header lines, beside `Host`, the token, the framing and `X-Case`. */
  headers: string[]
  framing: Framing
}

export interface Framing {
  lines: string[]
  /** The bytes behind the head. */
  bytes: string
  /** The body that a strict reader finds; `null` where none may be accepted. */
  body: string | null
}

/** What stands in no request that the gateway has to take. */
export const FORGED = 'forged'

const VERSIONS = [...Array.from({ length: 20 }, () => 'v1'), 'v2', 'v0', 'v01', 'V1', 'v', 'v1.0']
const FIRST = [
  'c',
  'c',
  'b',
  'sys',
  'client',
  'public',
  'public/b',
  'public/c',
  'public/x',
  'C',
  'PUBLIC',
  'orders',
  'sys/dict/tree',
  'help',
  'file',
  'c/office',
  'b/guide',
  '',
]
const OWN_SESSIONS = ['/session/tokens', '/session/exit-token', '/session/exit-others']
/** The gateway answers these itself below some of the sections, too. */
const OWN_ACCOUNTS = ['/account', '/account/password', '/account/page', '/account/edit', '/journal/page?size=1']
const STEPS = ['/login/second-factor', '/login/second-factor/setup', '/login/password']
const REST = [
  ...['', '/', '/x', '/x/y', '/x.json', '/c/x', '/b/x', '/public/b/x', '/sys/x', '/x?a=b', '/%E4%B8%AD', '/a b'],
  ...OWN_SESSIONS,
  ...OWN_ACCOUNTS,
  ...STEPS,
]

const apiBase = fc
  .tuple(
    fc.constantFrom(...Array.from({ length: 18 }, () => '/api'), '/API', '', 'http://x/api', 'http://X/api'),
    fc.constantFrom(...VERSIONS),
    fc.constantFrom(...FIRST),
    fc.constantFrom(...REST),
  )
  .map(([api, version, first, rest]) => `${api}/${version}/${first}${rest}`)

/** Outside of the API. */
const pageBase = fc
  .tuple(
    fc.constantFrom(
      '/private',
      '/private',
      '/private/open',
      '/shop',
      '/both',
      '/site',
      '/console',
      '/docs',
      '/API/v1/sys',
      '',
    ),
    fc.constantFrom('', '/', '/x', '/x/y', '/x.css', '/x?a=b', '/%E4%B8%AD'),
  )
  .map(parts => parts.join(''))

const base = fc.oneof({ weight: 6, arbitrary: apiBase }, { weight: 1, arbitrary: pageBase })

/** What attackers put into paths. */
const WORDS = [
  ...[
    '/',
    '//',
    '/.',
    '/./',
    '/..',
    '/../',
    '..',
    '.',
    '...',
    '\\',
    '/..\\',
    ';',
    ';a=b',
    '/;/',
    '..;/',
    '@',
    ':',
    ',',
    '*',
  ],
  ...['%2f', '%2F', '%5c', '%5C', '%2e', '%2E', '%2e%2e', '%2e%2e%2f', '..%2f', '%3b', '%3f', '%23', '%25', '%20', '+'],
  ...['%252e', '%252f', '%252e%252e%252f', '%25252f', '%%32%65', '%u002e', '%u2215', '%', '%2', '%zz'],
  ...['%00', '%0a', '%0d%0a', '%09', '%7f', '%c0%ae', '%c0%af', '%e0%80%af', '%ff', '%ed%a0%80', '%c2%85'],
  ...['%ef%bc%8e', '%ef%bc%8f', '%ef%bc%bc', '%e2%80%a5', '%e2%84%80', '%ef%bd%83', '%c4%b1', '%e2%88%95', '%cc%a7'],
  ...[
    '?',
    '??',
    '?/',
    '#',
    '#/',
    '\t',
    '\0',
    '\x7f',
    '\xe9',
    '\xc0\xae',
    '"',
    '|',
    '^',
    '{',
    '[',
    '`',
    '~',
    '!',
    '$',
    "'",
  ],
  ...['/api/v1/public/b/', '/api/v1/c/', '/api/v1/sys/', '/api/v1/help/', 'sys/dict/tree', 'http://x', 'x:80'],
]

type Mutation = (text: string) => string

const at = (text: string, where: number): number => Math.floor(where * (text.length + 1))
const escaped = (character: string): string => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`

const mutation: fc.Arbitrary<Mutation> = fc
  .record({
    kind: fc.constantFrom('insert', 'insert', 'insert', 'escape', 'escape', 'case', 'drop', 'double', 'swap'),
    where: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    word: fc.constantFrom(...WORDS),
    times: fc.constantFrom(1, 1, 1, 2, 3),
    upper: fc.boolean(),
  })
  .map(
    ({ kind, where, word, times, upper }): Mutation =>
      text => {
        const i = at(text, where)
        const [before, character, after] = [text.slice(0, i), text.charAt(i), text.slice(i + 1)]
        if (kind === 'insert') return before + word + text.slice(i)
        if (kind === 'drop') return before + after
        if (kind === 'double') return before + character + character + after
        if (kind === 'case') return before + (upper ? character.toUpperCase() : character.toLowerCase()) + after
        if (kind === 'swap') return after + before + character
        if (character === '') return text
        const once = upper ? escaped(character).toUpperCase() : escaped(character)
        return before + once.replace('%', `%${'25'.repeat(times - 1)}`) + after
      },
  )

/** Few changes most of the time: many of them are refused for the first. */
const mutations = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Mutation[]>([]) },
  { weight: 6, arbitrary: fc.array(mutation, { minLength: 1, maxLength: 2 }) },
  { weight: 2, arbitrary: fc.array(mutation, { minLength: 3, maxLength: 6 }) },
)

const target = fc
  .tuple(base, mutations, fc.nat(5))
  .map(([text, changes, form]) => {
    const changed = changes.reduce((changing, change) => change(changing), text)
    // What does not begin with a slash is refused for that: it need not be most of all.
    return form === 0 || /^(?:\/|http:)/.test(changed) ? changed : `/${changed}`
  })
  // A line end would begin a header: framing has attacks of its own.
  .map(text => text.replace(/[\r\n ]/g, ''))
  .filter(text => text !== '')

/** Names that only the gateway may say to an upstream, or that concern one connection; in their folded form. */
export const RESERVED = [
  ...['x-login-id', 'x-login-type', 'x-login-extra', 'x-login-signature'],
  ...['x-http-method-override', 'x-http-method', 'x-method-override'],
  ...['forwarded', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-forwarded-port', 'x-forwarded-user'],
  ...['x-real-ip', 'x-original-url', 'x-rewrite-url', 'x-accel-redirect'],
  ...['script-name', 'x-script-name', 'daphne-root-path', 'x-vhm-root'],
  ...['keep-alive', 'te', 'trailer', 'upgrade', 'http2-settings', 'proxy-connection', 'proxy-authorization'],
]

const spelling = fc
  .tuple(fc.constantFrom(...RESERVED), fc.array(fc.nat(5), { minLength: 24, maxLength: 24 }))
  .map(([name, choices]) =>
    [...name]
      .map((character, i) => {
        const choice = choices[i % choices.length]!
        if (character === '-') return ['-', '-', '-', '_', '.', '_'][choice]!
        return choice % 2 === 0 ? character.toUpperCase() : character
      })
      .join(''),
  )

const space = fc.constantFrom('', ' ', ' ', ' ', '\t', '  ', ' \t ')

const header = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(spelling, space, space).map(([name, a, b]) => `${name}:${a}${FORGED}${b}`) },
  { weight: 1, arbitrary: spelling.map(name => `Connection: ${name}`) },
  { weight: 1, arbitrary: fc.tuple(spelling, spelling).map(names => `connection: close-not, ${names.join(' , ')}`) },
  { weight: 1, arbitrary: fc.constantFrom('Expect: 100-continue', 'Cookie: a=b', 'Origin: http://x', 'Accept: */*') },
)

const SMUGGLED = `GET /api/v1/sys/${FORGED} HTTP/1.1\r\nHost: x\r\n\r\n`
const content = fc.oneof(fc.constant(''), fc.constant('hello'), fc.constant(SMUGGLED), fc.string({ maxLength: 40 }))

const NO_BODY: Framing = { lines: [], bytes: '', body: '' }

const withLength = content.map(
  (body): Framing => ({
    lines: [`Content-Length: ${Buffer.byteLength(body)}`],
    bytes: latin1(body),
    body: latin1(body),
  }),
)

const withChunks = fc
  .tuple(
    content,
    fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 6 }),
    fc.boolean(),
    fc.constantFrom('', ';a', ';a="b"'),
  )
  .map(([text, sizes, upper, extension]): Framing => {
    const body = latin1(text)
    const chunks: string[] = []
    for (let rest = body, i = 0; rest !== ''; i++) {
      const part = rest.slice(0, sizes[i] ?? rest.length)
      const size = (upper ? '0' : '') + part.length.toString(16)
      chunks.push(`${upper ? size.toUpperCase() : size}${extension}\r\n${part}\r\n`)
      rest = rest.slice(part.length)
    }
    return { lines: ['Transfer-Encoding: chunked'], bytes: `${chunks.join('')}0${extension}\r\n\r\n`, body }
  })

/** Framing that no two readers agree on; the connection is over with it. */
const broken = fc
  .tuple(
    fc.constantFrom(
      ...['Content-Length: 0', 'Content-Length: 5', 'Content-Length: +5', 'Content-Length: 5, 5', 'Content-Length : 5'],
      ...['Transfer-Encoding: chunked', 'Transfer-Encoding: gzip, chunked', 'Transfer-Encoding : chunked'],
      ...['Transfer-Encoding:\x0bchunked', 'Transfer-Encoding: chunked\r\n folded', 'X-A: b\nContent-Length: 5'],
    ),
    fc.constantFrom(
      ...['Content-Length: 3', 'Content-Length: -1', 'Content-Length: 0x5', 'Transfer-Encoding: x', 'X-A: b\rX-B: c'],
      ...['Transfer-Encoding: chunked', 'content-length: 5', 'X-A: \0', 'X A: b', ': b', 'nonsense'],
    ),
    fc.constantFrom(
      '0\r\n\r\n',
      '5\r\nhello\r\n0\r\n\r\n',
      'hello',
      '-1\r\n',
      '5\nhello\n0\n\n',
      '5;\n\r\nhello\r\n0\r\n\r\n',
      '',
    ),
  )
  .map(([first, second, begin]): Framing => ({ lines: [first, second], bytes: begin + SMUGGLED, body: null }))

const latin1 = (text: string): string => Buffer.from(text).toString('latin1')

const framing = fc.oneof(
  { weight: 12, arbitrary: fc.constant(NO_BODY) },
  { weight: 3, arbitrary: withLength },
  { weight: 3, arbitrary: withChunks },
  { weight: 1, arbitrary: broken },
)

export const sentRequest: fc.Arbitrary<Sent> = fc.record({
  method: fc.constantFrom('GET', 'GET', 'GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'),
  target,
  token: fc.constantFrom<Proven>('none', 'CONSUMER', 'CONSUMER', 'BUSINESS', 'BUSINESS'),
  headers: fc.array(header, { maxLength: 4 }),
  framing,
})

/**
 * Whether the connection may be over with this request: it cannot be parsed; it asks to go on in another protocol, and
 * Node reads no further; or a body was announced and not requested. Then it is the last on its connection.
 */
export const endsConnection = ({ target, headers, framing }: Sent): boolean =>
  framing.body === null ||
  !/^\/[\x21-\x7e]*$/.test(target) ||
  headers.some(header => /^(?:upgrade|expect):/i.test(header))

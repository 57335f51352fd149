import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import t from 'tap'
import { ROOT } from './support/root.ts'

/*
 * The shape of src: floors whose imports point down, no circles, one file that knows each foreign library, one composition
 * root, functions that fit on a screen. An import of a type counts like any other.
 */

const SRC = join(ROOT, 'src')

interface Source {
  file: string
  text: string
}

interface Module extends Source {
  /** Files of src, by their path in it, and packages. */
  imports: string[]
}

const SOURCES: Source[] = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter(file => /\.(ts|js)$/.test(file))
  .map(file => ({ file: file.split(sep).join('/'), text: readFileSync(join(SRC, file), 'utf8') }))

const MODULES: Module[] = SOURCES.filter(({ file }) => file.endsWith('.ts')).map(source => ({
  ...source,
  imports: importsOf(source),
}))

function importsOf({ file, text }: Source): string[] {
  const found = text.matchAll(/^(?:import|export)\s[^'"]*?from\s+'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm)
  return [...found].map(match => {
    const from = (match[1] ?? match[2] ?? match[3])!
    if (!from.startsWith('.')) return from
    return relative(SRC, resolve(SRC, file, '..', from))
      .split(sep)
      .join('/')
  })
}

/** A folder of src, or a file that stands beside the folders. */
const roomOf = (file: string): string => file.split('/')[0]!.replace(/\.ts$/, '')

/** The rooms of src from the ground up. A room imports from floors below its own. */
const FLOORS: readonly (readonly string[])[] = [
  ['workarounds'],
  ['base'],
  ['session', 'metrics'],
  ['token'],
  ['event', 'gate'],
  ['settings'],
  ['store', 'account', 'provider'],
  ['side'],
  ['second-factor'],
  ['login', 'administration', 'upstream'],
  ['key'],
  ['journal'],
  ['http'],
  ['gateway'],
  ['process'],
  ['cli', 'package'],
  ['program'],
  ['main'],
]

const FLOOR_OF = new Map(FLOORS.flatMap((rooms, floor) => rooms.map(room => [room, floor] as const)))

t.test('every import points to a lower floor of src', async t => {
  for (const { file, imports } of MODULES) {
    const room = roomOf(file)
    const floor = FLOOR_OF.get(room)
    if (floor === undefined) t.fail(`${room} has no floor`)
    for (const from of imports.filter(from => from.endsWith('.ts'))) {
      const target = roomOf(from)
      t.ok(target === room || FLOOR_OF.get(target)! < floor!, `${file} imports ${from}`)
    }
  }
})

/**
 * The imports between the entries of one folder, each of which may be a file or a folder: what two files import of each
 * other counts where their paths part.
 */
function arrowsBetweenEntries(): Map<string, Set<string>> {
  const arrows = new Map<string, Set<string>>()
  for (const { file, imports } of MODULES) {
    for (const from of imports.filter(from => from.endsWith('.ts'))) {
      const [a, b] = [file.split('/'), from.split('/')]
      const parting = a.findIndex((part, depth) => part !== b[depth])
      const [entry, other] = [a.slice(0, parting + 1).join('/'), b.slice(0, parting + 1).join('/')]
      arrows.set(entry, (arrows.get(entry) ?? new Set()).add(other))
    }
  }
  return arrows
}

/** The arrows that lie on a circle: from their end one comes back to their beginning. */
function circular(arrows: Map<string, Set<string>>): string[] {
  const reachable = (from: string, seen = new Set<string>()): Set<string> => {
    for (const next of arrows.get(from) ?? []) if (!seen.has(next)) reachable(next, seen.add(next))
    return seen
  }
  const reached = new Map([...arrows.keys()].map(entry => [entry, reachable(entry)]))
  return [...arrows].flatMap(([entry, others]) =>
    [...others].filter(other => reached.get(other)?.has(entry)).map(other => `${entry} -> ${other}`),
  )
}

t.test('no files and no folders of src import each other in a circle', async t => {
  const arrows = arrowsBetweenEntries()
  t.same(circular(new Map([...arrows, ['a', new Set(['b'])], ['b', new Set(['a'])]])).slice(-2), ['a -> b', 'b -> a'])
  t.same(circular(arrows), [])
})

/** Lines of a function from its first to its last, empty ones and comments included. */
const MAX_LINES = 60
/** The first line of a function, or the last of its head; the formatter puts its end below its beginning. */
const OPENS = /(?:\bfunction\b.*|=>|\)|\): [^=]*) [{([]{1,2}$/
const IS_NO_FUNCTION = /^\s*(?:\} )?(?:else |if|for|while|switch|catch|do|try)\b/

/** The functions of a file that are too long, as `file:line lines`. */
function longFunctions({ file, text }: Source): string[] {
  const lines = text.split('\n')
  const indentOf = (line: string | undefined): number => (line === undefined ? -1 : line.search(/\S|$/))
  return lines.flatMap((line, index) => {
    if (!OPENS.test(line) || IS_NO_FUNCTION.test(line)) return []
    const indent = indentOf(line)
    let first = index
    if (/^\s*\)/.test(line)) while (first > 0 && (first === index || indentOf(lines[first]) > indent)) first--
    const length = lines.slice(index + 1).findIndex(below => indentOf(below) === indent && /^\s*[})\]]/.test(below))
    const total = index - first + length + 2
    return total > MAX_LINES ? [`${file}:${first + 1} ${total}`] : []
  })
}

t.test(`no function has more than ${MAX_LINES} lines`, async t => {
  const long = [
    'function long(',
    '  name: string,',
    '): void {',
    ...Array.from({ length: 57 }, () => '  step()'),
    '}',
    '',
  ]
  t.same(longFunctions({ file: 'a.ts', text: long.join('\n') }), ['a.ts:1 61'])
  t.same(longFunctions({ file: 'a.ts', text: long.slice(0, -3).concat('}').join('\n') }), [])
  t.same(SOURCES.flatMap(longFunctions), [])
})

/** Packages and the files that may know them. */
const KNOWERS: Record<string, RegExp> = {
  fastify: /^(http\/.+|store\/redis\/connection\/connections)\.ts$/,
  '@fastify/ajv-compiler': /^http\/server\/validation\.ts$/,
  '@fastify/helmet': /^http\/pages\/security-headers\.ts$/,
  '@fastify/swagger': /^http\/pages\/openapi\/openapi\.ts$/,
  '@fastify/cors': /^http\/public-listener\.ts$/,
  '@fastify/http-proxy': /^http\/forward\/forward\.ts$/,
  '@fastify/jwt': /^http\/jwt\.ts$/,
  '@fastify/redis': /^store\/redis\/connection\/connections\.ts$/,
  pg: /^account\/sql\/postgres\.ts$/,
  ldapts: /^account\/ldap\/connection\.ts$/,
  'mysql2/promise': /^(account\/sql\/mysql|workarounds\/mysql2-.+)\.ts$/,
  undici: /^(event\/webhooks|account\/http|provider\/exchange)\.ts$/,
  ioredis: /^(store\/redis\/|workarounds\/ioredis-).+\.ts$/,
  lmdb: /^(store\/embedded\/|workarounds\/lmdb-).+\.ts$/,
  'sm-crypto': /^login\/sm2\/[^/]+\.ts$/,
  'svg-captcha': /^login\/captcha\/outlines\.ts$/,
  '@zxcvbn-ts/language-common': /^account\/common-passwords\.ts$/,
  '@resvg/resvg-js': /^(login\/captcha\/image|second-factor\/qr)\.ts$/,
  jose: /^(token\/assertion|provider\/.+)\.ts$/,
  'openid-client': /^provider\/.+\.ts$/,
  otpauth: /^second-factor\/totp\.ts$/,
  qr: /^second-factor\/qr\.ts$/,
  'ipaddr.js': /^login\/protection\/network\.ts$/,
  bcrypt: /^account\/hash\.ts$/,
  'prom-client': /^metrics\/[^/]+\.ts$/,
  pino: /^base\/log\/log\.ts$/,
  yaml: /^(settings\/notation\/yaml-(document|faults)|account\/file\/changed-text)\.ts$/,
  'js-yaml': /^settings\/notation\/yaml(-document|-faults)?\.ts$/,
  'json-schema-to-ts': /^(settings\/notation\/notation|http\/.+)\.ts$/,
}

t.test('a third-party library is imported only by the files that wrap it', async t => {
  for (const { file, imports } of MODULES) {
    for (const from of imports) {
      if (from.endsWith('.ts') || from.startsWith('node:')) continue
      t.match(file, KNOWERS[from] ?? /^$/, `${file} imports ${from}`)
    }
  }
})

t.test('only workarounds use private parts of Node, V8 and libraries, and each says where and until when', async t => {
  const secret = /\b_handle\b|\b_dump\b|internalMessage|setFlagsFromString|nativeAddon|Symbol\(fastify/
  for (const { file, text } of MODULES) {
    if (!file.startsWith('workarounds/')) t.notMatch(text, secret, file)
    else
      for (const row of ['Seen in', 'Upstream', '(Without it|Gains)', 'Until'])
        t.match(text, new RegExp(`^ \\* ${row}: .`, 'm'), file)
  }
})

t.test('only the composition root constructs stores, sides and listeners', async t => {
  const constructs = /\b(createSide|createServer|openStore|createUpstreamTable|openLogin)\(/
  for (const { file, text } of MODULES) {
    if (roomOf(file) === 'gateway' || file.startsWith('cli')) continue
    const calls = text.split('\n').filter(line => constructs.test(line) && !/function |import |^\s*\*/.test(line))
    t.same(calls, [], file)
  }
})

t.test('only the clock reads the time', async t => {
  for (const { file, text } of MODULES)
    if (file !== 'base/clock.ts') t.notMatch(text, /\bDate\.now\(\)|new Date\(\)/, file)
})

t.test('only pauses between attempts use predictable random numbers', async t => {
  const pauses = /^(event\/webhooks|store\/redis\/connection\/options)\.ts$/
  for (const { file, text } of MODULES) if (!pauses.test(file)) t.notMatch(text, /Math\.random\(/, file)
})

t.test('profiles and rules are columns of their tables, and code never compares their numbers', async t => {
  for (const { file, text } of MODULES) t.notMatch(text, /(profile|rule|number) [!=]== \d/, file)
})

t.test('every path that src/README.md names exists, and every folder of src is named there', async t => {
  const text = readFileSync(join(SRC, 'README.md'), 'utf8')
  const named = [...text.matchAll(/`([\w./-]*(?:\/|\.(?:ts|md|yaml|json)))`/g)].map(([, path]) => path!)
  t.ok(named.length > 80, `${named.length} paths`)
  for (const path of new Set(named)) t.ok(existsSync(join(SRC, path)), path)
  const folders = readdirSync(SRC, { withFileTypes: true }).filter(entry => entry.isDirectory())
  for (const { name } of folders)
    t.ok(
      named.some(path => path.startsWith(`${name}/`)),
      name,
    )
})

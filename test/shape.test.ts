import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import t from 'tap'
import { ROOT } from './support/root.ts'

/*
 * The law of imports: arrows point towards the domain, one foreign library has one file that knows it, and only the
 * composition root constructs.
 */

const SRC = join(ROOT, 'src')

interface Module {
  file: string
  room: string
  text: string
  imports: { from: string; typeOnly: boolean }[]
}

const MODULES: Module[] = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.ts'))
  .map(file => {
    const text = readFileSync(join(SRC, file), 'utf8')
    return { file: file.split(sep).join('/'), room: roomOf(file), text, imports: importsOf(file, text) }
  })

function roomOf(file: string): string {
  return file.includes(sep) ? file.slice(0, file.indexOf(sep)) : file.replace('.ts', '')
}

function importsOf(file: string, text: string): Module['imports'] {
  return [
    ...text.matchAll(
      /^(?:import|export)\s+(type\s)?[^'"]*?from\s+'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm,
    ),
  ].map(match => {
    const from = (match[2] ?? match[3] ?? match[4])!
    const local = from.startsWith('.')
      ? relative(SRC, resolve(SRC, file, '..', from))
          .split(sep)
          .join('/')
      : from
    return { from: local, typeOnly: match[1] !== undefined }
  })
}

/** What each room may import from, beside itself; files at the top are rooms of their own name. */
const ARROWS: Record<string, string[]> = {
  clock: [],
  refusal: [],
  remembering: [],
  session: ['refusal'],
  timestamp: [],
  turns: ['refusal'],
  signature: [],
  log: [],
  metrics: ['session', 'event', 'side', 'store', 'upstream'],
  event: ['session', 'signature', 'clock', 'log', 'side'],
  gate: ['session', 'refusal', 'side', 'token'],
  profile: ['session', 'gate'],
  token: ['clock'],
  side: ['session', 'timestamp', 'clock', 'refusal', 'event', 'profile', 'token', 'store'],
  store: ['session', 'timestamp', 'clock', 'refusal', 'log', 'config', 'side'],
  account: ['session', 'signature', 'turns', 'clock', 'refusal', 'log', 'config', 'side'],
  login: ['session', 'turns', 'timestamp', 'clock', 'refusal', 'event', 'log', 'config', 'side', 'store', 'account'],
  administration: ['session', 'timestamp', 'clock', 'refusal', 'side', 'store', 'token'],
  upstream: ['session', 'signature', 'remembering', 'clock', 'refusal', 'log', 'config', 'gate', 'side', 'token'],
  config: ['session', 'clock', 'refusal', 'profile', 'account', 'login', 'upstream', 'gate'],
  http: [
    'session',
    'remembering',
    'clock',
    'refusal',
    'log',
    'profile',
    'config',
    'gate',
    'token',
    'side',
    'store',
    'account',
    'login',
    'upstream',
    'metrics',
    'administration',
  ],
  business: ['session', 'side'],
  client: ['session', 'side'],
}

/** The rooms above all others: they see everything. */
const ROOTS = new Set(['gateway', 'main', 'cli', 'index', 'process'])

for (const { file, room, imports } of MODULES) {
  if (ROOTS.has(room)) continue
  t.test(`${file} imports only towards the domain`, async t => {
    const allowed = ARROWS[room]
    if (allowed === undefined) return t.fail(`the room ${room} is not on the map`)
    for (const { from, typeOnly } of imports) {
      if (!from.endsWith('.ts')) continue
      const target = from.includes('/') ? from.slice(0, from.indexOf('/')) : from.replace('.ts', '')
      // A type alone makes no arrow at run time; the contracts of settings are read everywhere.
      t.ok(target === room || allowed.includes(target) || (typeOnly && target === 'config'), `${file} imports ${from}`)
    }
  })
}

/** Packages and the files that may know them. */
const KNOWERS: Record<string, RegExp> = {
  fastify: /^http\//,
  '@fastify/cors': /^http\/edge\.ts$/,
  '@fastify/http-proxy': /^http\/forward\/routes\.ts$/,
  '@fastify/jwt': /^http\/jwt\.ts$/,
  '@fastify/redis': /^http\/internal\.ts$/,
  pg: /^account\/sql\/postgres\.ts$/,
  'mysql2/promise': /^account\/sql\/mysql\.ts$/,
  undici: /^(event\/webhooks|account\/http)\.ts$/,
  ioredis: /^store\/redis\/.+\.ts$/,
  lmdb: /^store\/embedded\/.+\.ts$/,
  'sm-crypto': /^login\/sm2\/[^/]+\.ts$/,
  'svg-captcha': /^login\/captcha\/outlines\.ts$/,
  '@resvg/resvg-js': /^login\/captcha\/image\.ts$/,
  piscina: /^login\/[^/]*\.ts$/,
  bcrypt: /^account\/hash\.ts$/,
  'prom-client': /^metrics\/[^/]+\.ts$/,
  pino: /^log\.ts$/,
  yaml: /^(config\/source\/yaml|account\/file\/(edit|document))\.ts$/,
  'json-schema-to-ts': /^(config\/schema|http)\/.+\.ts$/,
}

t.test('a foreign library is known by the files that wrap it, and by no other', async t => {
  for (const { file, imports } of MODULES) {
    for (const { from } of imports) {
      if (from.endsWith('.ts') || from.startsWith('node:')) continue
      t.match(file, KNOWERS[from] ?? /^$/, `${file} imports ${from}`)
    }
  }
})

t.test('only the composition root constructs stores, sides and listeners', async t => {
  const constructs = /\b(createSide|createServer|openStore|createUpstreamTable|openLogin)\(/
  for (const { file, text } of MODULES) {
    if (file === 'gateway.ts' || file.startsWith('cli')) continue
    const calls = text.split('\n').filter(line => constructs.test(line) && !/function |import |^\s*\*/.test(line))
    t.same(calls, [], file)
  }
})

t.test('nobody but the clock reads the time', async t => {
  for (const { file, text } of MODULES) if (file !== 'clock.ts') t.notMatch(text, /\bDate\.now\(\)|new Date\(\)/, file)
})

t.test('nothing but a pause is left to numbers that can be foretold', async t => {
  const pauses = /^(event\/webhooks|store\/redis\/client)\.ts$/
  for (const { file, text } of MODULES) if (!pauses.test(file)) t.notMatch(text, /Math\.random\(/, file)
})

t.test('profiles and rules are columns of their tables, and code never compares their numbers', async t => {
  for (const { file, text } of MODULES) t.notMatch(text, /(profile|rule|number) [!=]== \d/, file)
})

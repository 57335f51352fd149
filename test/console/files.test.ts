import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import t from 'tap'
import { EVENT_NAMES } from '../../src/event/event.ts'
import { CONSOLE_FILES, CONSOLE_PATHS, DOCUMENT_FILES, SIGN_IN_FILES, signInPagesOf } from '../../src/gate/own-pages.ts'
import { END_REASONS } from '../../src/session/end-reason.ts'
import { call } from '../support/client.ts'
import { openFixture, startFixture } from '../support/gateway-fixture.ts'
import { newcomerFolder, startGateway } from '../support/process.ts'
import { ROOT } from '../support/root.ts'
import { TEXTS } from './texts.ts'

const FOLDER = join(ROOT, 'src/console')
/** Of all folders of the page. */
const FILES = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
  .filter(file => /\.\w+$/.test(file))
  .map(file => file.replaceAll(sep, '/'))

/** The modules that a module loads, and those that they load. */
function loadedBy(module: string, known = new Set<string>()): Set<string> {
  if (known.has(module)) return known
  known.add(module)
  const text = readFileSync(join(FOLDER, module), 'utf8')
  for (const [, specifier] of text.matchAll(
    /(?:^} from|^import|^import .* from|new URL\() ?'(\.?\.?\/?[\w./-]+\.js)'/gm,
  ))
    loadedBy(join(dirname(module), specifier!).replaceAll(sep, '/'), known)
  return known
}

/** The style sheets that one imports. */
const importedBy = (sheet: string): string[] =>
  [...readFileSync(join(FOLDER, sheet), 'utf8').matchAll(/^@import "(.+)";$/gm)].map(([, imported]) =>
    join(dirname(sheet), imported!).replaceAll(sep, '/'),
  )

const BUILT = join(ROOT, 'dist/console')

/** The files that a built file names: a document its scripts and style sheets, a script the modules of its workers. */
function namedBy(file: string): string[] {
  if (!existsSync(join(BUILT, file))) return []
  const text = readFileSync(join(BUILT, file), 'utf8')
  const named = [...text.matchAll(/(?:(?:src|href)=|new URL\()"(?:[\w./-]*\/)?([\w-]+\.(?:js|css))"/g)].map(
    ([, name]) => name!,
  )
  return [...named, ...named.flatMap(namedBy)]
}

t.test('the lists of open paths hold what the pages need, and nothing else', async t => {
  t.same([...CONSOLE_FILES], namedBy('index.html').sort())
  const ofSignIn = ['sign-in/page.html', 'sign-in/sign-out.html'].flatMap(namedBy)
  t.same([...SIGN_IN_FILES], [...new Set(ofSignIn)].sort())
})

t.test('every document says what to do where its script does not arrive, in words that stand once', async t => {
  const words = readFileSync(join(FOLDER, 'late.html'), 'utf8').match(/<p.*<\/p>/g)!
  t.equal(words.length, 2, 'in both languages')
  const documents = FILES.filter(file => file.endsWith('.html') && file !== 'late.html')
  t.equal(documents.length, 3)
  for (const file of documents) {
    const [source, built] = [FOLDER, BUILT].map(folder => readFileSync(join(folder, file), 'utf8'))
    t.ok(
      words.every(line => built!.includes(line)),
      file,
    )
    t.notMatch(source, 'reload the page', file)
  }
})

t.test('no file of the pages is unused', async t => {
  const sheets = ['main.css', 'sign-in/sign-in.css']
  const modules = ['main.js', 'sign-in/page.js', 'sign-in/sign-out.js'].flatMap(module => [...loadedBy(module)])
  const used = new Set([...sheets, ...sheets.flatMap(importedBy), ...modules])
  const isUnused = (file: string): boolean => /\.(?:js|css)$/.test(file) && !used.has(file)
  t.same(FILES.filter(isUnused), [])
})

t.test('the page never makes markup of data, and runs nothing but its files', async t => {
  for (const file of FILES) {
    const text = readFileSync(join(FOLDER, file), 'utf8')
    t.notMatch(
      text,
      /innerHTML|outerHTML|insertAdjacent|document\.write|createContextualFragment|DOMParser|\beval\b|new Function|javascript:/,
      file,
    )
    t.notMatch(text, /https?:\/\/(?!www\.w3\.org\/)/, `${file} names no other server`)
    if (file.endsWith('.html')) t.notMatch(text, /<script(?![^>]*\bsrc=)|<style|\bstyle=|\son\w+=/, file)
  }
})

t.test('both languages have every text, with the same placeholders', async t => {
  const valuesOf = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).sort()
  t.same(Object.keys(TEXTS.zh), Object.keys(TEXTS.en))
  for (const [name, text] of Object.entries(TEXTS.en)) {
    const other = TEXTS.zh[name] ?? ''
    t.same(valuesOf(other), valuesOf(text), name)
    t.not(other, '', name)
  }
})

/** The files of texts: each part of the page has one, and `texts.js` joins them. */
const TEXT_FILES = FILES.filter(file => /^export const zh/m.test(readFileSync(join(FOLDER, file), 'utf8')))

t.test('no text stands in two files', async t => {
  const files = await Promise.all(TEXT_FILES.map(file => import(`${FOLDER}/${file}`) as Promise<{ en: object }>))
  const names = files.flatMap(({ en }) => Object.keys(en))
  t.same([...new Set(names)], names)
  t.same(names.sort(), Object.keys(TEXTS.en).sort())
})

t.test('every event of the journal has a name', async t => {
  const named = Object.keys(TEXTS.en).filter(name => name.startsWith('event_'))
  t.same(named.sort(), EVENT_NAMES.map(name => `event_${name}`).sort())
})

t.test('the sign-in names every reason for which a session ends', async t => {
  const named = Object.keys(TEXTS.en).filter(name => name.startsWith('because_'))
  t.same(named.sort(), END_REASONS.map(reason => `because_${reason}`).sort())
})

t.test('every text is used', async t => {
  const sources = FILES.filter(file => file.endsWith('.js') && !TEXT_FILES.includes(file))
    .map(file => readFileSync(join(FOLDER, file), 'utf8'))
    .join('\n')
  // Such as `theme_${name}`, what the gateway names, and the names of the pages.
  const made = [/`(\w+)_\$\{\w+\}`/g, /inWords\('(\w+)'/g].flatMap(form =>
    [...sources.matchAll(form)].map(([, start]) => `${start}_`),
  )
  const pages = [...sources.matchAll(/^ {2}(\w+): \{\s*addresses: /gm)].map(([, name]) => name)
  t.ok(made.length > 0 && pages.length > 0)
  for (const name of Object.keys(TEXTS.en)) {
    const isUsed = sources.includes(`'${name}'`) || pages.includes(name) || made.some(start => name.startsWith(start))
    t.ok(isUsed, name)
  }
})

t.test('the pages are public under their exact paths, are never forwarded, and carry security headers', async t => {
  const fixture = await openFixture(t)
  for (const path of ['/docs', '/redoc', ...DOCUMENT_FILES, ...CONSOLE_PATHS.filter(path => path !== '/console')]) {
    const { status, headers, text } = await fixture.get(path)
    t.equal(status, 200, path)
    t.match(headers['content-security-policy'], /^default-src 'none';script-src 'self';style-src 'self'/, path)
    t.notMatch(headers['content-security-policy'], /unsafe|https?:/, path)
    t.match(headers, { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }, path)
    t.notMatch(text, fixture.settings.jwt.secret_key)
    t.notMatch(text, fixture.settings.internal.secret)
  }
  t.match(await fixture.get('/console'), { status: 302, headers: { location: 'console/' } })
  for (const path of [
    '/console/x',
    '/console/main.js/',
    '/console/index.html',
    '/consolex',
    '/Console/',
    '/docs/',
    '/docs/x',
    '/redoc/',
  ]) {
    t.equal((await fixture.get(path)).status, 404, path)
  }
  t.equal((await fixture.post('/console/', {})).status, 405)
  t.same(fixture.upstream.requests, [])
})

t.test('a browser with a cached file gets 304', async t => {
  const fixture = await openFixture(t)
  const get = (path: string, headers: Record<string, string>, method = 'GET') =>
    call(fixture.url, { path, headers, method })
  const { headers, text } = await get('/console/main.js', {})
  t.equal(headers['cache-control'], 'no-cache')
  const again = await get('/console/main.js', { 'if-none-match': `"other", W/${headers.etag}` })
  t.equal(again.status, 304)
  t.equal(again.text, '')
  t.equal(again.headers.etag, headers.etag)
  t.equal((await get('/console/main.js', { 'if-none-match': '"other"' })).status, 200)
  const head = await get('/console/main.js', {}, 'HEAD')
  t.match(head, {
    status: 200,
    text: '',
    headers: { 'content-length': String(Buffer.byteLength(text)), etag: headers.etag },
  })

  const zipped = await fetch(`${fixture.url}/console/main.js`)
  t.equal(zipped.headers.get('content-encoding'), 'gzip')
  t.equal(await zipped.text(), text)
  t.not(zipped.headers.get('etag'), headers.etag, 'another encoding is another tag')
  t.equal((await get('/console/main.js', { 'accept-encoding': 'gzip;q=0' })).headers['content-encoding'], undefined)
})

t.test('with cors configured, cached pages vary by origin', async t => {
  const fixture = await openFixture(t, { config: { cors: { origin: ['https://admin.example', 'https://b.example'] } } })
  const headers = { origin: 'https://admin.example' }
  const answer = await call(fixture.url, { path: '/openapi.json', headers })
  t.match(answer.headers, { vary: 'Origin, Accept-Encoding', 'access-control-allow-origin': 'https://admin.example' })
  t.equal((await fixture.get('/openapi.json')).headers.vary, 'Origin, Accept-Encoding')
})

t.test('the page gets the settings that it needs, in both profiles', async t => {
  for (const [profile, key] of [
    [1, 'sm2/public-key'],
    [2, 'sm2-public-key'],
  ] as const) {
    const jwt = profile === 2 ? { jwt: { token_name: 'X-Token' } } : {}
    const config = { session_administration: true, api_versions: [3, 1], timezone: 'Asia/Shanghai', ...jwt }
    const fixture = await startFixture({ profile, config })
    t.match((await fixture.get('/console/settings.json')).json(), {
      api: '/api/v3',
      section: 'b',
      sm2_public_key: key,
      keeps_cookie: false,
      token_name: profile === 2 ? 'X-Token' : 'Authorization',
      timezone: 'Asia/Shanghai',
      passwords: { min_length: 10, classes: 0, common: 'refuse' },
    })
    await fixture.close()
  }
})

t.test('the built gateway has all of its pages', async t => {
  const { folder, remove } = newcomerFolder()
  t.teardown(remove)
  const gateway = await startGateway(folder, { BROWSER__BUSINESS: 'on' })
  t.teardown(() => gateway.end('SIGKILL'))
  const paths = [...DOCUMENT_FILES, ...CONSOLE_PATHS, ...signInPagesOf(['BUSINESS'], false)]
  for (const path of ['/docs', '/redoc', '/favicon.ico', '/openapi.json', ...paths]) {
    const { status } = await fetch(gateway.url + path)
    t.equal(status, 200, path)
  }
})

t.test('the page is not found if it is off', async t => {
  const fixture = await startFixture({ config: { console: false } })
  for (const path of CONSOLE_PATHS) t.equal((await fixture.get(path)).status, 404, path)
  t.equal((await fixture.get('/docs')).status, 200, 'the documents are there')
  await fixture.close()
})

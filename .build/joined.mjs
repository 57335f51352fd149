// The part of .build/tests.mjs that joins what nearly every test file loads: into `.compiled/joined.cjs` the modules of src and
// of test/support with their packages, into another file tap. To find and compile these thousand files takes half a second
// of CPU per process; test/joined.cjs loads the two, which V8 has compiled before, in a fifth of that. In the place of each
// module stands one of the same exports that leads there, so that a process has each module once.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { build } from 'esbuild'
import { SCRIPT_FORM } from './script-form.mjs'
import { mapOf } from './source-map.mjs'

const root = dirname(import.meta.dirname)
const dist = join(root, 'dist')
const compiled = join(root, '.compiled')
/** Tests import `../src/x.js`, which is `dist/x.js`. */
const sources = join(compiled, 'src')
const tests = join(compiled, 'test')

/** Packages with native code or files of their own, those that only few tests load, and one whose classes tests compare. */
const EXTERNAL = [
  'ioredis',
  'fast-check',
  '@resvg/resvg-js',
  'bcrypt',
  'ldapts',
  'lmdb',
  'mysql2',
  'oidc-provider',
  'pg',
  'playwright-core',
  'svg-captcha',
  '@zxcvbn-ts/language-common',
]

/** Entries wait for what they load, and scripts of pages run in browsers. */
const APART =
  /^dist\/(?:(?:bundle|console|documents|vendor)\/|(?:package\/index|main|process\/worker|login\/helpers\/main)\.js$)/

const nameOf = path => relative(root, path).replaceAll(sep, '/')
const scriptsIn = folder =>
  readdirSync(folder, { recursive: true })
    .filter(name => name.endsWith('.js'))
    .map(name => join(folder, name))

/** The modules of tests that these scripts import, and they themselves. */
function reachableFrom(scripts, found = new Set()) {
  for (const script of scripts) {
    if (found.has(script) || !script.startsWith(tests + sep)) continue
    found.add(script)
    const imported = readFileSync(script, 'utf8').matchAll(/ from '(\.[^']+)'/g)
    reachableFrom(
      Array.from(imported, ([, path]) => join(dirname(script), path)),
      found,
    )
  }
  return found
}

const ofSources = scriptsIn(dist).map(nameOf)
const ofTests = [...reachableFrom(scriptsIn(join(tests, 'support')))].map(nameOf)
const names = [...ofSources.filter(name => !APART.test(name)), ...ofTests]
function resolveSource({ path, resolveDir }) {
  const target = join(resolveDir, path)
  return target.startsWith(sources + sep) ? { path: join(dist, relative(sources, target)) } : undefined
}

/** A module asks for its own address, or a package for its own file, to find another one beside it. */
function loadModule({ path }) {
  const text = readFileSync(path, 'utf8')
  const name = nameOf(path)
  if (path.includes(`${sep}node_modules${sep}`)) {
    if (!/\b__(?:dir|file)name\b/.test(text) || /^(?:import|export) /m.test(text)) return undefined
    return { contents: `var __filename = pathOf('${name}'), __dirname = pathOf('${dirname(name)}');${text}` }
  }
  const contents = text
    .replaceAll('import.meta.url', `urlOf('${name}')`)
    .replaceAll('import.meta.dirname', `pathOf('${dirname(name)}')`)
  return { contents }
}

const modules = {
  name: 'modules',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\/src\// }, resolveSource)
    onLoad({ filter: /\.js$/, namespace: 'file' }, loadModule)
  },
}

async function joinInto(file, entry) {
  const { outputFiles } = await build({
    stdin: { contents: entry.join('\n'), resolveDir: root },
    ...SCRIPT_FORM,
    external: EXTERNAL,
    plugins: [modules],
    banner: { js: '(function (exports, require, pathOf, urlOf) {' },
    footer: { js: '})' },
    sourcemap: true,
    outfile: file,
    absWorkingDir: root,
  })
  const [map, script] = outputFiles.map(({ text }) => text)
  mkdirSync(dirname(file), { recursive: true })
  for (const name of readdirSync(dirname(file))) if (name.endsWith('.cache')) rmSync(join(dirname(file), name))
  const isOwn = source => !source.includes('node_modules/')
  writeFileSync(`${file}.map`, mapOf(JSON.parse(map), isOwn))
  writeFileSync(file, `// See .build/joined.mjs.\n${script}`)
}

await joinInto(join(compiled, 'joined.cjs'), [
  `require('./dist/process/stack-traces.js').nameSources(pathOf('.compiled/joined.cjs'))`,
  ...names.map(name => `exports['${name}'] = () => require('./${name}')`),
])
// tap leaves out of the places of failures what lies in such a folder.
await joinInto(join(compiled, 'node_modules/@tapjs/joined.cjs'), [`exports.tap = () => require('tap')`])
await standIn()

/** Writes the modules that lead to the joined ones. */
async function standIn() {
  const { metafile } = await build({
    entryPoints: names.map(name => join(root, name)),
    bundle: false,
    format: 'esm',
    metafile: true,
    write: false,
    outdir: compiled,
    outbase: root,
    absWorkingDir: root,
  })
  const exports = new Map(Object.values(metafile.outputs).map(({ entryPoint, exports }) => [entryPoint, exports]))
  rmSync(sources, { recursive: true, force: true })
  for (const path of ofSources) {
    const place = join(sources, relative('dist', path))
    write(
      place,
      exports.has(path) ? leadTo(path, place, exports.get(path)) : `export * from '${between(place, path)}'\n`,
    )
  }
  for (const path of ofTests) write(join(root, path), leadTo(path, join(root, path), exports.get(path)))
  const tap = join(compiled, 'tap.js')
  write(tap, leadTo('tap', tap, ['default']))
  for (const path of scriptsIn(tests)) {
    const text = readFileSync(path, 'utf8')
    const led = text.replace(/^import t from 'tap';$/m, `import t from '${between(path, nameOf(tap))}';`)
    if (led !== text) write(path, led)
  }
}

function between(from, name) {
  const path = relative(dirname(from), join(root, name)).replaceAll(sep, '/')
  return path.startsWith('.') ? path : `./${path}`
}

function leadTo(name, place, exports) {
  const named = exports.filter(name => name !== 'default')
  const lines = [`import $load from '${between(place, 'test/joined.cjs')}'`, `const $module = $load('${name}')`]
  if (named.length > 0) lines.push(`export const { ${named.join(', ')} } = $module`)
  if (exports.includes('default')) lines.push('export default $module.default')
  return `${lines.join('\n')}\n`
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

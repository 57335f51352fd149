// The part of `npm run build` that joins the compiled modules and most packages into `dist/bundle/gateway.cjs`, which
// starts faster; src/process/bundle.ts loads it. That module itself is in the two small files that Node runs: `program.cjs`
// and, for a worker, `worker.cjs`. Only this step needs esbuild.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { build } from 'esbuild'
import { SCRIPT_FORM } from './script-form.mjs'
import { mapOf } from './source-map.mjs'

const root = dirname(import.meta.dirname)
const dist = join(root, 'dist')
const folder = join(dist, 'bundle')
const file = join(folder, 'gateway.cjs')

/** The modules whose exports a process starts with, by the names that src/process/bundle.ts knows. */
const ENTRIES = {
  cli: './cli/cli.js',
  primary: './cli/cli.js',
  serve: './process/serve.js',
  library: './package/library.js',
}

/** The files that Node runs. */
const PROGRAMS = { program: './program.js', worker: './process/worker.js' }

/** Packages with native code or files of their own, and `undici`, which only few gateways load. */
const EXTERNAL = ['@resvg/resvg-js', 'bcrypt', 'svg-captcha', 'undici']

/** Packages that only few gateways load, or only some time after the start: each in a file of its own, by the name that the modules import. */
const SEPARATE = {
  pg: 'pg.cjs',
  'mysql2/promise': 'mysql2.cjs',
  ldapts: 'ldapts.cjs',
  '@zxcvbn-ts/language-common': 'common-passwords.cjs',
  otpauth: 'otpauth.cjs',
  jose: 'jose.cjs',
  'openid-client': 'openid-client.cjs',
  qr: 'qr.cjs',
}

const NAME_SOURCES = `require('./process/stack-traces.js').nameSources(require('node:url').fileURLToPath(urlOf('bundle/gateway.cjs')))`

const entry = Object.entries(ENTRIES).map(([name, module]) => {
  // The traces of a program that embeds the gateway are its own.
  const before = name === 'library' ? '' : `${NAME_SOURCES}; `
  return `exports.${name} = () => { ${before}return import('${module}') }`
})

/** A module asks for its own address to find a file beside it. In the bundle `urlOf` knows where the module stands. */
const ADDRESS = 'import.meta.url'
function loadModule({ path }) {
  const contents = () => readFileSync(path, 'utf8')
  if (path.startsWith(dist + sep)) {
    const address = `urlOf('${relative(dist, path).replaceAll(sep, '/')}')`
    return { contents: contents().replaceAll(ADDRESS, address) }
  }
  if (!LMDB.test(path)) return undefined
  return { contents: `import { lmdbAddress } from 'lmdb address'\n${contents().replaceAll(ADDRESS, 'lmdbAddress')}` }
}

/**
 * lmdb finds the package with its native code from a folder with its name. That of msgpackr is for an encoding that the store
 * does not use.
 */
const LMDB = /[\\/]node_modules[\\/]lmdb[\\/]/
const NATIVE = {
  'lmdb address': `exports.lmdbAddress = urlOf('bundle/lmdb/index.js')`,
  'msgpackr-extract': 'module.exports = null',
}
const native = {
  name: 'native code',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(?:lmdb address|msgpackr-extract)$/ }, ({ path }) => ({ path, namespace: 'native' }))
    onLoad({ filter: /.*/, namespace: 'native' }, ({ path }) => ({ contents: NATIVE[path] }))
  },
}

/** @fastify/reply-from loads its HTTP client, a megabyte, which forwarding does not use. */
const UNUSED_CLIENT = /@fastify[\\/]reply-from/
const lazyClient = {
  name: 'lazy client',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^undici$/ }, ({ importer, resolveDir }) =>
      UNUSED_CLIENT.test(importer) ? { path: 'undici', namespace: 'lazy', pluginData: resolveDir } : undefined,
    )
    onLoad({ filter: /.*/, namespace: 'lazy' }, ({ path, pluginData }) => ({
      contents: `module.exports = new Proxy({}, { get: (_, name) => require('${path}')[name] })`,
      resolveDir: pluginData,
    }))
  },
}

const modules = { name: 'modules', setup: ({ onLoad }) => onLoad({ filter: /\.js$/, namespace: 'file' }, loadModule) }

const separate = {
  name: 'separate',
  setup: ({ onResolve }) =>
    onResolve({ filter: new RegExp(`^(?:${Object.keys(SEPARATE).join('|')})$`) }, ({ path }) => ({
      path: `./${SEPARATE[path]}`,
      external: true,
    })),
}

const { outputFiles, metafile } = await build({
  stdin: { contents: entry.join('\n'), resolveDir: dist },
  ...SCRIPT_FORM,
  external: EXTERNAL,
  plugins: [modules, lazyClient, native, separate],
  sourcemap: 'external',
  metafile: true,
  outfile: file,
  absWorkingDir: root,
})

const inputs = Object.keys(metafile.inputs)
const [map, bundle] = outputFiles.map(({ text }) => text)
const whole = `// ${createHash('sha256').update(bundle).digest('hex')}\n${bundle}`
// What V8 compiled of the same bundle stays.
if (!existsSync(file) || readFileSync(file, 'utf8') !== whole) rmSync(folder, { recursive: true, force: true })
mkdirSync(join(folder, 'lmdb'), { recursive: true })
writeFileSync(join(folder, 'lmdb/package.json'), '{ "name": "lmdb" }\n')
writeFileSync(
  `${file}.map`,
  mapOf(JSON.parse(map), source => source.includes('/src/')),
)
writeFileSync(file, whole)
for (const [name, to] of Object.entries(SEPARATE)) await buildSeparately(name, join(folder, to))
writeFileSync(join(folder, 'LICENSES'), licences())
for (const [name, module] of Object.entries(PROGRAMS)) await buildProgram(name, module)

/** What such a file imports while it runs is a module: it does so only without a bundle. */
async function buildProgram(name, module) {
  const outside = {
    name: 'outside',
    setup: ({ onResolve }) =>
      onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) =>
        kind === 'dynamic-import'
          ? { path: `./${relative(folder, join(resolveDir, path))}`, external: true }
          : undefined,
      ),
  }
  await build({
    entryPoints: [join(dist, module)],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    plugins: [outside, modules],
    banner: {
      js: `const urlOf = file => require('node:url').pathToFileURL(require('node:path').join(__dirname, '..', file)).href`,
    },
    outfile: join(folder, `${name}.cjs`),
  })
}

async function buildSeparately(name, outfile) {
  const { metafile } = await build({
    stdin: { contents: `module.exports = require('${name}')`, resolveDir: root },
    bundle: true,
    platform: 'node',
    target: 'node20',
    // Optional parts of pg, which nothing here needs.
    external: ['pg-native', 'cloudflare:sockets'],
    legalComments: 'none',
    metafile: true,
    outfile,
    absWorkingDir: root,
  })
  inputs.push(...Object.keys(metafile.inputs))
}

/** The licences of the packages in these files. */
function licences() {
  const folders = inputs.map(input => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0])
  const texts = [...new Set(folders.filter(Boolean))].sort().map(folder => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    const written = readdirSync(join(root, folder)).filter(name => /^licen[cs]e/i.test(name))
    const text = written.map(name => readFileSync(join(root, folder, name), 'utf8').trim()).join('\n\n')
    return `${name} ${version} (${license})\n\n${text}\n`
  })
  return texts.join(`\n${'-'.repeat(80)}\n\n`)
}

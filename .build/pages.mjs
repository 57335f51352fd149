// The part of `npm run build` that makes our pages: joins their modules and style sheets, so that a browser loads few files, and
// copies those that they need from other packages. The packages themselves are not needed to run the gateway.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'

const root = dirname(import.meta.dirname)
const { resolve } = createRequire(import.meta.url)
const folderOf = name => dirname(resolve(`${name}/package.json`))

const VENDORED = {
  'sm2.js': ['sm-crypto', 'dist/sm2.js'],
  'swagger-ui.css': ['swagger-ui-dist', 'swagger-ui.css'],
  'swagger-ui-bundle.js': ['swagger-ui-dist', 'swagger-ui-bundle.js'],
  'redoc.standalone.js': ['redoc', 'bundles/redoc.standalone.js'],
  'swagger-ui-bundle.js.LICENSE.txt': ['swagger-ui-dist', 'swagger-ui-bundle.js.LICENSE.txt'],
  'redoc.standalone.js.LICENSE.txt': ['redoc', 'bundles/redoc.standalone.js.LICENSE.txt'],
  'LICENSE-sm-crypto': ['sm-crypto', 'LICENCE_MIT'],
  'LICENSE-swagger-ui': ['swagger-ui-dist', 'LICENSE'],
  'NOTICE-swagger-ui': ['swagger-ui-dist', 'NOTICE'],
  'LICENSE-redoc': ['redoc', 'LICENSE'],
}

/**
 * The documents of the console and of the sign-in, with what they say where a script does not arrive (`late.html`). Of what they
 * load, each is one file for the browser.
 */
const DOCUMENTS = ['index.html', 'sign-in/page.html', 'sign-in/sign-out.html']
const JOINED = [
  { out: 'main', in: 'src/console/main.css' },
  { out: 'main', in: 'src/console/main.js' },
  { out: 'proof-worker', in: 'src/console/sign-in/proof-worker.js' },
  { out: 'sign-in', in: 'src/console/sign-in/sign-in.css' },
  { out: 'sign-in', in: 'src/console/sign-in/page.js' },
  { out: 'sign-out', in: 'src/console/sign-in/sign-out.js' },
]

const pages = join(root, 'dist/console')
rmSync(pages, { recursive: true, force: true })
await build({
  entryPoints: JOINED,
  outdir: pages,
  bundle: true,
  format: 'esm',
  target: 'es2023',
  charset: 'utf8',
  absWorkingDir: root,
})
const LATE = '<!-- late.html -->'
const late = readFileSync(join(root, 'src/console/late.html'), 'utf8').trim()
for (const name of DOCUMENTS) {
  const text = readFileSync(join(root, 'src/console', name), 'utf8')
  if (!text.includes(LATE)) throw new Error(`${name} has no place for late.html`)
  mkdirSync(dirname(join(pages, name)), { recursive: true })
  writeFileSync(
    join(pages, name),
    text.replace(LATE, () => late),
  )
}

const documents = join(root, 'dist/http/pages/documents')
rmSync(documents, { recursive: true, force: true })
cpSync(join(root, 'src/http/pages/documents'), documents, { recursive: true })

const vendor = join(root, 'dist/vendor')
rmSync(vendor, { recursive: true, force: true })
mkdirSync(vendor, { recursive: true })
for (const [name, [owner, file]] of Object.entries(VENDORED)) cpSync(join(folderOf(owner), file), join(vendor, name))

// Redoc shows a logo that comes from its makers' server; our pages ask no other server for anything.
const redoc = join(vendor, 'redoc.standalone.js')
const logo = 'https://cdn.redoc.ly/redoc/logo-mini.svg'
const text = readFileSync(redoc, 'utf8')
if (!text.includes(logo)) throw new Error('the logo of redoc is not where it was')
// The map is not copied.
writeFileSync(redoc, text.replaceAll(logo, 'data:,').replace(/\n\/\/# sourceMappingURL=\S+\s*$/, '\n'))

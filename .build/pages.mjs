// The part of `npm run build` that is not compiled: the files of our pages, and those that they need from other packages.
// The packages themselves are not needed to run the gateway.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'

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

// Not the settings of the compiler, which checks the scripts of the console.
const isServed = file => basename(file) !== 'tsconfig.json'

for (const folder of ['console', 'http/pages/documents']) {
  const to = join(root, 'dist', folder)
  rmSync(to, { recursive: true, force: true })
  cpSync(join(root, 'src', folder), to, { recursive: true, filter: isServed })
}

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

// Prints what a release contains, as SPDX: the packages that are installed with it, and those in its own files. npm alone would
// leave out the latter, which are packages of development here. Needs a build.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const root = dirname(import.meta.dirname)

/** Packages whose files stand in `dist/vendor`; see pages.mjs. */
const IN_PAGES = ['redoc', 'swagger-ui-dist']

const list = (...options) =>
  JSON.parse(execFileSync('npm', ['sbom', '--sbom-format', 'spdx', ...options], { cwd: root, maxBuffer: 2 ** 28 }))
const nameOf = ({ name, versionInfo }) => `${name} ${versionInfo}`

const licences = readFileSync(join(root, 'dist/bundle/LICENSES'), 'utf8')
const bundled = new Set([...licences.matchAll(/^(\S+ \S+) \(.*\)$/gm)].map(([, name]) => name))
const installed = new Set(list('--omit', 'dev').packages.map(nameOf))

const all = list()
const packages = all.packages.filter(
  part => installed.has(nameOf(part)) || bundled.has(nameOf(part)) || IN_PAGES.includes(part.name),
)
const ids = new Set([all.SPDXID, ...packages.map(({ SPDXID }) => SPDXID)])
const relationships = all.relationships.filter(
  ({ spdxElementId, relatedSpdxElement }) => ids.has(spdxElementId) && ids.has(relatedSpdxElement),
)
process.stdout.write(`${JSON.stringify({ ...all, packages, relationships }, null, 2)}\n`)

// Prints what a release contains, as CycloneDX: the packages that are installed with it, and those in its own files. npm alone
// would mark the latter as packages of development, which they are here. Needs a build. Two runs print the same: without the
// time and the random number of npm's own list, and from the lock file, which has the packages of every platform.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const root = dirname(import.meta.dirname)

/** Packages whose files stand in `dist/vendor`; see pages.mjs. */
const IN_PAGES = ['redoc', 'swagger-ui-dist']

const list = (...options) => {
  const words = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only', ...options]
  return JSON.parse(execFileSync('npm', words, { cwd: root, maxBuffer: 2 ** 28, stdio: ['ignore', 'pipe', 'inherit'] }))
}
const nameOf = ({ group, name, version }) => `${group ? `${group}/` : ''}${name} ${version}`

const licences = readFileSync(join(root, 'dist/bundle/LICENSES'), 'utf8')
const bundled = new Set([...licences.matchAll(/^(\S+ \S+) \(.*\)$/gm)].map(([, name]) => name))
const installed = new Set(list('--omit', 'dev').components.map(nameOf))

const { serialNumber: _random, metadata, ...all } = list()
const { timestamp: _time, component, ...about } = metadata
const components = all.components
  .filter(part => installed.has(nameOf(part)) || bundled.has(nameOf(part)) || IN_PAGES.includes(part.name))
  // What is in the files of the gateway is no package of development for those who install it.
  .map(part => ({ ...part, properties: part.properties.filter(({ name }) => name !== 'cdx:npm:package:development') }))
const refs = new Set([component['bom-ref'], ...components.map(part => part['bom-ref'])])
const dependencies = all.dependencies.flatMap(({ ref, dependsOn = [] }) =>
  refs.has(ref) ? [{ ref, dependsOn: dependsOn.filter(other => refs.has(other)) }] : [],
)
// npm takes the name of the folder.
const named = { ...component, name: JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).name }
const bom = { ...all, metadata: { ...about, component: named }, components, dependencies }
process.stdout.write(`${JSON.stringify(bom, null, 2)}\n`)

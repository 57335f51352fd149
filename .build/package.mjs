// The last part of `npm pack`: the types of the package, a file for each of its entries, and modules that do not name source
// maps, which are not in the package. The types need no package but those that the gateway is installed with. Only this step
// needs a compiler with an API, TypeScript 5. It reads the declarations that the compiler of the step before has written, which
// takes a quarter of the time that the sources would take.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { generateDtsBundle } from 'dts-bundle-generator'

const root = dirname(import.meta.dirname)
const dist = join(root, 'dist')
const declared = join(root, '.compiled/declared')
const types = join(dist, 'types')

/** The files with types by their names, and the modules whose types they are. */
const ENTRIES = { index: 'package/library', client: 'package/client' }

const libraries = {
  inlinedLibraries: ['json-schema-to-ts', 'prom-client', 'ts-algebra'],
  importedLibraries: ['fastify', 'pino'],
  allowedTypesLibraries: ['node'],
}
const output = { noBanner: true, exportReferencedTypes: false }
const texts = generateDtsBundle(
  Object.values(ENTRIES).map(module => ({ filePath: join(declared, `${module}.d.ts`), libraries, output })),
  { preferredConfigPath: join(root, 'tsconfig.json') },
)

rmSync(types, { recursive: true, force: true })
mkdirSync(types, { recursive: true })
Object.keys(ENTRIES).forEach((name, index) => {
  writeFileSync(join(types, `${name}.d.ts`), texts[index])
})

rmSync(declared, { recursive: true })

const MAP = /\n\/\/# sourceMappingURL=\S+\s*$/
for (const file of readdirSync(dist, { recursive: true })) {
  if (!/\.c?js$/.test(file)) continue
  const text = readFileSync(join(dist, file), 'utf8')
  if (MAP.test(text)) writeFileSync(join(dist, file), text.replace(MAP, '\n'))
}

import { branchesOf, type Schema } from '../../notation/read.ts'
import { type KeyPath, type Place, textOf, variableOf, type Written } from '../../notation/written.ts'
import { SettingsSchema } from '../../schema/settings.ts'

/** Stands for each position of a list. */
const EACH = '*'

/** The paths of what a schema marks as secret. */
function secretsIn(schema: Schema, path: KeyPath = []): KeyPath[] {
  return branchesOf(schema).flatMap(branch => {
    if (branch['x-secret'] === true) return [path]
    if (branch.items !== undefined) return secretsIn(branch.items, [...path, EACH])
    return Object.entries(branch.properties ?? {}).flatMap(([key, inner]) => secretsIn(inner, [...path, key]))
  })
}

/** The secrets of the settings, without those of upstreams: their file is one that no variable reaches. */
const { upstreams: _, ...PROPERTIES } = SettingsSchema.properties
const SECRETS = new Map(secretsIn({ type: 'object', properties: PROPERTIES }).map(path => [textOf(path), path]))

const secretsOf = (written: Written): KeyPath[] => [...SECRETS.values()].flatMap(path => eachIn(written, path))

function eachIn(written: Written, path: KeyPath): KeyPath[] {
  const position = path.indexOf(EACH)
  if (position === -1) return [path]
  const list = path.slice(0, position)
  const entries = written.get(list)
  if (!Array.isArray(entries)) return []
  return entries.flatMap((_, index) => eachIn(written, [...list, index, ...path.slice(position + 1)]))
}

/** Warns of secrets in the configuration file, which more people read than may know them: backups, repositories, images. */
export function warnOfWrittenSecrets(written: Written): void {
  for (const path of secretsOf(written)) {
    if (!isSecret(written.get(path)) || written.placeOf(path).exact === true) continue
    written.warn(path, `is a secret in a file that is copied and shared; set it as ${variableOf(path)}`)
  }
}

/** Warns of variables of secrets that are empty, as a command that has failed leaves them: another secret is in use. */
export function warnOfEmptySecrets(written: Written, empty: ReadonlyMap<string, Place>): void {
  for (const path of secretsOf(written)) {
    const place = empty.get(variableOf(path))
    if (place === undefined) continue
    const message = 'is empty, so the secret is not set here; give it a value, or remove it'
    written.warnings.push({ place: place.label, message, path })
  }
}

/** Of an address, only its password is. */
function isSecret(value: unknown): boolean {
  if (typeof value !== 'string') return false
  return !URL.canParse(value) || new URL(value).password !== ''
}

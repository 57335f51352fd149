import type { KeyPath, Place, Written } from '../../notation/written.ts'

/** The secrets that a variable can set. */
const SECRETS: readonly KeyPath[] = [
  ['jwt', 'secret_key'],
  ['internal', 'secret'],
  ['login', 'sm2', 'private_key'],
  ['login', 'second_factor', 'key'],
  ['store', 'redis', 'url'],
  ['store', 'redis', 'password'],
  ['accounts', 'url'],
  ['accounts', 'secret'],
  ['login', 'consumer', 'url'],
  ['login', 'consumer', 'secret'],
]

/** Those of the entries of lists. */
const IN_LISTS: readonly { list: KeyPath; key: string }[] = [
  { list: ['login', 'providers'], key: 'client_secret' },
  { list: ['events', 'webhooks'], key: 'secret' },
]

function secretsOf(written: Written): KeyPath[] {
  const inLists = IN_LISTS.flatMap(({ list, key }) => {
    const entries = written.get(list)
    return Array.isArray(entries) ? entries.map((_, index): KeyPath => [...list, index, key]) : []
  })
  return [...SECRETS, ...inLists]
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

const variableOf = (path: KeyPath): string => path.join('__').toUpperCase()

/** Of an address, only its password is. */
function isSecret(value: unknown): boolean {
  if (typeof value !== 'string') return false
  return !URL.canParse(value) || new URL(value).password !== ''
}

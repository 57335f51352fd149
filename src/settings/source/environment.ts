import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { codeOf } from '../../base/file-state.ts'
import { readEnvText, splitEnv, type Unassigned } from '../notation/env-file.ts'
import { ConfigurationError, nearest, suggest } from '../notation/fault.ts'
import { branchesOf, type Schema } from '../notation/read.ts'
import { NOT_UTF8 } from '../notation/utf8.ts'
import { isSection, type KeyPath, type Place, textOf, variableOf, type Written } from '../notation/written.ts'
import { labelOf, parseFlow } from '../notation/yaml.ts'

interface Variable {
  text: string
  place: Place
  /** From `.env`, which other programs in the same folder may read too. */
  isShared: boolean
}

/** The variables that are set, by name: those of the process, then those of `.env` in the working directory. */
export interface Variables extends ReadonlyMap<string, Variable> {
  /** Where a variable stands that is empty, and set nowhere else; by name. */
  readonly empty: ReadonlyMap<string, Place>
  /** Lines of `.env` without an assignment, and the name of the file. */
  readonly unassigned: readonly (Unassigned & { file: string })[]
}

/** An empty variable is one that is not set: that is what an unset one becomes on its way through a compose file. */
export function readVariables(environment: NodeJS.ProcessEnv, cwd: string): Variables {
  const variables = new Map<string, Variable>()
  const empty = new Map<string, Place>()
  const add = (source: NodeJS.Dict<string>, label: string, isShared: boolean): void => {
    for (const [name, text] of Object.entries(source)) {
      if (text === undefined || variables.has(name)) continue
      const place: Place = { label: `${label} ${name}`, folder: cwd, exact: true }
      if (text === '') empty.set(name, place)
      else {
        variables.set(name, { text, place, isShared })
        empty.delete(name)
      }
    }
  }
  add(environment, 'environment', false)
  const file = join(cwd, '.env')
  const label = labelOf(file, cwd)
  const { assigned, unassigned } = splitEnv(readEnvFile(file) ?? '')
  add(parseEnv(assigned), label, true)
  return Object.assign(variables, { empty, unassigned: unassigned.map(line => ({ ...line, file: label })) })
}

/** `null` if there is no such file. */
function readEnvFile(file: string): string | null {
  let text: string | null
  try {
    text = readEnvText(file)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT' || code === 'EISDIR') return null
    throw new ConfigurationError([
      { place: file, message: `cannot be read (${code}); let this user read it, or remove it` },
    ])
  }
  if (text === null) throw new ConfigurationError([{ place: file, message: NOT_UTF8 }])
  return text
}

/**
 * Lays the variables over what is written: `STORE__REDIS__URL` is `store.redis.url`, and `LOGIN__PROVIDERS__0__CLIENT_SECRET`
 * that of the first entry of `login.providers`, which is written elsewhere. A name whose first part
 * is unknown belongs to another program. If only the rest is unknown, it is a fault; in `.env` it is a warning, because
 * another program may read it. There, what is nearly the name of a setting is a warning, too.
 */
export function overlay(schema: Schema, written: Written, variables: Variables): void {
  // The shorter name first: a variable for a part overrides one for the whole.
  const byLength = [...variables].sort(([a], [b]) => a.split('__').length - b.split('__').length)
  for (const [name, { text, place, isShared }] of byLength) {
    const found = findKey(schema, written, name)
    if (found === null) {
      const fault = isShared ? faultOfName(name, schema, written, variables) : null
      if (fault !== null) written.warnings.push({ place: place.label, message: `${fault}${NOT_OURS}`, path: [] })
      continue
    }
    if ('fault' in found) {
      if (isShared) written.warnings.push({ place: place.label, message: `${found.fault}${NOT_OURS}`, path: [] })
      else written.faults.push({ place: place.label, message: found.fault, path: [] })
      continue
    }
    const value = readText(found.schema, text)
    if (value === undefined) written.faults.push({ place: place.label, message: NOT_FLOW, path: found.path })
    else written.set(found.path, value, place)
  }
  warnOfUnassigned(schema, written, variables)
}

/** Only where a line begins with what is, or is nearly, the name of a setting. */
function warnOfUnassigned(schema: Schema, written: Written, variables: Variables): void {
  for (const { line, name, file } of variables.unassigned) {
    const isSetting = findKey(schema, written, name) !== null && !variables.has(name)
    if (!isSetting && faultOfName(name, schema, written, variables) === null) continue
    const message = `has no = behind ${name}${NOT_OURS}`
    written.warnings.push({ place: `${file}, line ${line}`, message, path: [] })
  }
}

/** Why a name is no setting, with the one that was probably meant; `null` for that of another program, or if the right one is set. */
function faultOfName(name: string, schema: Schema, written: Written, variables: Variables): string | null {
  const spaced = nameMeantBy(name, schema)
  const meant = spaced ?? nameNear(name, schema, written)
  if (meant === null || variables.has(meant)) return null
  return spaced === null ? `unknown setting, similar to ${meant}` : `${SINGLE}${meant}`
}

const SINGLE = 'is no setting: the parts of a name have two underscores between them, as in '
const NOT_OURS = '. It is ignored: correct it, or leave it if another program reads this .env'
const NOT_FLOW = 'is not valid YAML; a list is written [a, b], a section {key: value, other: value}'

type Found = { path: KeyPath; schema: Schema } | { fault: string }

/** The setting that a variable names; `null` if its first part is not a setting. */
function findKey(root: Schema, written: Written, name: string): Found | null {
  const path: (string | number)[] = []
  let schema = root
  for (const [index, part] of name.split('__').entries()) {
    const entry = entryOf(schema)
    const found =
      entry !== undefined && POSITION.test(part) ? { key: Number(part), schema: entry } : keyIn(schema, part)
    if (found === null && index === 0) return null
    if (found === null) return { fault: `unknown setting${hintFor(name, path, schema)}` }
    if (typeof found.key === 'number') {
      const { length } = listAt(written, path)
      if (found.key >= length) return { fault: noEntry(path, length) }
    }
    path.push(found.key)
    schema = found.schema
  }
  return { path, schema }
}

/** The variable some parts of which have one underscore between them in `name`; `null` for any other name. */
function nameMeantBy(name: string, schema: Schema): string | null {
  for (const [key, inner] of Object.entries(propertiesOf(schema))) {
    const part = key.toUpperCase()
    if (name === part) return part
    const behind = name.startsWith(`${part}_`) ? name.slice(part.length).replace(/^__?/, '') : null
    const rest = behind === null ? null : nameMeantBy(behind, inner)
    if (rest !== null) return `${part}__${rest}`
  }
  return null
}

/** A shorter name is near to too many others. */
const LEAST_ALONE = 6

/** The setting whose first part is nearly that of `name`, and whose other parts are the same; `null` for none. */
function nameNear(name: string, schema: Schema, written: Written): string | null {
  const [first, ...rest] = name.split('__') as [string, ...string[]]
  const properties = Object.entries(propertiesOf(schema))
  // Alone, the name of a section is that of its YAML, which few write and other programs have names like.
  const known = rest.length > 0 ? properties : properties.filter(([, inner]) => !isSectionOnly(inner))
  if (rest.length === 0 && name.length < LEAST_ALONE) return null
  const near = nearest(
    first,
    known.map(([key]) => key.toUpperCase()),
  )
  if (near === undefined) return null
  const meant = [near, ...rest].join('__').toUpperCase()
  const found = findKey(schema, written, meant)
  return found === null || 'fault' in found ? null : meant
}

const isSectionOnly = (schema: Schema): boolean => branchesOf(schema).every(({ type }) => type === 'object')

const POSITION = /^(?:0|[1-9]\d{0,8})$/

/** The entries of a list of sections, which have names of their own: `EVENTS__WEBHOOKS__0__SECRET`. */
const entryOf = (schema: Schema): Schema | undefined =>
  branchesOf(schema)
    .map(({ items }) => items)
    .find(items => items !== undefined && branchesOf(items).some(({ type }) => type === 'object'))

const propertiesOf = (schema: Schema): Record<string, Schema> =>
  Object.assign({}, ...branchesOf(schema).map(({ properties }) => properties))

function keyIn(schema: Schema, part: string): { key: string; schema: Schema } | null {
  const properties = propertiesOf(schema)
  const key = Object.keys(properties).find(candidate => candidate.toUpperCase() === part)
  return key === undefined ? null : { key, schema: properties[key]! }
}

function hintFor(name: string, path: KeyPath, schema: Schema): string {
  const known = Object.keys(propertiesOf(schema)).map(candidate => variableOf([...path, candidate]))
  if (known.length > 0) return suggest(name, known, 'Settings here')
  const variable = variableOf(path)
  if (entryOf(schema) !== undefined)
    return `; ${textOf(path)} is a list: ${variable}__0__… is a setting of its first entry, and ${variable} is all of it`
  return `; ${textOf(path)} is written as a whole, in ${variable}`
}

function listAt(written: Written, path: KeyPath): unknown[] {
  const list = written.get(path)
  return Array.isArray(list) ? list : []
}

const noEntry = (path: KeyPath, length: number): string =>
  `${length === 0 ? `no list is written in ${textOf(path)}` : `${textOf(path)} has ${length} ${length === 1 ? 'entry' : 'entries'}, counted from 0`}; ` +
  'a variable completes an entry that is written there: add it, or remove the variable'

/** A variable's text as the value it stands for: a text where the schema takes one, else what YAML reads in it. */
function readText(schema: Schema, text: string): unknown {
  const branches = branchesOf(schema)
  const isFlow = /^\s*[[{]/.test(text)
  if (isFlow && branches.some(({ type }) => type === 'array' || type === 'object')) return parseFlow(text)
  if (branches.some(({ type }) => type === 'string')) return text
  const list = branches.find(({ type }) => type === 'array')
  if (list === undefined) return scalarOr(text)
  const items = text
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '')
  return branches.some(branch => branch.enum?.includes(text)) ? text : items.map(item => readText(list.items!, item))
}

/** A number or `true` as such; everything else stays text. */
function scalarOr(text: string): unknown {
  const value = parseFlow(text)
  return value === undefined || value === null || isSection(value) || Array.isArray(value) ? text : value
}

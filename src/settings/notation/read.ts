import { isAbsolute, resolve } from 'node:path'
import { nearest, suggest } from './fault.ts'
import { READINGS } from './notation.ts'
import { isSection, type KeyPath, type Section, type Written } from './written.ts'

/** The parts of JSON Schema in which the configuration is described. */
export interface Schema {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  /** Of the keys that `properties` does not name: `true` keeps them as they are. Where it is absent they are faults. */
  readonly additionalProperties?: boolean | Schema
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  /** Of a list of texts or numbers. */
  readonly uniqueItems?: true
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly default?: unknown
  readonly 'x-form'?: string
  readonly 'x-secret'?: true
  readonly 'x-url'?: true
  readonly 'x-path'?: 'file' | 'cwd'
  readonly 'x-longest'?: number
  readonly 'x-reads'?: keyof typeof READINGS
}

/**
 * Reads what was written as the schema says: defaults filled in, durations in milliseconds, paths absolute. Every fault
 * is reported to `written`; a value with one is `undefined` in the result. An empty value is one that is not written.
 */
export function read(schema: Schema, written: Written, cwd: string): unknown {
  return readValue(schema, written.value, [], { written, cwd, defaults: new Map(), sections: new Map() })
}

interface Reading {
  written: Written
  cwd: string
  /** What absent values of a schema become: the same object for each entry of a long list. */
  defaults: Map<Schema, unknown>
  /** Of the schema of a section, the absent values in it. */
  sections: Map<Schema, Section>
}

function readValue(schema: Schema, value: unknown, path: KeyPath, reading: Reading): unknown {
  const { written } = reading
  if (isAbsent(value)) {
    if (schema.default === undefined) return void written.report(path, `is missing; it must be ${formOf(schema)}`)
    return defaultOf(schema, path, reading)
  }
  const branch = branchFor(schema, value)
  if (branch === undefined) return void written.report(path, `must be ${formOf(schema)}${instead(schema, value)}`)
  if (branch.anyOf !== undefined) return readAmongSections(branch, value as Section, path, reading)
  if (branch.type === 'object') return readSection(branch, value as Section, path, reading)
  if (branch.type === 'array') return readList(branch, value as unknown[], path, reading)
  return readLeaf(branch, value, path, reading)
}

function defaultOf(schema: Schema, path: KeyPath, reading: Reading): unknown {
  if (!reading.defaults.has(schema)) reading.defaults.set(schema, readValue(schema, schema.default, path, reading))
  return reading.defaults.get(schema)
}

/** The one branch of a union that a value of this form can be meant for; a schema without branches is its own. */
function branchFor(schema: Schema, value: unknown): Schema | undefined {
  const branches = branchesOf(schema)
  if (Array.isArray(value)) return branches.find(({ type }) => type === 'array')
  if (!isSection(value)) return branches.find(branch => isLeaf(branch) && fits(branch, value))
  const sections = branches.filter(({ type }) => type === 'object')
  return sections.length > 1 ? { anyOf: sections, default: schema.default } : sections[0]
}

/** The branches of a union; those of a union inside a union too. */
export function branchesOf(schema: Schema): readonly Schema[] {
  return schema.anyOf === undefined ? [schema] : schema.anyOf.flatMap(branchesOf)
}

const isLeaf = ({ type }: Schema): boolean => type !== 'object' && type !== 'array'

/**
 * Whether a text, a number or a boolean is what a schema without parts describes. These few keywords are checked here: a
 * compiler of schemas would have to be loaded at every start, and its faults know neither place nor remedy.
 */
function fits(schema: Schema, value: unknown): boolean {
  if (schema.const !== undefined) return value === schema.const
  if (schema.enum !== undefined) return schema.enum.includes(value)
  if (schema.type === 'string') return typeof value === 'string' && fitsText(schema, value)
  if (schema.type === 'boolean') return typeof value === 'boolean'
  if (typeof value !== 'number' || (schema.type === 'integer' && !Number.isInteger(value))) return false
  return value >= (schema.minimum ?? -Infinity) && value <= (schema.maximum ?? Infinity)
}

function fitsText(schema: Schema, text: string): boolean {
  const { minLength = 0, maxLength = Infinity, pattern, 'x-longest': longest, 'x-url': isUrl = false } = schema
  const length = Array.from(text).length
  if (length < minLength || length > maxLength) return false
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(text)) return false
  if (isUrl && !URL.canParse(text)) return false
  return longest === undefined || READINGS.duration(text) <= longest
}

/** Several kinds of one section, told apart by the key whose value is fixed in each of them. */
function readAmongSections(schema: Schema, value: Section, path: KeyPath, reading: Reading): unknown {
  const { anyOf: sections = [], default: fallback } = schema
  const key = Object.keys(sections[0]?.properties ?? {}).find(name =>
    sections.every(({ properties }) => properties?.[name]?.const !== undefined),
  )
  if (key === undefined) throw new Error('the kinds of a section have no key that tells them apart')
  const kind = value[key] ?? (isSection(fallback) ? fallback[key] : undefined)
  const meant = sections.find(({ properties }) => properties?.[key]?.const === kind)
  if (meant !== undefined) return readSection(meant, { ...value, [key]: kind }, path, reading)
  readValue({ anyOf: sections.map(({ properties }) => properties![key]!) }, kind, [...path, key], reading)
  return undefined
}

function readSection(schema: Schema, value: Section, path: KeyPath, reading: Reading): Section {
  const { properties = {}, additionalProperties = false, required = [] } = schema
  const read: [string, unknown][] = []
  const known = Object.keys(properties)
  const unknown = additionalProperties === false ? Object.keys(value).filter(key => !known.includes(key)) : []
  for (const key of required) {
    if (!isAbsent(value[key])) continue
    const isMisspelt = unknown.some(written => nearest(written, known) === key)
    if (isMisspelt) reading.written.reportFollowing([...path, key])
    else read.push([key, readValue(properties[key]!, undefined, [...path, key], reading)])
  }
  for (const [key, inner] of Object.entries(value)) {
    if (Object.hasOwn(properties, key)) {
      if (!isAbsent(inner)) read.push([key, readValue(properties[key]!, inner, [...path, key], reading)])
    } else if (additionalProperties === true) read.push([key, inner])
    else if (additionalProperties !== false)
      read.push([key, readValue(additionalProperties, inner, [...path, key], reading)])
    else reading.written.reportUnknown([...path, key], `unknown setting${suggest(key, known, 'Settings here')}`)
  }
  return { ...defaultsIn(schema, path, reading), ...Object.fromEntries(read) }
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null

/** What a section has of which nothing is written. */
function defaultsIn(schema: Schema, path: KeyPath, reading: Reading): Section {
  const known = reading.sections.get(schema)
  if (known !== undefined) return known
  const withDefault = Object.entries(schema.properties ?? {}).filter(([, inner]) => inner.default !== undefined)
  const section = Object.fromEntries(
    withDefault.map(([key, inner]) => [key, defaultOf(inner, [...path, key], reading)]),
  )
  reading.sections.set(schema, section)
  return section
}

function readList(schema: Schema, value: unknown[], path: KeyPath, reading: Reading): unknown[] {
  const { minItems: least = 0, maxItems: most = Infinity, uniqueItems: isSet = false } = schema
  if (value.length < least) reading.written.report(path, `must have at least ${entriesOf(least)}`)
  if (value.length > most) reading.written.report(path, `must have at most ${entriesOf(most)}`)
  const again = isSet ? value.findIndex((item, index) => value.indexOf(item) !== index) : -1
  if (again !== -1) reading.written.report([...path, again], 'is there twice; remove one')
  return value.map((item, index) => readValue(schema.items!, item, [...path, index], reading))
}

const entriesOf = (count: number): string => `${count} ${count === 1 ? 'entry' : 'entries'}`

function readLeaf(schema: Schema, value: unknown, path: KeyPath, { written, cwd }: Reading): unknown {
  const reads = schema['x-reads']
  if (reads !== undefined) return READINGS[reads](value)
  if (schema['x-path'] === undefined || typeof value !== 'string' || isAbsolute(value)) return value
  // A default is as good as written in the file, wherever the section around it was.
  const isWritten = written.get(path) !== undefined && written.get(path) !== null
  return resolve(schema['x-path'] === 'cwd' ? cwd : written.placeOf(isWritten ? path : []).folder, value)
}

/** What a value must be, in words. */
function formOf(schema: Schema): string {
  if (schema['x-form'] !== undefined) return schema['x-form']
  if (schema.anyOf !== undefined) return unionForm(schema.anyOf)
  if (schema.const !== undefined) return String(schema.const)
  if (schema.enum !== undefined) return either(schema.enum.map(String))
  if (schema.type === 'integer' || schema.type === 'number') return numberForm(schema)
  if (schema.type === 'boolean') return 'true or false'
  if (schema.type === 'array') return 'a list'
  if (isSectionSchema(schema)) return `a section with ${Object.keys(schema.properties ?? {}).join(', ')}`
  return (schema.minLength ?? 0) > 0 ? 'a text that is not empty' : 'a text'
}

function unionForm(branches: readonly Schema[]): string {
  const forms = branches.map(formOf)
  return branches.some(isSectionSchema) ? forms.join(', or ') : either(forms)
}

const either = (forms: readonly string[]): string =>
  forms.length === 1 ? forms.join() : `${forms.slice(0, -1).join(', ')} or ${forms.at(-1)}`

const isSectionSchema = ({ type }: Schema): boolean => type === 'object'

function numberForm({ type, minimum, maximum }: Schema): string {
  const kind = type === 'integer' ? 'a whole number' : 'a number'
  if (minimum !== undefined && maximum !== undefined) return `${kind} from ${minimum} to ${maximum}`
  return minimum === undefined ? kind : `${kind}, ${minimum} or more`
}

/** What to write instead of a number or a word like true. */
function remedyOf(value: unknown, branches: readonly Schema[]): string {
  const unit = branches.map(branch => UNITS[branch['x-reads'] ?? '']).find(found => found !== undefined)
  if (typeof value === 'number' && unit !== undefined) return `; a number needs its unit, as in ${value}${unit}`
  return '; a number or a word like true needs quotes to be a text'
}

/** The units that are written most. */
const UNITS: Readonly<Record<string, string | undefined>> = { duration: 's', size: 'KiB' }

/** What was written instead, unless it may be a secret. */
function instead(schema: Schema, value: unknown): string {
  if (Array.isArray(value)) return ', not a list'
  if (isSection(value)) return ', not a section'
  const branches = branchesOf(schema)
  if (typeof value !== 'string' && branches.some(({ type }) => type === 'string')) return remedyOf(value, branches)
  const shown = String(value)
  const isShown = schema['x-secret'] !== true && branches.some(isLeaf) && shown.length <= 40 && !shown.includes('@')
  const unquoted = typeof value === 'string' && branches.some(branch => isLeaf(branch) && fits(branch, Number(value)))
  return isShown ? `, not ${JSON.stringify(value)}${unquoted ? '; write it without quotes' : ''}` : ''
}

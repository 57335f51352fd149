import { isAbsolute, resolve } from 'node:path'
import type { TSchema } from 'typebox'
import { Check, Decode } from 'typebox/value'
import { suggest } from './fault.ts'
import { isSection, type KeyPath, type Section, type Written } from './source/written.ts'

/** The parts of a schema that are looked at; TypeBox writes JSON Schema. */
export interface Schema {
  type?: string
  const?: unknown
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  patternProperties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  minItems?: number
  minLength?: number
  minimum?: number
  maximum?: number
  default?: unknown
  'x-form'?: string
  'x-secret'?: true
  'x-path'?: 'file' | 'cwd'
}

/**
 * Reads what was written as the schema says: defaults filled in, durations in milliseconds, paths absolute. Every fault
 * is reported to `written`; a value with one is `undefined` in the answer. An empty value is one that is not written.
 */
export function read(schema: TSchema, written: Written, cwd: string): unknown {
  return readValue(schema as Schema, written.value, [], { written, cwd })
}

interface Reading {
  written: Written
  cwd: string
}

function readValue(schema: Schema, value: unknown, path: KeyPath, reading: Reading): unknown {
  const { written } = reading
  if (value === null || value === undefined) {
    if (schema.default === undefined) return void written.report(path, `is missing; it must be ${formOf(schema)}`)
    return readValue(schema, schema.default, path, reading)
  }
  const branch = branchFor(schema, value)
  if (branch === undefined) return void written.report(path, `must be ${formOf(schema)}${instead(schema, value)}`)
  if (branch.anyOf !== undefined && isSection(value)) return readAmongSections(branch, value, path, reading)
  if (branch.anyOf === undefined && isSection(value)) return readSection(branch, value, path, reading)
  if (branch.type === 'array') return readList(branch, value as unknown[], path, reading)
  return readText(branch, value, path, reading)
}

/** The one branch of a union that a value of this form can be meant for; a schema without branches is its own. */
function branchFor(schema: Schema, value: unknown): Schema | undefined {
  if (Array.isArray(value)) return branchesOf(schema).find(({ type }) => type === 'array')
  if (isSection(value)) {
    const sections = branchesOf(schema).filter(({ type }) => type === 'object')
    return sections.length > 1 ? { anyOf: sections, default: schema.default } : sections[0]
  }
  if (schema.anyOf === undefined || isLeafUnion(schema)) return Check(schema as TSchema, value) ? schema : undefined
  return schema.anyOf.find(branch => Check(branch as TSchema, value))
}

/** The branches of a union; those of a union inside a union too. */
export function branchesOf(schema: Schema): Schema[] {
  return schema.anyOf === undefined ? [schema] : schema.anyOf.flatMap(branchesOf)
}

const isLeaf = ({ type }: Schema): boolean => type !== 'object' && type !== 'array'
const isLeafUnion = (schema: Schema): boolean => branchesOf(schema).every(isLeaf)

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
  const { properties = {}, patternProperties = {}, required = [] } = schema
  const entries: [string, unknown][] = []
  for (const [key, inner] of Object.entries(properties)) {
    const written = Object.hasOwn(value, key) ? value[key] : undefined
    if ((written === undefined || written === null) && !required.includes(key) && inner.default === undefined) continue
    entries.push([key, readValue(inner, written, [...path, key], reading)])
  }
  for (const key of Object.keys(value)) {
    if (Object.hasOwn(properties, key)) continue
    const pattern = Object.keys(patternProperties).find(pattern => new RegExp(pattern).test(key))
    if (pattern !== undefined)
      entries.push([key, readValue(patternProperties[pattern]!, value[key], [...path, key], reading)])
    else reading.written.report([...path, key], `is no setting${suggest(key, Object.keys(properties))}`)
  }
  return Object.fromEntries(entries)
}

function readList(schema: Schema, value: unknown[], path: KeyPath, reading: Reading): unknown[] {
  const least = schema.minItems ?? 0
  if (value.length < least)
    reading.written.report(path, `must have at least ${least} ${least === 1 ? 'entry' : 'entries'}`)
  return value.map((item, index) => readValue(schema.items!, item, [...path, index], reading))
}

function readText(schema: Schema, value: unknown, path: KeyPath, { written, cwd }: Reading): unknown {
  const decoded: unknown = Decode(schema as TSchema, value)
  if (schema['x-path'] === undefined || typeof decoded !== 'string' || isAbsolute(decoded)) return decoded
  // A default is as good as written in the file, wherever the section around it was.
  const isWritten = written.get(path) !== undefined && written.get(path) !== null
  return resolve(schema['x-path'] === 'cwd' ? cwd : written.placeOf(isWritten ? path : []).folder, decoded)
}

/** What a value must be, in words. */
export function formOf(schema: Schema): string {
  if (schema['x-form'] !== undefined) return schema['x-form']
  if (schema.anyOf !== undefined) return unionForm(schema.anyOf)
  if (schema.const !== undefined) return String(schema.const)
  if (schema.type === 'integer' || schema.type === 'number') return numberForm(schema)
  if (schema.type === 'boolean') return 'true or false'
  if (schema.type === 'array') return 'a list'
  if (isSectionSchema(schema)) return `a section with ${Object.keys(schema.properties ?? {}).join(', ')}`
  return (schema.minLength ?? 0) > 0 ? 'a text that is not empty' : 'a text'
}

function unionForm(branches: Schema[]): string {
  const forms = branches.map(formOf)
  if (branches.some(isSectionSchema)) return forms.join(', or ')
  return forms.length === 1 ? forms.join() : `${forms.slice(0, -1).join(', ')} or ${forms.at(-1)}`
}

const isSectionSchema = ({ type }: Schema): boolean => type === 'object'

function numberForm({ type, minimum, maximum }: Schema): string {
  const kind = type === 'integer' ? 'a whole number' : 'a number'
  if (minimum !== undefined && maximum !== undefined) return `${kind} from ${minimum} to ${maximum}`
  return minimum === undefined ? kind : `${kind}, ${minimum} or more`
}

/** What was written instead, as far as it can be told without telling a secret. */
function instead(schema: Schema, value: unknown): string {
  if (Array.isArray(value)) return ', not a list'
  if (isSection(value)) return ', not a section'
  const branches = branchesOf(schema)
  if (typeof value !== 'string' && branches.some(branch => branch.type === 'string' && branch.const === undefined)) {
    return '; a number or a word like true needs quotes to be a text'
  }
  const shown = String(value)
  const tellable = schema['x-secret'] !== true && branches.some(isLeaf) && shown.length <= 40 && !shown.includes('@')
  return tellable ? `, not ${JSON.stringify(value)}` : ''
}

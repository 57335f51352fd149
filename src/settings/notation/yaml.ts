import { readFileSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type ParsedNode,
  parseDocument,
  type YAMLError,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml'
import { emptySection, isSection, type KeyPath, Written } from './written.ts'

/* The messages of the parser quote the faulty text, which may be a secret: so each kind of fault has its own words here. */
const WORDS: Partial<Record<YAMLError['code'], string>> = {
  BAD_DQ_ESCAPE: 'an escape that YAML does not know; in single quotes a backslash is a backslash',
  BAD_INDENT: 'the indentation does not fit, or a bracket is not closed',
  BAD_SCALAR_START: 'a value that begins with @ or ` needs quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a second ": " on one line; a value that contains one needs quotes',
  MISSING_CHAR: 'a quote, a bracket, a comma or the space after a colon is missing',
  MULTIPLE_DOCS: 'a second document begins; remove the line with ---',
  TAB_AS_INDENT: 'a tab as indentation; use spaces',
  TAG_RESOLVE_FAILED: 'a tag; a value that begins with ! needs quotes',
}
const NO_KEYS = 'must consist of keys and their values; a list stands below its key'
const ALIAS = 'an alias; a value that begins with * needs quotes, and each value is written where it belongs'

/** Reads a YAML file. A file that cannot be read is a fault in the result; `null` when there is no such file. */
export function readYamlFile(file: string, cwd: string): Written | null {
  const label = labelOf(file, cwd)
  const folder = dirname(file)
  try {
    return parseYamlFile(readFileSync(file, 'utf8'), label, folder).written
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    const unreadable = new Written(emptySection(), { label, folder })
    unreadable.legible = false
    unreadable.report([], `cannot be read (${code ?? 'unknown fault'}); check that it is a file this user may read`)
    return unreadable
  }
}

/** A file as operators see it: from the working directory when it is below it. */
export function labelOf(file: string, cwd: string): string {
  const short = relative(cwd, file)
  return short === '' || short.startsWith('..') ? file : short
}

interface Parsed {
  written: Written
  document: Document
}

/** Reads the text of a file, which has keys at its top. */
export function parseYamlFile(text: string, label: string, folder: string): Parsed {
  const parsed = parseYaml(text, label, folder)
  const { written } = parsed
  if (!isSection(written.value)) {
    written.report([], NO_KEYS)
    written.legible = false
  }
  return parsed
}

/** Reads YAML: its value with places and faults, and the document with its comments, for writing it again. */
function parseYaml(text: string, label: string, folder: string): Parsed {
  const lines = new LineCounter()
  const document = parseDocument(text.replace(/^\uFEFF/, ''), { lineCounter: lines, prettyErrors: false })
  const lineOf = (offset: number): number => lines.linePos(offset).line
  const lineAt = (offset: number): string => `${label}:${lineOf(offset)}`
  const written = new Written(emptySection(), { label, folder }, path => {
    const { offset, depth } = positionOf(document.contents, path)
    return { place: { label: offset === null ? label : lineAt(offset), folder }, depth }
  })
  for (const { code, pos } of [...document.errors, ...document.warnings]) {
    const twice = code === 'DUPLICATE_KEY' ? firstOf(document.contents, pos[0]) : null
    const message =
      twice === null
        ? (WORDS[code] ?? 'invalid YAML; check quotes, brackets and indentation')
        : `the key ${twice.name} is written twice, first in line ${lineOf(twice.offset)}; join both, or remove one`
    written.faults.push({ place: lineAt(pos[0]), message, path: [] })
    if (code !== 'DUPLICATE_KEY') written.legible = false
  }
  if (written.legible) {
    written.value = convert(document.contents, [], path => {
      written.report(path, ALIAS)
      written.legible = false
    })
  }
  return { written, document }
}

/** The name of a key that is written at an offset for a second time, and where it is written first. */
function firstOf(node: ParsedNode | null, offset: number): { name: string; offset: number } | null {
  if (isSeq(node)) return firstFound(node.items, item => firstOf(item, offset))
  if (!isMap(node)) return null
  const second = node.items.find(({ key }) => key.range[0] === offset)
  if (second === undefined) return firstFound(node.items, ({ value }) => firstOf(value, offset))
  const name = nameOf(second.key)
  const first = node.items.find(({ key }) => isScalar(key) && String(key.value) === name)
  return { name, offset: (first ?? second).key.range[0] }
}

function firstFound<T, R>(items: readonly T[], find: (item: T) => R | null): R | null {
  for (const item of items) {
    const found = find(item)
    if (found !== null) return found
  }
  return null
}

/** Where a value begins, or the nearest thing around it that is written, which so many parts of the path lead to. */
function positionOf(contents: ParsedNode | null, path: KeyPath): { offset: number | null; depth: number } {
  let node = contents
  let offset: number | null = null
  for (const [depth, part] of path.entries()) {
    const inner = isMap(node) ? entryOf(node, part) : isSeq(node) ? itemOf(node, part) : null
    if (inner === null) return { offset, depth }
    node = inner.value
    offset = inner.offset
  }
  return { offset, depth: path.length }
}

const nameOf = (key: ParsedNode): string => (isScalar(key) ? String(key.value) : '?')

function entryOf(
  { items }: YAMLMap.Parsed,
  name: string | number,
): { offset: number; value: ParsedNode | null } | null {
  const found = items.findLast(({ key }) => nameOf(key) === name)
  if (found === undefined) return null
  const { key, value } = found
  return { offset: (isAlias(value) ? value : key).range[0], value }
}

function itemOf({ items }: YAMLSeq.Parsed, index: string | number): { offset: number; value: ParsedNode } | null {
  const value = typeof index === 'number' ? items[index] : undefined
  return value === undefined ? null : { offset: value.range[0], value }
}

/** The plain value of a node; `onAlias` receives the path of each alias. */
function convert(node: ParsedNode | null, path: KeyPath, onAlias: (path: KeyPath) => void): unknown {
  if (isAlias(node)) onAlias(path)
  if (isMap(node)) {
    const section = emptySection()
    for (const { key, value } of node.items) {
      const name = nameOf(key)
      section[name] = convert(value, [...path, name], onAlias)
    }
    return section
  }
  if (isSeq(node)) return node.items.map((item, index) => convert(item, [...path, index], onAlias))
  if (isScalar(node)) return node.value
  return path.length === 0 ? emptySection() : null
}

/** A value as it is written in one line; `undefined` for invalid YAML. */
export function parseFlow(text: string): unknown {
  const { faults, value } = parseYaml(text, '', '').written
  return faults.length > 0 ? undefined : value
}

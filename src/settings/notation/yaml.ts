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
} from 'yaml'
import { emptySection, type KeyPath, Written } from './written.ts'

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
const ALIAS = 'an alias; a value that begins with * needs quotes, and each value is written where it belongs'

/** Reads a YAML file. A file that cannot be read is a fault in the result; `null` when there is no such file. */
export function readYamlFile(file: string, cwd: string): Written | null {
  const label = labelOf(file, cwd)
  const folder = dirname(file)
  try {
    return parseYaml(readFileSync(file, 'utf8'), label, folder).written
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

/** Reads YAML: its value with places and faults, and the document with its comments, for writing it again. */
export function parseYaml(text: string, label: string, folder: string): { written: Written; document: Document } {
  const lines = new LineCounter()
  const document = parseDocument(text.replace(/^\uFEFF/, ''), { lineCounter: lines, prettyErrors: false })
  const written = new Written(emptySection(), { label, folder })
  const lineOf = (offset: number): number => lines.linePos(offset).line
  const lineAt = (offset: number): string => `${label}:${lineOf(offset)}`
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
    written.value = convert(document.contents, [], (node, path) => {
      written.locate(path, { label: lineAt(node.range[0]), folder })
      if (!isAlias(node)) return
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
  const name = isScalar(second.key) ? String(second.key.value) : '?'
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

/** The plain value of a node; `visit` receives the beginning of each of its parts. */
function convert(node: ParsedNode | null, path: KeyPath, visit: (node: ParsedNode, path: KeyPath) => void): unknown {
  if (isMap(node)) {
    const section = emptySection()
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : '?'
      visit(isAlias(value) ? value : key, [...path, name])
      section[name] = convert(value, [...path, name], visit)
    }
    return section
  }
  if (isSeq(node)) {
    return node.items.map((item, index) => {
      visit(item, [...path, index])
      return convert(item, [...path, index], visit)
    })
  }
  if (isScalar(node)) return node.value
  return path.length === 0 ? emptySection() : null
}

/** A value as it is written in one line; `undefined` for invalid YAML. */
export function parseFlow(text: string): unknown {
  const { faults, value } = parseYaml(text, '', '').written
  return faults.length > 0 ? undefined : value
}

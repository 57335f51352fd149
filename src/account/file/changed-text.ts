import { isDeepStrictEqual } from 'node:util'
import {
  type Document,
  type DocumentOptions,
  isMap,
  isSeq,
  type ParseOptions,
  parseDocument,
  type ScalarTag,
  type SchemaOptions,
  type Tags,
} from 'yaml'
import type { AccountsReader, AccountsText } from './accounts-reader.ts'
import type { AccountEntry } from './schema.ts'
import { LIST, type Parts, partsBesideBlocks, textOf } from './text-parts.ts'

/** New values of an entry; `undefined` removes a key. */
export type Fields = Partial<Record<keyof AccountEntry, unknown>>

/** A change of one account. */
export type Change = { add: AccountEntry } | { at: number; set: Fields } | { at: number; remove: true }

/**
 * The text after a change. Comments, order and the form of all other accounts stay. The new text is read again: a text that
 * means anything else than the accounts with this change must not replace the file.
 */
export async function textAfter(text: string, read: AccountsText, change: Change, reader: AccountsReader) {
  const expected = entriesAfter(read.entries, change)
  const found = read.parts ?? partsBesideBlocks(text)
  const parts = found?.items.length === read.entries.length ? found : null
  for (const write of [changedParts, changedWhole]) {
    const after = write(text, parts, change)
    if (after !== null && isDeepStrictEqual((await reader.read(after)).entries, expected)) return after
  }
  throw new Error('the accounts file could not be written as it should be; this is a fault of dualgate')
}

function entriesAfter(entries: readonly AccountEntry[], change: Change): AccountEntry[] {
  if ('add' in change) return [...entries, change.add]
  if ('remove' in change) return entries.toSpliced(change.at, 1)
  return entries.with(change.at, entryAfter(entries[change.at]!, change.set))
}

export function entryAfter(entry: AccountEntry, set: Fields): AccountEntry {
  const kept = Object.entries({ ...entry, ...set }).filter(([, value]) => value !== undefined)
  return Object.fromEntries(kept) as AccountEntry
}

/** Writes the one part that changes; `null` if that is more than one part. */
function changedParts(text: string, parts: Parts | null, change: Change): string | null {
  if (parts === null) return null
  const { items, indent } = parts
  // Only these two forms are written as they are read.
  if (indent !== '' && indent !== '  ') return null
  if ('remove' in change) return items.length === 1 ? null : textOf({ ...parts, items: items.toSpliced(change.at, 1) })
  const alone = writtenItem('add' in change ? null : items[change.at]!, change, indent)
  if (alone === null) return null
  const item = endedAs(text, alone)
  if (!('add' in change)) return textOf({ ...parts, items: items.with(change.at, item) })
  const last = items.at(-1)!
  const endsLine = last.endsWith('\n') ? last : endedAs(text, `${last}\n`)
  return textOf({ ...parts, items: [...items.slice(0, -1), endsLine, item] })
}

/**
 * Reads and writes YAML so that a number keeps its text, such as `1.10`, `0x1F` or `007`, when something beside it is edited, and
 * an empty block its value.
 */
const AS_WRITTEN: DocumentOptions & ParseOptions & SchemaOptions = {
  // As the accounts are read, whatever `%YAML` says.
  schema: 'core',
  customTags: tags => tags.map(asWritten),
}

function asWritten(tag: Tags[number]): Tags[number] {
  if (isNumberTag(tag)) return withText(tag)
  return isTextTag(tag) ? withEmptyQuoted(tag) : tag
}

const isNumberTag = (tag: Tags[number]): tag is ScalarTag =>
  typeof tag === 'object' && /:(?:int|float)$/.test(tag.tag) && tag.collection === undefined

const withText = (tag: ScalarTag): ScalarTag => ({
  ...tag,
  stringify: (item, ...context) => item.source ?? tag.stringify!(item, ...context),
})

const isTextTag = (tag: Tags[number]): tag is ScalarTag => typeof tag === 'object' && tag.tag.endsWith(':str')

/** `yaml` 2.9.1 writes the comment behind the `|` of an empty block into the block. */
const withEmptyQuoted = (tag: ScalarTag): ScalarTag => ({
  ...tag,
  stringify(item, ...context) {
    if (item.value === '' && item.type?.startsWith('BLOCK') === true) item.type = 'QUOTE_DOUBLE'
    return tag.stringify!(item, ...context)
  },
})

/** The text of one item after a change; without `item` that of a new one. `null` for an item that cannot be read alone. */
function writtenItem(item: string | null, change: Change, indent: string): string | null {
  const document = parseDocument(LIST + (item ?? ''), AS_WRITTEN)
  if (document.errors.length > 0) return null
  apply(document, 'set' in change ? { ...change, at: 0 } : change)
  return written(document, indent !== '').slice(LIST.length)
}

function changedWhole(text: string, _parts: Parts | null, change: Change): string {
  const document = parseDocument(text.replace(/^\uFEFF/, ''), AS_WRITTEN)
  apply(document, change)
  return endedAs(text, written(document, true))
}

/** What was written, with the line ends of the file: those of its first line. An editor would show two kinds as a fault. */
function endedAs(file: string, written: string): string {
  return /\r?\n/.exec(file)?.[0] === '\r\n' ? written.replaceAll(/\r?\n/g, '\r\n') : written
}

const written = (document: Document, indentSeq: boolean): string => document.toString({ lineWidth: 0, indentSeq })

function apply(document: Document, change: Change): void {
  if ('add' in change) append(document, change.add)
  else if ('remove' in change) document.deleteIn(['accounts', change.at])
  else {
    for (const [key, value] of Object.entries(change.set)) {
      if (value === undefined) document.deleteIn(['accounts', change.at, key])
      else document.setIn(['accounts', change.at, key], Array.isArray(value) ? document.createNode(value) : value)
    }
  }
}

function append(document: Document, entry: AccountEntry): void {
  if (!isMap(document.contents)) document.contents = document.createNode({ accounts: [] })
  const list = document.get('accounts', true)
  if (isSeq(list)) {
    // `[]` is how an empty list is written; accounts stand one below the other.
    if (list.items.length === 0) list.flow = false
    list.add(document.createNode(entry))
  } else {
    document.set('accounts', document.createNode([entry]))
  }
}

/*
 * The accounts file is a list of many small parts. Each can be read and written alone, so that a change of one account costs
 * the work of one. What YAML lets a part mean must not depend on the parts around it: a text in which it might is read whole.
 */

/** The text of an accounts file. Joined in this order, the parts are the text. */
export interface Parts {
  /** Everything up to the line `accounts:`, and that line. */
  head: string
  /** Each account, with the comments above it. */
  items: readonly string[]
  /** The comments below the last account. */
  tail: string
  /** The spaces before the dash of each account. */
  indent: string
}

/** What makes a text of items alone. */
export const LIST = 'accounts:\n'

const LINE_OF_NOTHING = '[^\\S\\n]*(?:#[^\\n]*)?\\n'
const HEAD = new RegExp(`^\\uFEFF?(?:${LINE_OF_NOTHING})*accounts:${LINE_OF_NOTHING}`)
const FIRST_ITEM = new RegExp(`^(?:${LINE_OF_NOTHING})*( *)-\\s`)
/** Begin another document, or change how the whole is read. */
const DOCUMENT_MARKS = /^(?:---|\.\.\.|%)/m
/** The only values whose end depends on the lines below: literal and folded blocks. First a quick look, then a close one. */
const MAYBE_BLOCK_VALUE = /[|>][-+0-9]*[ \t]*(?:#[^\n]*)?\r?$/m
const BLOCK_VALUE = /^[ ]*(?:[-?:][ \t]+)*(?:[^\n]*:[ \t]+)?(?:[&!]\S*[ \t]+)*[|>][-+0-9]*[ \t]*(?:#[^\n]*)?\r?$/m
/** A line break for some readers only. */
const LONE_RETURN = /\r(?!\n)/

/** The parts of a text; `null` if it has another form, or may mean something else than its parts. */
export const partsOf = (text: string): Parts | null =>
  MAYBE_BLOCK_VALUE.test(text) && BLOCK_VALUE.test(text) ? null : partsBesideBlocks(text)

/**
 * The parts of a text with any values. No line of a block is taken for an item, because it is indented deeper. Empty lines at the
 * end of a block stand in the next part, so that a part alone may mean something else.
 */
export function partsBesideBlocks(text: string): Parts | null {
  if (DOCUMENT_MARKS.test(text) || LONE_RETURN.test(text)) return null
  const head = HEAD.exec(text)?.[0]
  const indent = head === undefined ? undefined : FIRST_ITEM.exec(text.slice(head.length))?.[1]
  if (head === undefined || indent === undefined) return null
  const { starts, end } = itemsIn(text, head.length, indent)
  return {
    head,
    items: starts.map((start, index) => text.slice(start, starts[index + 1] ?? end)),
    tail: text.slice(end),
    indent,
  }
}

/** Where the items begin, and where the last one ends. Comments and empty lines belong to the item below them. */
function itemsIn(text: string, from: number, indent: string): { starts: number[]; end: number } {
  const dash = `${indent}-`
  const starts: number[] = []
  /** Where the comments and empty lines above the present line begin. */
  let above = from
  for (let line = from; line < text.length; ) {
    const next = text.indexOf('\n', line) + 1 || text.length
    if (text.startsWith(dash, line) && /\s/.test(text[line + dash.length] ?? ' ')) starts.push(above)
    if (!isNothing(text, line, indent.length)) above = next
    line = next
  }
  return { starts, end: above }
}

const HASH = 0x23
const SPACE = 0x20

/** Whether a line is empty, or a comment that is not indented deeper than the items. */
function isNothing(text: string, line: number, indent: number): boolean {
  let at = line
  while (text.charCodeAt(at) === SPACE) at += 1
  const character = text[at] ?? '\n'
  return character === '\n' || character === '\r' || (text.charCodeAt(at) === HASH && at - line <= indent)
}

export const textOf = ({ head, items, tail }: Parts): string => head + items.join('') + tail

/** The text with some of its items, in the lines in which they stand. */
export const textWithOnly = (parts: Parts, kept: ReadonlySet<number>): string =>
  textOf({ ...parts, items: parts.items.map((item, index) => (kept.has(index) ? item : item.replace(/[^\n]+/g, ''))) })

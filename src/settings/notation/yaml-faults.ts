import type { YAMLException } from 'js-yaml'
import { LineCounter, parseDocument, type YAMLError } from 'yaml'

/* The messages of the parser quote the faulty text, which may be a secret: so each kind of fault has its own words here. */
const WORDS: Partial<Record<YAMLError['code'], string>> = {
  BAD_ALIAS: 'an alias; a value that begins with * needs quotes',
  BAD_DQ_ESCAPE: 'an escape that YAML does not know; in single quotes a backslash is a backslash',
  BAD_INDENT: 'the indentation does not fit, or a bracket is not closed',
  BAD_SCALAR_START: 'a value that begins with @ or ` needs quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a second ": " on one line; a value that contains one needs quotes',
  BLOCK_IN_FLOW: 'a comma is missing, or a bracket is not closed',
  DUPLICATE_KEY: 'a key that is written twice in its section; join both, or remove one',
  MISSING_CHAR: 'a quote, a bracket, a comma or the space after a colon is missing',
  MULTILINE_IMPLICIT_KEY: 'the colon behind a key, or the space behind the colon, is missing',
  MULTIPLE_DOCS: 'a second document begins; remove the line with ---',
  TAB_AS_INDENT: 'a tab as indentation; use spaces',
  TAG_RESOLVE_FAILED: 'a tag; a value that begins with ! needs quotes',
}
const INVALID = 'invalid YAML; check quotes, brackets and indentation'
const UNREAD = 'YAML that is not read here: a key is a text, and values are nested 100 deep at most'

/** Faults of one value or key: what stands below them is read as it is meant. */
const ALONE: readonly YAMLError['code'][] = [
  'BAD_ALIAS',
  'BAD_DQ_ESCAPE',
  'BAD_SCALAR_START',
  'DUPLICATE_KEY',
  'TAG_RESOLVE_FAILED',
]

interface YamlFault {
  /** `null` where it is not known. */
  line: number | null
  message: string
}

/**
 * What is wrong in a text that is not one document of YAML, by lines. The parser that refused it stops at the first fault; this
 * one goes on. Behind a fault of indentation, quotes or brackets it may misread every line, so that only tabs are certain there.
 */
export function faultsOfYaml(text: string, refusal: YAMLException): YamlFault[] {
  const lines = new LineCounter()
  const { errors, warnings } = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const found = [...errors, ...warnings].sort((a, b) => a.pos[0] - b.pos[0])
  const refusedLine = refusal.mark === undefined ? null : refusal.mark.line + 1
  if (found.length === 0) return [{ line: refusedLine, message: UNREAD }]
  const last = found.findIndex(({ code }) => !ALONE.includes(code))
  const certain = found.filter(({ code }, index) => last === -1 || index <= last || code === 'TAB_AS_INDENT')
  return certain.map(error => faultOf(error, lines.linePos(error.pos[0]).line, refusedLine, text))
}

/** What the parser says of other kinds, where a line of a list stands too far left. */
const TOO_FAR_LEFT = /^(?:Sequence item without -|A block sequence)/

function faultOf({ code, message }: YAMLError, line: number, refusedLine: number | null, text: string): YamlFault {
  // A value that goes on in the line below it: that line stands too far right.
  const isOfNext = code === 'BLOCK_AS_IMPLICIT_KEY' && refusedLine !== null && refusedLine > line
  if (isOfNext || code === 'BAD_INDENT' || TOO_FAR_LEFT.test(message)) {
    const place = isOfNext ? refusedLine : line
    const isTab = /^ *\t/.test(text.split('\n')[place - 1] ?? '')
    return { line: place, message: WORDS[isTab ? 'TAB_AS_INDENT' : 'BAD_INDENT']! }
  }
  // A quote that is open at the end of the file was opened above the line that was refused.
  const isOpenQuote = code === 'MISSING_CHAR' && refusedLine !== null && refusedLine < line
  return { line: isOpenQuote ? refusedLine : line, message: WORDS[code] ?? INVALID }
}

import type { YAMLException } from 'js-yaml'
import { LineCounter, parseDocument, type YAMLError } from 'yaml'

/* The messages of the parser quote the faulty text, which may be a secret: so each kind of fault has its own words here. */
const WORDS: Partial<Record<YAMLError['code'], string>> = {
  BAD_ALIAS: 'an alias; a value that begins with * needs quotes',
  BAD_DQ_ESCAPE: 'an escape that YAML does not know; in single quotes a backslash is a backslash',
  BAD_INDENT: 'the indentation does not fit, or a bracket is not closed',
  BAD_SCALAR_START: 'a value that begins with @ or ` needs quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a second ": " on one line; a value that contains one needs quotes',
  DUPLICATE_KEY: 'a key that is written twice in its section; join both, or remove one',
  MISSING_CHAR: 'a quote, a bracket, a comma or the space after a colon is missing',
  MULTIPLE_DOCS: 'a second document begins; remove the line with ---',
  TAB_AS_INDENT: 'a tab as indentation; use spaces',
  TAG_RESOLVE_FAILED: 'a tag; a value that begins with ! needs quotes',
}
const INVALID = 'invalid YAML; check quotes, brackets and indentation'
const UNREAD = 'YAML that is not read here: a key is a text, and values are nested 100 deep at most'

interface YamlFault {
  /** `null` where it is not known. */
  line: number | null
  message: string
}

/**
 * What is wrong in a text that is not one document of YAML, by lines. The parser that refused it stops at the first fault;
 * this one goes on.
 */
export function faultsOfYaml(text: string, refusal: YAMLException): YamlFault[] {
  const lines = new LineCounter()
  const { errors, warnings } = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const faults = [...errors, ...warnings].map(({ code, pos }) => ({
    line: lines.linePos(pos[0]).line,
    message: WORDS[code] ?? INVALID,
  }))
  if (faults.length > 0) return faults
  const { line = 0 } = refusal.mark ?? {}
  return [{ line: line === 0 ? null : line + 1, message: UNREAD }]
}

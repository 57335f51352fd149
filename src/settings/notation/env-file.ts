import { readSource } from '../files-read.ts'
import { utf8Text } from './utf8.ts'

/**
 * The text of a file of variables, such as `.env`, without a byte order mark: with it the first name would be another one. `null` if
 * it is no text in UTF-8; in UTF-16 each name would have zero bytes in it.
 */
export function readEnvText(file: string): string | null {
  const text = utf8Text(readSource(file))
  return text === null || text.includes('\0') ? null : text.replace(/^\uFEFF/, '')
}

/** A line of a file of variables that is neither a comment nor an assignment. */
export interface Unassigned {
  /** Counted from 1. */
  line: number
  /** The name at its beginning. What follows may be a secret. */
  name: string
}

/** Begins an assignment of a value in quotes, which may have several lines. */
const QUOTED = /^([ \t]*[^#=\s][^=\n]*=[ \t]*)(["'`])[\s\S]*?\2[^\n]*/gm
const ASSIGNMENT = /^\s*(?:export\s+)?[\w.-]+\s*=/

/**
 * The assignments of such a text, and its other lines. Node 20 reads a line without `=` as the beginning of the next name, so that
 * the variable of the next line is lost, too.
 */
export function splitEnv(text: string): { assigned: string; unassigned: Unassigned[] } {
  const shown = text.replace(QUOTED, (value, begin: string) => begin + value.replace(/[^\n]/g, '')).split('\n')
  const isOther = shown.map(line => !/^\s*(?:#|$)/.test(line) && !ASSIGNMENT.test(line))
  return {
    assigned: text
      .split('\n')
      .map((line, index) => (isOther[index] ? '' : line))
      .join('\n'),
    unassigned: shown.flatMap((line, index) =>
      isOther[index] ? [{ line: index + 1, name: /^\s*(?:export\s+)?(\w*)/.exec(line)![1]! }] : [],
    ),
  }
}

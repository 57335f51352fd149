import { readFileSync } from 'node:fs'
import { utf8Text } from './utf8.ts'

/**
 * The text of a file of variables, such as `.env`, without a byte order mark: with it the first name would be another one. `null` if
 * it is no text in UTF-8; in UTF-16 each name would have zero bytes in it.
 */
export function readEnvText(file: string): string | null {
  const text = utf8Text(readFileSync(file))
  return text === null || text.includes('\0') ? null : text.replace(/^\uFEFF/, '')
}

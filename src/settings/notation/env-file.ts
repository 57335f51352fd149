import { readFileSync } from 'node:fs'

export const NOT_UTF8 = 'is not text in UTF-8; save it in this encoding'

/**
 * The text of a file of variables, such as `.env`, without a byte order mark: with it the first name would be another one. `null` if
 * it is no text in UTF-8; in UTF-16 each name would have zero bytes in it.
 */
export function readEnvText(file: string): string | null {
  const bytes = readFileSync(file)
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return text.includes('\0') ? null : text
  } catch {
    return null
  }
}

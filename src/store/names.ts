import type { Extra } from '../session/record.ts'

/** Only this many characters of a name are indexed, which bounds the size of the index. */
const MAX_NAME_LENGTH = 64

/**
 * A text in the one form in which names and keywords are compared. Upper case, because it depends on no neighbour: the
 * lower case of a Greek sigma does. Without control characters and halves of characters, so that it can be stored as
 * UTF-8 between separators and be read as it was.
 */
export const fold = (text: string): string =>
  text
    .normalize('NFC')
    .toUpperCase()
    .replace(/[\p{Cc}\p{Cs}]/gu, '\ufffd')

/** The folded text that keywords are searched in: the username and the nickname in a record's `extra`. */
export function namesOf(extra: Extra): string[] {
  const names = [extra.username, extra.nickname]
    .filter(name => typeof name === 'string' || typeof name === 'number')
    .map(name => charactersOf(fold(String(name)), MAX_NAME_LENGTH))
  return [...new Set(names)].filter(name => name !== '')
}

/** The first characters of a text, none of them cut in two. */
export function charactersOf(text: string, limit: number): string {
  return text.length <= limit ? text : Array.from(text).slice(0, limit).join('')
}

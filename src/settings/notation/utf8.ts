import { isUtf8 } from 'node:buffer'

export const NOT_UTF8 = 'is not UTF-8 text; save it in this encoding'

/** The text of a file; `null` in another encoding than UTF-8, of which each byte that does not fit would become U+FFFD. */
export const utf8Text = (bytes: Buffer): string | null => (isUtf8(bytes) ? bytes.toString('utf8') : null)

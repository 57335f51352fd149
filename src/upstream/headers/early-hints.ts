import type { HeaderEdits } from './header-edits.ts'

/**
 * A 103 (Early Hints) of an upstream, as bytes in latin1; `null` if it hints at nothing. Only its `Link` fields are passed
 * on: other fields of a 103 say nothing that a client may act on before the final response (RFC 8297 2).
 */
export function earlyHints(raw: readonly string[], edits: HeaderEdits | null): string | null {
  if (edits?.removes('link')) return null
  let fields = ''
  for (let i = 0; i < raw.length; i += 2) {
    if (raw[i]!.toLowerCase() === 'link') fields += `Link: ${raw[i + 1]}\r\n`
  }
  return fields === '' ? null : `HTTP/1.1 103 Early Hints\r\n${fields}\r\n`
}

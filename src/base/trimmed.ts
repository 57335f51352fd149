const SPACE = 32
const TAB = 9

const isBlank = (code: number): boolean => code === SPACE || code === TAB

/** Part of a text without the blanks of HTTP (RFC 9110 5.6.3) at its ends. All other white space is kept: it has a meaning there. */
export function trimmed(text: string, from = 0, to = text.length): string {
  let [start, end] = [from, to]
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

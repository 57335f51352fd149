/*
 * A line of the log for a person at a terminal: time, level, message and fields, then the stack of a fault. What a client sent
 * may be in there, so nothing reaches the terminal that could control it.
 */

const LEVELS: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}

/** Text that needs no quotes. */
const BARE = /^[!#-<>-[\]-~]+$/
/** Control characters that JSON leaves as they are: DEL, C1, and those that change the direction of a text. */
const CONTROLS = /[\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** The text for one line of JSON, as `createLog` writes it. */
export function textOfLine(line: string): string {
  const { level, time, pid: _, msg, err, ...fields } = JSON.parse(line) as Record<string, unknown>
  const words = [String(time).slice(11, 19), (LEVELS[level as number] ?? String(level)).padEnd(5), plain(String(msg))]
  for (const [name, value] of Object.entries(fields)) words.push(`${plain(name)}=${fieldText(value)}`)
  return `${words.join(' ')}\n${err === undefined ? '' : faultOf(err)}`
}

function fieldText(value: unknown): string {
  return typeof value === 'string' && BARE.test(value) ? value : plain(JSON.stringify(value))
}

/** The stack names the fault; without one, as for what is not an `Error`, it is shown whole. */
function faultOf(fault: unknown): string {
  const { stack, cause } = Object(fault) as { stack?: unknown; cause?: unknown }
  const text = typeof stack === 'string' ? stack : JSON.stringify(fault)
  const lines = text.split('\n').map(line => `  ${plain(line)}\n`)
  return lines.join('') + (cause === undefined ? '' : `  caused by:\n${faultOf(cause)}`)
}

/** A text that cannot control a terminal: with escapes for control characters. */
export const plain = (text: string): string => text.replace(/[\u0000-\u001f]/g, escaped).replace(CONTROLS, escaped)

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

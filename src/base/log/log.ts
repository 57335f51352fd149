import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino'
import { nonBlocking } from '../../workarounds/node-output.ts'
import { systemClock } from '../clock.ts'
import { Outage, Unavailable } from '../refusal.ts'
import { Output } from './output.ts'
import { textOfLine } from './terminal-line.ts'

export type { Logger } from 'pino'

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/**
 * The log: one JSON object per line. Lines carry ids (`jti`, login ids, trace ids), never tokens, passwords or answers.
 * Without another destination they go to standard output, in batches; to a terminal as text.
 */
export function createLog(level: LogLevel, destination?: DestinationStream): Logger {
  const output = destination ?? readable(standardOutput(), process.stdout)
  const log = pino({ ...optionsOf(timeField), level }, output)
  if (destination === undefined)
    standardOutput().onDropped = lines => log.warn({ lines }, 'lines were dropped: the reader of the log was too slow')
  destinations.set(log, output)
  return log
}

const optionsOf = (timestamp: () => string): LoggerOptions => ({
  base: { pid: process.pid },
  timestamp,
  // A request or response object in a line would carry its headers, and with them the token.
  serializers: { req: () => undefined, res: () => undefined, err: fault => describeFault(fault) },
})

/** What writes to a stream: as text if a person reads it at a terminal. */
export const readable = (output: Output, { isTTY }: { isTTY?: boolean }): DestinationStream =>
  isTTY === true ? { write: line => output.write(textOfLine(line)) } : output

const STANDARD_OUTPUT = 1
let standard: Output | null = null

/** All logs of this process share it, so that their lines stay in order. */
function standardOutput(): Output {
  if (standard === null) {
    const output = new Output(STANDARD_OUTPUT, nonBlocking(process.stdout))
    process.on('exit', endLog)
    standard = output
  }
  return standard
}

/** Writes the lines that are left, for a process that ends. */
export function endLog(): void {
  standard?.end()
}

/** A second, and what pino's field of the time has up to its milliseconds. */
let second = 0
let untilMilliseconds = ''

/** The field that pino's own `isoTime` makes, without a date for every line. */
function timeField(): string {
  const now = systemClock.now()
  if (now < second || now >= second + 1000) {
    second = now - (now % 1000)
    untilMilliseconds = `,"time":"${new Date(second).toISOString().slice(0, -4)}`
  }
  return `${untilMilliseconds}${String(now - second).padStart(3, '0')}Z"`
}

/** Where the logs of `createLog` write; others may have settings that change a line on its way, such as `redact`. */
const destinations = new WeakMap<Logger, DestinationStream>()

/**
 * Writes lines of level info with this message. Their fields are JSON text, each behind a comma. A line is what `info`
 * would write, at a third of its cost. For a log that was made elsewhere, `info` writes it.
 */
export function createLineWriter(log: Logger, message: string): (fields: string) => void {
  const destination = destinations.get(log)
  if (destination === undefined) return fields => log.info(JSON.parse(`{${fields.slice(1)}}`), message)
  const [head, bindings, end] = frameOf(message)
  const info = pino.levels.values.info!
  return fields => {
    if (log.levelVal <= info) destination.write(head + timeField() + bindings + fields + end)
  }
}

/** What pino writes before the time of a line, between the time and the fields, and behind them. */
function frameOf(message: string): string[] {
  let line = ''
  const write = (text: string): void => {
    line = text
  }
  // JSON has no control characters.
  pino(
    optionsOf(() => '\0'),
    { write },
  ).info({ fields: 0 }, message)
  return line.split(/\0|,"fields":0/)
}

/** Text that JSON has as it is. */
const PLAIN = /^[ !#-[\]-~]*$/

/** Text as a JSON string. */
export const quoted = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text))

/**
 * The logged parts of a fault: class, message, stack, and the same of its causes, without fields that libraries attach. An
 * outage has no stack.
 */
function describeFault(fault: unknown, hasStack = true): unknown {
  if (!(fault instanceof Error)) return String(fault)
  const { name, message, stack, cause } = fault
  const code = (fault as { code?: unknown }).code
  const isTraced = hasStack && !(fault instanceof Outage) && !(fault instanceof Unavailable)
  return {
    type: name,
    message,
    ...(typeof code === 'string' && { code }),
    ...(isTraced && { stack }),
    ...(cause !== undefined && { cause: describeFault(cause, isTraced) }),
  }
}

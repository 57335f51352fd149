import { type DestinationStream, type Logger, pino } from 'pino'

export type { Logger } from 'pino'

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** The log: one JSON object per line. Lines carry ids (`jti`, login ids, trace ids), never tokens, passwords or answers. */
export function createLog(level: LogLevel, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    // A request or response object in a line would carry its headers, and with them the token.
    serializers: { req: () => undefined, res: () => undefined, err: describeFault },
  }
  return destination === undefined ? pino(options) : pino(options, destination)
}

/** A pipe accepts this many bytes as a whole, whatever other processes write to it: the lines of several workers stay whole. */
const PIPE_BYTES = 4096
/** Bytes of lines that wait for a slow reader; further lines are dropped and counted. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024
/** How long a line may wait to be written together with others, in milliseconds. */
const MAX_DELAY = 100

/** A log whose lines are written in batches by another thread: for one line per request; a crash may lose a few. */
export function createBatchedLog(level: LogLevel): Logger {
  const output = pino.destination({
    dest: 1,
    sync: false,
    minLength: PIPE_BYTES / 2,
    maxWrite: PIPE_BYTES,
    maxLength: MAX_WAITING_BYTES,
    periodicFlush: MAX_DELAY,
  })
  const log = createLog(level, output)
  let dropped = 0
  output.on('drop', () => dropped++)
  output.on('drain', () => {
    if (dropped === 0) return
    const lines = dropped
    dropped = 0
    log.warn({ lines }, 'lines were dropped: the reader of the log was too slow')
  })
  return log
}

/**
 * The logged parts of a fault: class, message, stack, and the same of its causes, without fields that libraries attach.
 */
function describeFault(fault: unknown): unknown {
  if (!(fault instanceof Error)) return String(fault)
  const { name, message, stack, cause } = fault
  const code = (fault as { code?: unknown }).code
  return {
    type: name,
    message,
    ...(typeof code === 'string' && { code }),
    stack,
    ...(cause !== undefined && { cause: describeFault(cause) }),
  }
}

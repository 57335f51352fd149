import { writeSync } from 'node:fs'
import { createLog } from '../log.ts'

const STANDARD_ERROR = 2

/**
 * Ends the process on a fault that nobody caught, with one line about it. Node would print every field that a library hung
 * on the fault: of a command to Redis that failed, its arguments, and with them a token.
 */
export function reportCrashes(): void {
  const log = createLog('fatal', { write: line => void writeSync(STANDARD_ERROR, line) })
  process.on('uncaughtException', fault => {
    log.fatal({ err: fault }, 'crashed')
    process.exit(1)
  })
}

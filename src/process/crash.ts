import { writeSync } from 'node:fs'
import { createLog } from '../log.ts'

const STANDARD_ERROR = 2

/**
 * Ends the process after an uncaught fault and logs one line. Node would print every field that a library attached to
 * the fault. For a failed Redis command these include the arguments, and with them a token.
 */
export function reportCrashes(): void {
  const log = createLog('fatal', { write: line => void writeSync(STANDARD_ERROR, line) })
  process.on('uncaughtException', fault => {
    log.fatal({ err: fault }, 'crashed')
    process.exit(1)
  })
}

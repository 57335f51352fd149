import { createLog, readable } from '../base/log/log.ts'
import { Output } from '../base/log/output.ts'
import { nonBlocking } from '../workarounds/node-output.ts'

const STANDARD_ERROR = 2

/**
 * Ends the process after an uncaught fault and logs it. Node would print every field that a library attached to
 * the fault. For a failed Redis command these include the arguments, and with them a token.
 */
export function reportCrashes(): void {
  const output = new Output(STANDARD_ERROR, nonBlocking(process.stderr))
  const log = createLog('fatal', readable(output, process.stderr))
  process.on('uncaughtException', fault => {
    log.fatal({ err: fault }, 'crashed')
    output.end()
    process.exit(1)
  })
}

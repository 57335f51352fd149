import { closeSync, openSync } from 'node:fs'

/** Ends this process if SIGHUP came because its terminal was closed; returns whether it did. */
export function endsWithTerminal(): boolean {
  if (!isTerminalGone()) return false
  // As without a listener: without a terminal Node cannot end in another way.
  process.removeAllListeners('SIGHUP')
  process.kill(process.pid, 'SIGHUP')
  return true
}

/** A process also gets SIGHUP when its terminal is closed; then /dev/tty cannot be opened. */
function isTerminalGone(): boolean {
  if (!process.stdout.isTTY) return false
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return false
  } catch {
    return true
  }
}

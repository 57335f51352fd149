/** Data that is ready to be written to a socket. */
export interface PendingWrite {
  writeNow(): void
}

let waiting: PendingWrite[] = []

/**
 * Writes at the end of this turn of the event loop, together with all other data that became ready in it. Waking a
 * sleeping reader is the most expensive part of a small write. Among consecutive writes only the first has to wake it,
 * but each of several separate writes would. A single write of a turn does not wait.
 */
export function writeAtEndOfTurn(pending: PendingWrite): void {
  if (waiting.push(pending) === 1) setImmediate(writePending)
}

function writePending(): void {
  const writes = waiting
  waiting = []
  for (const pending of writes) pending.writeNow()
}

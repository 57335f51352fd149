/** Something that is ready to be written to a socket. */
export interface PendingWrite {
  writeNow(): void
}

let waiting: PendingWrite[] = []

/**
 * Writes at the end of this turn of the event loop, with everything else that became ready in it. To wake a reader that
 * sleeps is the dearest part of a small write: among writes in a row only the first has to, where each of those that are
 * strewn over the turn would. What is alone in its turn waits for nothing.
 */
export function writeAtEndOfTurn(pending: PendingWrite): void {
  if (waiting.push(pending) === 1) setImmediate(writePending)
}

function writePending(): void {
  const writes = waiting
  waiting = []
  for (const pending of writes) pending.writeNow()
}

/** Something that is ready to be written to a socket. */
export interface Departure {
  depart(): void
}

let waiting: Departure[] = []

/**
 * Writes at the end of this turn of the event loop, with everything else that became ready in it. To wake a reader that
 * sleeps is the dearest part of a small write: among writes in a row only the first has to, where each of those that are
 * strewn over the turn would. What is alone in its turn waits for nothing.
 */
export function departWithTurn(departure: Departure): void {
  if (waiting.push(departure) === 1) setImmediate(departAll)
}

function departAll(): void {
  const departing = waiting
  waiting = []
  for (const departure of departing) departure.depart()
}

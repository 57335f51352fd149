import type { Client } from 'undici'

/** A credential that is accepted for so long after its end was not ended at all, in milliseconds. */
const TOO_LONG = 30_000

export interface UsedWhileEnded {
  clients: readonly Client[]
  /** Uses the credential once; whether it was accepted. */
  use(client: Client): Promise<boolean>
  /** Resolves when the end is acknowledged. */
  end(): Promise<void>
}

/**
 * Ends a credential while all clients use it: milliseconds by which uses were sent after the answer to its end, and accepted. Returns
 * when it is refused to each of them.
 */
export async function lateUses({ clients, use, end }: UsedWhileEnded): Promise<number[]> {
  if (!(await Promise.all(clients.map(use))).every(accepted => accepted)) throw new Error('a new one was refused')
  let answered = Number.POSITIVE_INFINITY
  const late: number[] = []
  const uses = clients.map(async client => {
    for (;;) {
      const sent = performance.now()
      if (!(await use(client))) return
      if (sent - answered > TOO_LONG) throw new Error('it was not ended')
      if (sent > answered) late.push(sent - answered)
    }
  })
  await Promise.all([...uses, end().then(() => (answered = performance.now()))])
  return late
}

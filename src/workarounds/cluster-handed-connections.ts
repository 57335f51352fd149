import type { Worker } from 'node:cluster'

/*
 * Seen in: Node 20.20.2 and 26.10.0. The primary of node:cluster passes each connection that it accepts to a worker, and waits for
 * an acknowledgement. If the worker crashes before, nothing closes the connection. If no worker accepts any more, a refused one
 * is kept for the next worker.
 * Upstream: https://github.com/nodejs/node/issues/21746 (closed), https://github.com/nodejs/node/pull/21940 (not merged).
 * Without it: clients whose connection was on its way to a crashed worker, or arrives while the last one stops, wait for ever.
 * Until: node:cluster closes them.
 */

/** A connection that the primary accepted and passes on; node:cluster has no type for it. */
interface Handle {
  close(): void
}

/** How long another worker may take to accept a connection that a stopping worker refused, in milliseconds. */
const CLAIM_LIMIT = 1000

const unclaimed = new Set<Handle>()

/** The connections that are passed to a worker. Closing an acknowledged one does nothing. */
export class HandedConnections {
  /** Whether other workers accept what this one refuses. */
  hasSuccessor = true
  /** Connections that the worker has not acknowledged yet, by the number of the message that brought them. */
  readonly #handed = new Map<number, Handle>()

  constructor({ process: child }: Worker) {
    const send = child.send as (...words: unknown[]) => boolean
    child.send = (...words: unknown[]): boolean => {
      const [message, handle] = words as [{ seq?: number }, Handle | undefined]
      if (message.seq !== undefined && handle != null && 'close' in handle) {
        this.#handed.set(message.seq, handle)
        unclaimed.delete(handle)
      }
      return send.apply(child, words)
    }
    child.on('internalMessage', ({ ack, accepted }: { ack?: number; accepted?: boolean }) => {
      const handle = ack === undefined ? undefined : this.#handed.get(ack)
      if (handle === undefined) return
      this.#handed.delete(ack!)
      if (accepted === false && !this.hasSuccessor) turnAwayUnlessClaimed(handle)
    })
  }

  /** Ends the connections on their way: the worker is gone. */
  end(): void {
    for (const handle of this.#handed.values()) handle.close()
    this.#handed.clear()
  }
}

function turnAwayUnlessClaimed(handle: Handle): void {
  unclaimed.add(handle)
  setTimeout(() => {
    if (unclaimed.delete(handle)) handle.close()
  }, CLAIM_LIMIT)
}

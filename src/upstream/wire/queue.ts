import type { Receiver, UpstreamRequest } from './receiver.ts'

export interface Waiting {
  readonly request: UpstreamRequest
  readonly receiver: Receiver
  readonly timer: NodeJS.Timeout
}

/**
 * Requests that wait for a connection: those of one client in their order, the clients in turn. So a client with
 * thousands of waiting requests delays another client by one of them.
 */
export class Queue {
  readonly #byReceiver = new Map<Receiver, Waiting>()
  readonly #byClient = new Map<string, Map<Receiver, Waiting>>()

  get size(): number {
    return this.#byReceiver.size
  }

  /** The number of waiting requests of this client. */
  sizeOf(client: string): number {
    return this.#byClient.get(client)?.size ?? 0
  }

  add(waiting: Waiting): void {
    const { receiver, request } = waiting
    const own = this.#byClient.get(request.client)
    if (own === undefined) this.#byClient.set(request.client, new Map([[receiver, waiting]]))
    else own.set(receiver, waiting)
    this.#byReceiver.set(receiver, waiting)
  }

  /** Removes one, if it waits, and stops its timer. */
  remove(receiver: Receiver): void {
    const waiting = this.#byReceiver.get(receiver)
    if (waiting === undefined) return
    clearTimeout(waiting.timer)
    this.#byReceiver.delete(receiver)
    const { client } = waiting.request
    const own = this.#byClient.get(client)!
    own.delete(receiver)
    if (own.size === 0) this.#byClient.delete(client)
  }

  /** Removes the next request whose client may have a connection. */
  next(mayHaveOne: (client: string) => boolean): Waiting | null {
    for (const [client, own] of this.#byClient) {
      if (!mayHaveOne(client)) continue
      const waiting = own.values().next().value as Waiting
      this.remove(waiting.receiver)
      // The other clients come first now.
      if (own.size > 0) {
        this.#byClient.delete(client)
        this.#byClient.set(client, own)
      }
      return waiting
    }
    return null
  }

  /** Removes all. */
  *drain(): Iterable<Waiting> {
    for (const [receiver, waiting] of this.#byReceiver) {
      this.remove(receiver)
      yield waiting
    }
  }
}

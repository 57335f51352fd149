import { Cluster, type Redis } from 'ioredis'
import { Deadline } from '../../../base/deadline.ts'
import type { RedisClient } from './client.ts'

/*
 * A connection on which an answer is expected and nothing arrives is ended, and made anew. The library's `socketTimeout` does
 * the same, but after a stall of this process it ends a connection before it reads the answers that have arrived.
 */

/** Follows which answers are expected from a client's servers. */
export class Silence {
  /** An answer has stayed away for the timeout, although others may have arrived. */
  readonly late: () => void
  readonly #deadline: Deadline
  readonly #bytes: () => number
  #expected = 0
  #received = 0

  /**
   * `silent` is called when nothing has arrived for `timeout` milliseconds; `bytes` says how much has arrived. The answers to a
   * pipeline are known to us only when the last of them is there.
   */
  constructor(timeout: number, silent: () => void, bytes: () => number, late: () => void = () => undefined) {
    this.late = late
    this.#bytes = bytes
    this.#deadline = new Deadline(timeout, () => {
      if (this.#hasReceived()) this.#deadline.restart()
      else silent()
    })
    this.#deadline.clear()
  }

  #hasReceived(): boolean {
    const before = this.#received
    this.#received = this.#bytes()
    return this.#received !== before
  }

  sent(): void {
    if (this.#expected++ > 0) return
    this.#received = this.#bytes()
    this.#deadline.restart()
  }

  /** Answered, or failed. */
  settled(): void {
    if (--this.#expected === 0) this.#deadline.clear()
    else this.#deadline.restart()
  }
}

const silences = new WeakMap<RedisClient, Silence>()

/** Ends the connections of a client that are silent. `onSilent` is notified of it. */
export function endWhenSilent(client: RedisClient, timeout: number, onSilent: () => void = () => undefined): void {
  if (client instanceof Cluster) {
    watchNodes(client, timeout)
    return
  }
  const silent = (): void => {
    onSilent()
    client.disconnect(true)
  }
  const silence = new Silence(timeout, silent, () => client.stream?.bytesRead ?? 0)
  silences.set(client, silence)
  // The handshake: the library sends it itself.
  let isOpening = false
  const opened = (): void => {
    if (isOpening) silence.settled()
    isOpening = false
  }
  client.on('connect', () => {
    opened()
    isOpening = true
    silence.sent()
  })
  client.on('ready', opened).on('close', opened)
}

/**
 * Which node a command goes to is known to the library only. When an answer is late, each node is sent a PING, and those that
 * do not answer it either are disconnected.
 */
function watchNodes(cluster: Cluster, timeout: number): void {
  cluster.on('+node', (node: Redis) => endWhenSilent(node, timeout))
  const probe = (): void => {
    for (const node of cluster.nodes('all'))
      if (node.status === 'ready') answerOf(node, node.ping()).catch(() => undefined)
  }
  silences.set(cluster, new Silence(timeout, probe, () => 0, probe))
}

/** `undefined` for a client whose answers are not followed. */
export const silenceOf = (client: RedisClient): Silence | undefined => silences.get(client)

/** A command that was sent on a connection and whose answer is expected. */
export async function answerOf<T>(client: RedisClient, answer: Promise<T>): Promise<T> {
  const silence = silenceOf(client)
  silence?.sent()
  try {
    return await answer
  } finally {
    silence?.settled()
  }
}

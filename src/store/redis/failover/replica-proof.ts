import type { Redis } from 'ioredis'
import { Deadline } from '../../../base/deadline.ts'
import type { Gate } from '../commands/send-command.ts'
import { cut } from '../connection/connections.ts'
import { answerOf } from '../connection/silence.ts'
import { identityOf } from './server-gate.ts'

/** How many replicas have to have a change, and how long they may take, in milliseconds. */
export interface ReplicaSettings {
  replicas: number
  timeout: number
}

/** How long the key lives that is written for a proof, in milliseconds. */
const MARK_LIFETIME = 60_000

/**
 * Proves that replicas have everything that was changed before. Replication is one ordered stream, and WAIT counts the
 * replicas that have what its own connection wrote: so a mark is written on a connection of its own, on which nothing but
 * the next proof is held up. What is to be proven meanwhile is proven together by that next one.
 */
export class ReplicaProof {
  readonly #line: Redis
  readonly #key: string
  readonly #gate: Gate
  readonly #settings: ReplicaSettings
  /** Which server the line has reached. */
  #identity: Promise<string> | null = null
  #waiting = new Set<(isProven: boolean) => void>()
  #isProving = false

  /** `line` carries nothing but proofs. */
  constructor(line: Redis, key: string, gate: Gate, settings: ReplicaSettings) {
    this.#key = key
    this.#gate = gate
    this.#settings = settings
    this.#line = line
    this.#line.on('close', () => {
      this.#identity = null
    })
    this.#line.on('ready', () => {
      this.#identity = identityOf(this.#line)
      this.#identity.catch(() => undefined)
    })
  }

  /** Whether enough replicas have what was changed before, as far as it is known within the timeout. Never rejects. */
  prove(): Promise<boolean> {
    return new Promise(resolve => {
      const settle = (isProven: boolean): void => {
        deadline.clear()
        this.#waiting.delete(settle)
        resolve(isProven)
      }
      const deadline = new Deadline(this.#settings.timeout, () => settle(false))
      this.#waiting.add(settle)
      if (!this.#isProving) void this.#proveAll()
    })
  }

  async #proveAll(): Promise<void> {
    this.#isProving = true
    while (this.#waiting.size > 0) {
      const waiting = this.#waiting
      this.#waiting = new Set()
      const isProven = await this.#proveOnce().catch(() => false)
      for (const settle of waiting) settle(isProven)
    }
    this.#isProving = false
  }

  async #proveOnce(): Promise<boolean> {
    const { replicas, timeout } = this.#settings
    const { server } = this.#gate
    // The changes have to be on the server that the line has reached.
    if (server === null || (await this.#identity) !== server.id) return false
    const mark = answerOf(this.#line, this.#line.set(this.#key, '1', 'PX', MARK_LIFETIME))
    const [, reached] = await Promise.all([mark, answerOf(this.#line, this.#line.wait(replicas, timeout))])
    return reached >= replicas && this.#gate.server === server
  }

  close(): void {
    cut(this.#line)
  }
}

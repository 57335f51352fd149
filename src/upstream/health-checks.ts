import type { HealthSettings } from '../settings/schema/targets.ts'
import type { UpstreamTls } from '../settings/tls.ts'
import type { HttpTarget } from './targets.ts'
import { type Connect, createConnect } from './wire/connect.ts'
import { Connection } from './wire/connection.ts'
import type { Receiver } from './wire/receiver.ts'

/** Checks one target repeatedly, each time with a new connection. */
export class HealthChecks {
  readonly #target: HttpTarget
  readonly #settings: HealthSettings
  readonly #connect: Connect
  /** Checks in a row with the same result. */
  #inARow = 0
  #lastWasGood = true
  #next: NodeJS.Timeout | null = null
  #current: Connection | null = null

  constructor(target: HttpTarget, settings: HealthSettings, tls: UpstreamTls) {
    this.#target = target
    this.#settings = settings
    this.#connect = createConnect(target.address, settings.timeout, tls)
  }

  /** The first check is at once; a target counts as healthy until then. */
  start(): void {
    this.#check()
  }

  stop(): void {
    if (this.#next !== null) clearTimeout(this.#next)
    const current = this.#current
    this.#current = null
    current?.close()
  }

  #check(): void {
    const { path, timeout, interval } = this.#settings
    const settle = (fault: Error | null): void => {
      if (this.#current !== current) return
      this.#current = null
      current.close()
      this.#note(fault)
      this.#next = setTimeout(() => this.#check(), interval).unref()
    }
    const current = checkOnce({ connect: this.#connect, authority: this.#target.authority, path, timeout }, settle)
    this.#current = current
  }

  #note(fault: Error | null): void {
    const isGood = fault === null
    this.#inARow = isGood === this.#lastWasGood ? this.#inARow + 1 : 1
    this.#lastWasGood = isGood
    const needed = isGood ? this.#settings.successes : this.#settings.failures
    if (this.#inARow >= needed) this.#target.checked(isGood, fault)
  }
}

export interface Check {
  connect: Connect
  authority: string
  path: string
  /** For connection and answer together, in milliseconds. */
  timeout: number
}

/** One check on a connection of its own, which is to be closed; settles once, with `null` for a success. */
export function checkOnce({ connect, authority, path, timeout }: Check, settled: (fault: Error | null) => void) {
  const connection = new Connection({
    connect,
    responseLimit: timeout,
    idleLimit: timeout,
    onFree: () => {},
    onGone: () => {},
    onUnsent: () => {},
  })
  let isSettled = false
  const settle = (fault: Error | null): void => {
    if (isSettled) return
    isSettled = true
    clearTimeout(limit)
    settled(fault)
  }
  const limit = setTimeout(() => settle(new Error(`not answered in ${timeout} ms`)), timeout).unref()
  const headers = ['host', authority, 'user-agent', 'dualgate']
  connection.send({ method: 'GET', path, headers, body: null, client: '' }, receiverOf(settle))
  return connection
}

/** The head of the answer is sufficient. */
function receiverOf(settle: (fault: Error | null) => void): Receiver {
  return {
    onConnect() {},
    onHeaders(status) {
      if (status >= 200) settle(status < 400 ? null : new Error(`answered with ${status}`))
    },
    onData() {},
    onAwait() {},
    onComplete() {},
    onError: settle,
  }
}

import { randomUUID } from 'node:crypto'
import type { Agent } from 'undici'
import type { Clock } from '../base/clock.ts'
import { within } from '../base/deadline.ts'
import { SIGNATURE_HEADER, sign } from '../base/hmac.ts'
import type { Logger } from '../base/log/log.ts'
import { isUnproven, type Publish, type SessionEvent } from './event.ts'

/** Events that wait for one receiver. Beyond it the oldest are dropped, and the log has their number. */
const MAX_WAITING = 10_000
/** Beyond it, failed logins are dropped as they come: so they never displace another event. */
const MAX_WAITING_FAILURES = 1000
/** Pauses between attempts, in milliseconds; the last is repeated until `give_up_after`. */
const BACK_OFF = [500, 1000, 2000, 5000, 15_000, 30_000, 60_000]

/** A receiver of events; times in milliseconds. */
export interface Receiver {
  url: string
  /** Key of the signature. */
  secret: string
  /** How long one attempt may take. */
  timeout: number
  /** For how long after it happened an event that was not delivered is sent again. */
  give_up_after: number
}

export interface Webhooks {
  publish: Publish
  /** Sends waiting events for up to `limit` milliseconds, then drops the rest. */
  close(limit: number): Promise<void>
}

type Client = Pick<typeof import('undici'), 'Agent' | 'request'>

interface Delivery {
  id: string
  body: string
  since: number
}

/**
 * Sends every event to every receiver, in order, at least once while this process lives: an event is posted until it is
 * answered with a 2xx, so an event whose answer was lost arrives again with the same `id`. The body is signed
 * (`../base/hmac.ts`).
 */
export async function createWebhooks(receivers: readonly Receiver[], clock: Clock, log: Logger): Promise<Webhooks> {
  const lines = await linesTo(receivers, clock, log)
  return {
    publish(event) {
      for (const line of lines) line.add(event)
    },
    async close(limit) {
      await Promise.all(lines.map(line => line.close(limit)))
    },
  }
}

/** Without receivers the HTTP client is not loaded: loading it takes a tenth of the start. */
async function linesTo(receivers: readonly Receiver[], clock: Clock, log: Logger): Promise<Line[]> {
  if (receivers.length === 0) return []
  const client = await import('undici')
  return receivers.map(receiver => new Line(receiver, client, clock, log))
}

/** The events that wait for one receiver. */
class Line {
  readonly #receiver: Receiver
  readonly #clock: Clock
  readonly #log: Logger
  readonly #request: Client['request']
  readonly #agent: Agent
  #isClosed = false
  /** Ends the attempt under way. */
  #attempt: AbortController | null = null
  #waiting: Delivery[] = []
  #sending: Promise<void> | null = null
  /** Attempts that have failed since the last one that did not. */
  #failures = 0
  /** Ends the pause before the next attempt. */
  #wake = (): void => undefined
  #lost = 0

  constructor(receiver: Receiver, { Agent, request }: Client, clock: Clock, log: Logger) {
    this.#receiver = receiver
    this.#request = request
    this.#clock = clock
    this.#log = log
    // The time limit is for the whole attempt: of an answer that comes a little at a time, no part is late.
    this.#agent = new Agent({
      connections: 1,
      connect: { timeout: receiver.timeout },
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  add(event: SessionEvent): void {
    if (this.#isClosed) return
    const id = randomUUID()
    const body = JSON.stringify({ id, at: new Date(this.#clock.now()).toISOString(), ...event })
    if (isUnproven(event) && this.#waiting.length >= MAX_WAITING_FAILURES) {
      this.#lost++
      return
    }
    if (this.#waiting.length >= MAX_WAITING) {
      this.#waiting.shift()
      this.#lost++
    }
    this.#waiting.push({ id, body, since: this.#clock.elapsed() })
    this.#sending ??= this.#sendAll()
  }

  async #sendAll(): Promise<void> {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const delivered = await this.#send(next)
      if (this.#isClosed) return
      this.#failures = delivered ? 0 : this.#failures + 1
      const givenUp = !delivered && this.#clock.elapsed() - next.since > this.#receiver.give_up_after
      if (givenUp) this.#lost++
      if (delivered || givenUp) {
        // Meanwhile the queue may have become too long and dropped its first event.
        if (this.#waiting[0] === next) this.#waiting.shift()
      }
      // After each attempt: while a receiver is away, its events may wait for an hour.
      this.#reportLost()
      if (!delivered) await this.#pause()
    }
    // In the same turn: an event that comes next begins anew.
    this.#sending = null
  }

  #pause(): Promise<void> {
    const longest = BACK_OFF[Math.min(this.#failures, BACK_OFF.length) - 1]!
    return new Promise(resolve => {
      const timer = setTimeout(resolve, longest * (0.5 + Math.random() / 2)).unref()
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  async #send({ id, body }: Delivery): Promise<boolean> {
    // In the pause before it.
    if (this.#isClosed) return false
    const { url, timeout } = this.#receiver
    const attempt = new AbortController()
    this.#attempt = attempt
    try {
      const status = await within(timeout, this.#post(body, attempt.signal), () => {
        throw new Error(`no answer within ${timeout} ms`)
      })
      if (status >= 200 && status < 300) return true
      this.#log.warn({ webhook: new URL(url).host, event_id: id, status }, 'webhook not accepted')
    } catch (fault) {
      if (this.#isClosed) return false
      this.#log.warn({ webhook: new URL(url).host, event_id: id, err: fault }, 'webhook not delivered')
    } finally {
      attempt.abort()
    }
    return false
  }

  /** The status of the answer, which has arrived as a whole. */
  async #post(body: string, signal: AbortSignal): Promise<number> {
    const { url, secret } = this.#receiver
    const signature = sign(body, [secret], this.#clock.now())
    const headers = { 'content-type': 'application/json', [SIGNATURE_HEADER]: signature }
    const answer = await this.#request(url, { method: 'POST', headers, body, dispatcher: this.#agent, signal })
    await answer.body.dump()
    return answer.statusCode
  }

  #reportLost(): void {
    if (this.#lost === 0) return
    this.#log.error({ webhook: new URL(this.#receiver.url).host, events: this.#lost }, 'webhook events dropped')
    this.#lost = 0
  }

  async close(limit: number): Promise<void> {
    // The receiver may be back: what waits is sent at once, with short pauses.
    this.#failures = 0
    this.#wake()
    await within<unknown>(limit, Promise.resolve(this.#sending), () => undefined)
    this.#lost += this.#waiting.length
    this.#isClosed = true
    this.#attempt?.abort()
    this.#wake()
    await this.#sending
    this.#reportLost()
    await this.#agent.destroy()
  }
}

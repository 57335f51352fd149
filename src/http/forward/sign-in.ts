import type { FastifyBaseLogger } from 'fastify'
import { Refusal } from '../../base/refusal.ts'
import { isCrossOrigin, isWrite } from '../../gate/cross-origin.ts'
import { asToken } from '../../token/bearer.ts'
import type { SessionCookies } from '../../token/cookie.ts'
import { sessionsIn } from '../../upstream/headers/response-headers.ts'
import type { Sides } from '../server/authenticate.ts'
import { Exchange, type ExchangeOptions } from './exchange.ts'

/** What turns a token that an upstream sends into a cookie. */
export interface SignInsOptions {
  sides: Sides
  cookies: SessionCookies
  /** Of other pages that may sign their visitors in. */
  origins: ReadonlySet<string>
}

/**
 * An exchange with an upstream that signs users in itself: a token in `X-Dualgate-Session` becomes the session cookie of the
 * client. Until the session is found nothing goes on to the client: an answer without the cookie would look signed in. A store
 * that fails is 503. A page of another origin is refused: its visitor would get the session of whoever wrote that page.
 */
export class SigningExchange extends Exchange {
  readonly #options: ExchangeOptions
  readonly #signIns: SignInsOptions
  /** What has arrived while the session is looked up, in order; `null` while nothing waits. */
  #held: (() => void)[] | null = null
  /** Whether the upstream has sent everything: its connection may serve another request by now. */
  #isComplete = false

  constructor(options: ExchangeOptions, signIns: SignInsOptions) {
    super(options)
    this.#options = options
    this.#signIns = signIns
  }

  override onHeaders(status: number, headers: string[]): void {
    const [token, ...others] = status < 200 ? [] : sessionsIn(headers)
    if (token === undefined) {
      super.onHeaders(status, headers)
      return
    }
    this.#held = [() => super.onHeaders(status, headers)]
    this.hasHead = true
    this.hold()
    this.#cookieOf(others.length > 0 ? '' : token)
      .then(cookie => this.#release(cookie))
      .catch(fault => this.#giveUp(fault))
  }

  /** A refusal is ours. Any other fault is one of the answer, as if it had met it at once. */
  #giveUp(fault: Error): void {
    this.#held = null
    if (this.isOver) return
    if (fault instanceof Refusal) this.refuseAnswer(fault)
    else if (this.#isComplete) this.onError(fault)
    else this.link!.abort(this, fault)
  }

  /** The cookie of a live session of the side. Any other token is logged, and has none. Refuses with `CROSS_ORIGIN`. */
  async #cookieOf(text: string): Promise<string | null> {
    const { request, upstream, log } = this.#options
    const { sides, cookies, origins } = this.#signIns
    const type = upstream.signsIn!
    const token = asToken(text)
    const session = token === null || !cookies.sides.has(type) ? null : await sides[type].inspect(token)
    const mayBeUnwanted = isWrite(request.method, false) && isCrossOrigin(request.raw.headers, request, origins)
    if (session !== null && mayBeUnwanted) throw new Refusal('CROSS_ORIGIN')
    if (session !== null) return cookies.set(type, session.token, sides[type].lifetimeOf(session.record.extra))
    warn(log, request.id, upstream.name)
    return null
  }

  #release(cookie: string | null): void {
    const held = this.#held ?? []
    this.#held = null
    if (cookie !== null && !this.isOver) this.#options.reply.header('set-cookie', cookie)
    for (const deliver of held) if (!this.isOver) deliver()
    if (!this.isOver) this.resume()
  }

  override onData(chunk: Buffer): void {
    this.#inTurn(() => super.onData(chunk))
  }

  override onAwait(): void {
    this.#inTurn(() => super.onAwait())
  }

  override onComplete(trailers: string[]): void {
    this.#isComplete = true
    this.#inTurn(() => super.onComplete(trailers))
  }

  override onError(error: Error): void {
    this.#held = null
    super.onError(error)
  }

  #inTurn(deliver: () => void): void {
    if (this.#held === null) deliver()
    else this.#held.push(deliver)
  }
}

const warn = (log: FastifyBaseLogger, id: string, upstream: string): void =>
  log.warn(
    { trace_id: id, upstream },
    'X-Dualgate-Session names no live session of the side that the upstream signs in',
  )

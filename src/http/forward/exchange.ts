import type { ServerResponse } from 'node:http'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { Deadline } from '../../base/deadline.ts'
import type { SessionWatch } from '../../store/session-watch.ts'
import { earlyHints } from '../../upstream/headers/early-hints.ts'
import { beginsEventStream, responseHead, responseTrailers } from '../../upstream/headers/response-headers.ts'
import { Attempts, ClientLeft, refusalOf, SessionEnded } from '../../upstream/target-attempts.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import { TargetBusy } from '../../upstream/wire/connections.ts'
import { endsWithHead } from '../../upstream/wire/read-response-head.ts'
import type { Link, Receiver, UpstreamRequest } from '../../upstream/wire/receiver.ts'
import type { DispatchedRequest } from '../server/dispatched-request.ts'
import { logDropped } from '../server/dropped-fields.ts'
import { Answer } from './answer.ts'
import type { Source } from './backlog.ts'
import type { BodyMemory } from './body.ts'

export interface ExchangeOptions extends DispatchedRequest {
  watch: Pick<SessionWatch, 'watch'>
  /** The memory of answers that their clients have not accepted. */
  memory: BodyMemory
  /** Whether the answer is for one client, and no shared cache knows it by the request. */
  isPersonal: boolean
}

/**
 * One request at an upstream and its answer on the way to the client. Until the upstream's head has arrived a failure
 * is a refusal; after it, the client's connection is reset, so that a partial answer never looks complete.
 */
export class Exchange implements Receiver, Source {
  readonly #request: FastifyRequest
  readonly #reply: FastifyReply
  readonly #response: ServerResponse
  readonly #upstream: Upstream
  readonly #outgoing: UpstreamRequest
  readonly #log: FastifyBaseLogger
  readonly #watch: ExchangeOptions['watch']
  readonly #isPersonal: boolean
  readonly #answer: Answer
  readonly #attempts: Attempts
  /** The connection that the request was written to; `null` before. */
  #link: Link | null = null
  /** Runs until the body is complete; restarted with every part of it. */
  #idle: Deadline | null = null
  /** Whether the answer ends with its session. Event streams of a key always do; its downloads may be completed. */
  #endsWithSession: boolean
  /** Stops the session watch, if the response ends with its session. */
  #unwatch: (() => void) | null = null
  /** The upstream has sent everything, and the rest of it is in the backlog. */
  #isLeftToClient = false
  #awaitsBody = false
  /** Whether the head of an answer has arrived, and is held back: then the request is not sent again, as after a head that is written. */
  protected hasHead = false
  #over = false

  constructor(options: ExchangeOptions) {
    const { request, reply, upstream, target, outgoing, key, log, watch, memory, isPersonal } = options
    this.#request = request
    this.#reply = reply
    this.#response = reply.raw
    this.#upstream = upstream
    this.#outgoing = outgoing
    this.#log = log
    this.#watch = watch
    this.#isPersonal = isPersonal
    this.#answer = new Answer(reply.raw, memory)
    this.#endsWithSession = upstream.endWithSession
    this.#attempts = new Attempts(upstream, target, outgoing, key)
  }

  /** Whether neither side waits any more. */
  protected get isOver(): boolean {
    return this.#over
  }

  protected get link(): Link | null {
    return this.#link
  }

  start(): void {
    if (this.#response.destroyed) {
      this.#settle()
      return
    }
    this.#response.on('close', this.#onClientGone)
    this.#attempts.dispatch(this)
  }

  onConnect(link: Link): void {
    this.#link = link
    if (this.#over) link.abort(this, new ClientLeft())
  }

  onUnsent(): void {
    this.#link = null
  }

  onHeaders(status: number, headers: string[]): void {
    if (status >= 200) this.#writeHead(status, headers)
    else if (status === 103) this.#passHints(headers)
  }

  /** Other informational responses are not forwarded: they are about the connection to the upstream. */
  #passHints(headers: string[]): void {
    if (this.#over || this.#request.raw.httpVersionMinor === 0) return
    this.#answer.hint(earlyHints(headers, this.#upstream.responseEdits))
  }

  #writeHead(status: number, headers: string[]): void {
    const { method, httpVersionMinor } = this.#request.raw
    const head = responseHead(headers, {
      status,
      ours: this.#reply.getHeaders(),
      passCors: this.#upstream.passCors,
      mayTrail: httpVersionMinor > 0 && !endsWithHead(method, status),
      edits: this.#upstream.responseEdits,
      isPersonal: this.#isPersonal,
    })
    if (this.#request.session?.key !== undefined) this.#endsWithSession ||= beginsEventStream(headers)
    if (head.dropped !== null) logDropped(this.#log, this.#request, this.#upstream, head)
    this.#reply.hijack()
    this.#answer.writeHead(status, head, httpVersionMinor)
  }

  /**
   * Most bodies arrived with their head and are complete. For the others (server-sent events) the present data is
   * forwarded at once.
   */
  onAwait(): void {
    if (this.#over || this.#awaitsBody) return
    this.#awaitsBody = true
    this.#idle = new Deadline(this.#upstream.idle, () => this.#onIdle())
    if (this.#endsWithSession) this.#endWithSession()
    this.#answer.flush(this)
  }

  #endWithSession(): void {
    const { session } = this.#request
    if (session === null) return
    const { type, user_id: userId } = session.record
    this.#unwatch = this.#watch.watch({ type, token: session.token, userId }, () => this.#onSessionEnd())
  }

  #onSessionEnd(): void {
    const ended = new SessionEnded()
    if (this.#isLeftToClient) this.#breakOff(ended)
    else this.#link!.abort(this, ended)
  }

  #onIdle(): void {
    if (!this.#answer.isHeld)
      this.#link!.abort(this, new Error('the upstream sent no data of the body within the idle limit'))
    else this.#idle!.restart()
  }

  onData(chunk: Buffer): void {
    // A destroyed response emits `close` in the next turn, and must not be written to or awaited.
    if (this.#over || this.#response.destroyed) return
    if (this.#awaitsBody) this.#idle!.restart()
    if (this.#awaitsBody || !this.#answer.hold(chunk)) this.#answer.write(chunk, this)
  }

  hold(): void {
    this.#link!.hold(this)
  }

  resume(): void {
    this.#link!.resume(this)
  }

  onComplete(trailers: string[]): void {
    if (this.#over) return
    this.#attempts.succeeded()
    if (trailers.length > 0) this.#response.addTrailers(responseTrailers(trailers, this.#upstream.responseEdits))
    if (this.#answer.isAccepted) this.#finish()
    else this.#leaveToClient()
  }

  /** Its upstream connection is free. The answer is complete when its client has accepted it, or leaves. */
  #leaveToClient(): void {
    this.#isLeftToClient = true
    this.#idle?.clear()
    this.#outgoing.body?.discard()
    this.#answer.leave()
  }

  #finish(): void {
    this.#settle()
    this.#answer.end()
  }

  onError(error: Error): void {
    // A target that cannot be reached has failed, also if the client has left meanwhile.
    if (!this.#over || this.#link === null) this.#attempts.failed(error)
    if (this.#over) return
    if (this.#answer.hasBegun) this.#breakOff(error)
    else if (this.hasHead) this.#refuse(error, this.#attempts.faultOf(error))
    else this.#tryElsewhere(error)
  }

  #tryElsewhere(error: Error): void {
    const fault = this.#attempts.faultOf(error)
    if (!this.#attempts.moveOn(error, this.#link !== null)) {
      this.#refuse(error, fault)
      return
    }
    // A busy target is not logged, because there may be very many such requests.
    if (!(error instanceof TargetBusy)) {
      this.#log.warn({ trace_id: this.#request.id, err: fault }, 'trying the next target')
    }
    this.#link = null
    this.#attempts.dispatch(this)
  }

  /** Refuses a request whose answer has begun to arrive, and gives up the rest of it. */
  protected refuseAnswer(error: Error): void {
    this.#settle()
    this.#link?.abort(this, error)
    if (!this.#response.destroyed) this.#reply.send(error)
  }

  #refuse(error: Error, fault: Error): void {
    this.#settle()
    if (this.#response.destroyed) return
    this.#reply.send(refusalOf(error, fault))
  }

  #breakOff(error: Error): void {
    this.#settle()
    if (error instanceof SessionEnded) this.#log.info({ trace_id: this.#request.id }, 'response ended with its session')
    else this.#log.warn({ trace_id: this.#request.id, err: this.#attempts.faultOf(error) }, 'response broken off')
    this.#answer.breakOff()
  }

  #onClientGone = (): void => {
    if (this.#over) return
    this.#settle()
    if (this.#link === null) this.#attempts.target.takeBack(this)
    else this.#link.abort(this, new ClientLeft())
  }

  /** From here on neither side waits for the other. Every exchange ends here, so that none keeps its body in memory. */
  #settle(): void {
    this.#over = true
    this.#response.off('close', this.#onClientGone)
    this.#idle?.clear()
    this.#unwatch?.()
    this.#answer.settle()
    this.#outgoing.body?.discard()
  }
}

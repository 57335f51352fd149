/** A request to a target. */
export interface UpstreamRequest {
  method: string
  /** Path and query as they are sent. */
  path: string
  /** Names and values in turn, `host` first. */
  headers: string[]
  body: RequestBody | null
  /** The network address of the client, by which connections are shared. */
  client: string
  /** It has waited for a connection for as long as it may: it takes a free one, or none. */
  hasWaited?: true
}

/** The body of a request on its way from the client. It is not read before `start`. */
export interface RequestBody {
  /** Sends the body to this receiver; a body that has already failed sends nothing. */
  start(taker: BodyTaker): void
  pause(): void
  resume(): void
  /** The receiver gets nothing more. */
  stop(): void
  /** The rest of the body is discarded. */
  discard(): void
}

/** Receives the parts of a body, then its end or an error. */
export interface BodyTaker {
  onBodyData(chunk: Buffer): void
  onBodyEnd(): void
  onBodyError(error: Error): void
}

/** The connection that a request is on. It does nothing for a receiver whose request is over: it may serve another one. */
export interface Link {
  /** Stops reading after the data that is being delivered. */
  hold(receiver: Receiver): void
  resume(receiver: Receiver): void
  /** Ends the request, and the connection with it. */
  abort(receiver: Receiver, cause: Error): void
}

/**
 * The receiver of one response. The calls in order: `onConnect` before the request is written (never without a
 * connection), `onHeaders` once per informational response and once for the final one, `onData`, then `onComplete`.
 * `onError` can come at any time. An exception in the receiver ends the request with `onError`.
 */
export interface Receiver {
  onConnect(link: Link): void
  /** The connection was closed before the request was written: the request is dispatched again, and has no link until then. */
  onUnsent?(): void
  /** Names and values in turn. */
  onHeaders(status: number, headers: string[]): void
  onData(chunk: Buffer): void
  /** All received data was delivered, but the body is not complete. */
  onAwait(): void
  /** With the trailer fields, names and values in turn. */
  onComplete(trailers: string[]): void
  onError(error: Error): void
}

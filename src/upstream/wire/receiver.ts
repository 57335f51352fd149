/** A request as it goes to a target. */
export interface UpstreamRequest {
  method: string
  /** Path and query as they go on the wire. */
  path: string
  /** Names and values in turn, `host` first. */
  headers: string[]
  body: RequestBody | null
  /** The network address of the client, by which connections are shared. */
  client: string
}

/** The body of a request on its way from whoever sent it. Nothing of it is read before it is started. */
export interface RequestBody {
  /** Tells it to this taker; what has failed already tells nothing more. */
  start(taker: BodyTaker): void
  pause(): void
  resume(): void
  /** The taker is told nothing more. */
  stop(): void
  /** Nobody wants the rest of it. */
  discard(): void
}

/** Told the parts of a body, and then one of the other two. */
export interface BodyTaker {
  onBodyData(chunk: Buffer): void
  onBodyEnd(): void
  onBodyError(error: Error): void
}

/** The connection that a request is on. */
export interface Link {
  /** Nothing more is read than what is being told. */
  hold(): void
  resume(): void
  /** Ends the request of this receiver, and the connection with it. */
  abort(receiver: Receiver, cause: Error): void
}

/**
 * The receiving end of one request, told in this order: `onConnect` when the request is about to be written (never,
 * when no connection came about), `onHeaders` once per informational response and once for the final one, `onData`,
 * then `onComplete` or, from anywhere, `onError`. What it throws ends the request with `onError`.
 */
export interface Receiver {
  onConnect(link: Link): void
  /** Names and values in turn. */
  onHeaders(status: number, headers: string[]): void
  onData(chunk: Buffer): void
  /** All that has arrived was told, and it was not the end: the rest of the body is still to come. */
  onAwait(): void
  /** With the trailer fields, names and values in turn. */
  onComplete(trailers: string[]): void
  onError(error: Error): void
}

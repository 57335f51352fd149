import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { isPlainLength } from '../../../base/header-names.ts'
import type { Refusal } from '../../../base/refusal.ts'
import { dropLaterRequests } from '../../../workarounds/node-surplus-requests.ts'
import { hasBody } from '../bodies.ts'
import { closeWithLinger } from './linger.ts'

/** Maximum of pipelined requests that wait on one connection; further ones are not answered. */
export const MAX_HELD = 100

/** A request that waits behind another one. */
interface Held {
  request: IncomingMessage
  response: ServerResponse
}

/**
 * A client's connection. Its requests are served one at a time, in their order (RFC 9112 9.3.2): the parser reports all
 * that one packet brings at once, so the later ones are held here, and nothing more is read meanwhile. For the usual
 * connection, whose client waits for each answer, that costs a comparison.
 */
export class ClientConnection {
  readonly socket: Socket
  readonly #serve: RequestListener
  /**
   * The request being served, or the last one that was, and its answer: fields of their own, because V8 may come to create an object
   * for each pair among its old ones, where the pair and all that it refers to outlive the next collections. That cost a fifth of a
   * request in 7 of 24 starts.
   */
  #request: IncomingMessage | null = null
  #response: ServerResponse | null = null
  /** Whether the present request has been passed on. */
  #isBegun = false
  /** The requests after it, oldest first. */
  #held: Held[] = []
  /** Nothing that arrives later is served. */
  #isClosing = false
  #isFailed = false
  /** Whether the body of the current request goes to an upstream: it may take longer than one of our own routes. */
  #isForwarded = false

  constructor(socket: Socket, serve: RequestListener) {
    this.socket = socket
    this.#serve = serve
    // What Node calls behind an answer with `Connection: close`.
    socket.destroySoon = this.#end
  }

  get request(): IncomingMessage | null {
    return this.#request
  }

  get response(): ServerResponse | null {
    return this.#response
  }

  /** Whether the last request is answered and its body is not all there: nothing depends on it any more. */
  get isOnlyDiscarding(): boolean {
    return this.#response?.writableFinished === true && this.#request?.complete === false
  }

  /** Whether the last answer is written, and the client has not accepted all of it. */
  get isDelivering(): boolean {
    return this.#response?.writableEnded === true && !this.#response.writableFinished
  }

  get isForwarded(): boolean {
    return this.#isForwarded
  }

  /** The body of the current request goes to an upstream. */
  forwardsBody(): void {
    this.#isForwarded = true
  }

  /** A request's head has arrived. */
  arrive(request: IncomingMessage, response: ServerResponse): void {
    if (this.#isClosing) return
    if (asksForUpgrade(request)) this.closeAfter(response)
    if (this.#held.length > 0 || this.#response?.writableFinished === false) this.#hold(request, response)
    else this.#begin(request, response)
  }

  #hold(request: IncomingMessage, response: ServerResponse): void {
    const held = this.#held
    if (held.length === 0) this.#response!.once('finish', this.#onFinish)
    if (held.length >= MAX_HELD) {
      // The client reads in the last answer that it has to repeat the others (RFC 9112 9.3.2).
      this.closeAfter(held.at(-1)!.response)
      // This packet may bring thousands.
      dropLaterRequests(this.socket)
      return
    }
    held.push({ request, response })
    this.socket.pause()
  }

  /**
   * Behind all listeners of an answer's end: Node's own gives the socket to the next response, and ours count the bytes that were
   * sent until then.
   */
  readonly #onFinish = (): void => process.nextTick(this.#next)

  readonly #next = (): void => {
    const next = this.#held.shift()
    if (next === undefined) return
    if (this.#held.length > 0) next.response.once('finish', this.#onFinish)
    this.#begin(next.request, next.response)
    if (this.#held.length === 0 && !this.#isFailed) this.socket.resume()
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    this.#request = request
    this.#response = response
    this.#isForwarded = false
    this.#isBegun = !awaitsBody(request)
    // A body that came in one packet with its head is there when the packet has been read.
    if (this.#isBegun) this.#serve(request, response)
    else process.nextTick(this.#serveWithBody)
  }

  readonly #serveWithBody = (): void => {
    if (this.#isBegun || this.#request === null || this.#response === null || this.socket.destroyed) return
    this.#isBegun = true
    this.#serve(this.#request, this.#response)
  }

  /** This answer is the connection's last: nothing behind its request is served. Not for one whose head is written. */
  closeAfter(response: ServerResponse): void {
    response.shouldKeepAlive = false
    this.#isClosing = true
  }

  /** No request is to follow: the last answer says so, unless its head is written. Requests that are held are served before. */
  announceEnd(): void {
    const { response } = this.#held.at(-1) ?? this
    if (response?.headersSent === false) response.shouldKeepAlive = false
  }

  /**
   * Invalid HTTP has arrived. Earlier requests are served first; then `answer` is called. Bytes behind the head of an
   * incomplete request are its body: it fails with `refusal` if it is being served.
   */
  fail(refusal: Refusal, answer: () => void): void {
    // Once is enough.
    if (this.#isFailed) return
    this.#isFailed = true
    this.#isClosing = true
    this.socket.pause()
    const { request, response } = this.#held.at(-1) ?? this
    if (request === null || response === null || request.complete) this.#after(response, answer)
    else if (this.#held.length > 0) this.#withdrawHeld(answer)
    else if (this.#isBegun) this.#failCurrent(request, response, refusal)
    else this.#withdrawCurrent(answer)
  }

  #withdrawHeld(answer: () => void): void {
    this.#held.pop()
    this.#after(this.#held.at(-1)?.response ?? this.#response, answer)
  }

  #withdrawCurrent(answer: () => void): void {
    this.#isBegun = true
    this.#request = null
    this.#response = null
    answer()
  }

  #failCurrent(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
    // An answer that is all written, or will be, ends the connection behind it.
    if (response.writableEnded) this.#after(response, () => closeWithLinger(this.socket))
    else if (response.headersSent || !failBody(request, refusal)) this.socket.destroy()
  }

  /** Behind the answer ahead of it. */
  #after(ahead: ServerResponse | null, answer: () => void): void {
    if (ahead === null || ahead.writableFinished) answer()
    else ahead.once('finish', () => setImmediate(answer))
  }

  /** Ends the connection behind its last answer. */
  readonly #end = (): void => {
    const mayFollow = this.#isClosing || this.#held.length > 0 || this.#request?.complete === false
    this.#isClosing = true
    this.#held = []
    if (mayFollow) closeWithLinger(this.socket)
    else Socket.prototype.destroySoon.call(this.socket)
  }
}

/** Not for a framing that is refused: where the body ends is not clear then, and the parser fails on it. */
const awaitsBody = (request: IncomingMessage): boolean =>
  hasBody(request) &&
  (request.headers['transfer-encoding'] ?? 'chunked').toLowerCase() === 'chunked' &&
  isPlainLength(request.headers['content-length'] ?? '0')

/** Tells whoever reads the body of a request that there will be no more of it; answers whether there is one. */
export function failBody(request: IncomingMessage, refusal: Refusal): boolean {
  return request.listenerCount('error') > 0 && request.emit('error', refusal)
}

/**
 * Whether the parser leaves HTTP behind this request. It drops the rest of the packet then, also where the upgrade is
 * ignored (RFC 9110 7.8): where the next request begins is not known any more.
 */
const asksForUpgrade = ({ headers }: IncomingMessage): boolean =>
  headers.upgrade !== undefined && /\bupgrade\b/i.test(headers.connection ?? '')

const CONNECTION = Symbol('connection')

/** A socket of a listener of ours. */
type Accepted = Socket & { [CONNECTION]?: ClientConnection }

/** Undefined for what did not come over a listener of ours. */
export const connectionOf = (socket: Socket): ClientConnection | undefined => (socket as Accepted)[CONNECTION]

/** Serves the requests of each connection one at a time. Returns the open connections. */
export function serveInTurn(server: Server): ReadonlySet<ClientConnection> {
  const open = new Set<ClientConnection>()
  const [serve] = server.listeners('request') as [RequestListener]
  server.removeAllListeners('request')
  server.on('setSecureContext' in server ? 'secureConnection' : 'connection', (socket: Socket) => {
    const connection = new ClientConnection(socket, serve)
    ;(socket as Accepted)[CONNECTION] = connection
    open.add(connection)
    socket.once('close', () => open.delete(connection))
  })
  server.on('request', (request, response) => connectionOf(request.socket)!.arrive(request, response))
  return open
}

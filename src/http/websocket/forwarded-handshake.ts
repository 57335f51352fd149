import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { pipeline } from 'node:stream'
import { Deadline } from '../../base/deadline.ts'
import { responseHead } from '../../upstream/headers/response-headers.ts'
import { Attempts, ClientLeft, refusalOf } from '../../upstream/target-attempts.ts'
import type { Opening } from '../../upstream/wire/connect.ts'
import type { DispatchedRequest } from '../server/dispatched-request.ts'
import { logDropped } from '../server/dropped-fields.ts'
import { faultOfAcceptance, handshakeHeaders } from './handshake.ts'

export interface ForwardedHandshakeOptions extends DispatchedRequest {
  /** Both sides have agreed, and the client got 101. `head` is the data after the upstream's answer. */
  onOpen(upstream: Socket, head: Buffer): void
  /** The handshake failed. */
  onFailed(): void
}

/** Time ran out before the upstream answered. */
class HandshakeTimeout extends Error {
  readonly code = 'ETIMEDOUT'
}

/**
 * Forwards the handshake of a client to an upstream. The client gets 101 only after the upstream's 101. Any other
 * answer of the upstream is forwarded. Without an answer, the client gets a refusal like any request.
 */
export class ForwardedHandshake {
  readonly #options: ForwardedHandshakeOptions
  readonly #response: ServerResponse
  readonly #attempts: Attempts
  #opening: Opening | null = null
  #deadline: Deadline | null = null
  #isOver = false

  constructor(options: ForwardedHandshakeOptions) {
    const { reply, upstream, target, outgoing, key } = options
    outgoing.headers = handshakeHeaders(outgoing.headers)
    this.#options = options
    this.#response = reply.raw
    this.#attempts = new Attempts(upstream, target, outgoing, key)
  }

  start(): void {
    this.#response.once('close', this.#onClientGone)
    this.#options.request.raw.socket.once('end', this.#onClientEnd)
    this.#connect()
  }

  #connect(): void {
    this.#attempts.begin()
    this.#opening = this.#attempts.target.connect((error, socket) => {
      if (this.#isOver) socket?.destroy()
      else if (error === null) this.#ask(socket)
      else this.#tryElsewhere(error)
    })
  }

  #tryElsewhere(error: Error): void {
    this.#attempts.failed(error)
    if (this.#attempts.moveOn(error, false)) this.#connect()
    else this.#refuse(error)
  }

  #ask(socket: Socket): void {
    const limit = this.#options.upstream.response
    this.#deadline = new Deadline(limit, () => this.#fail(new HandshakeTimeout(`no answer after ${limit} ms`)))
    const { method, path, headers } = this.#options.outgoing
    try {
      const asked = httpRequest({ method, path, headers, createConnection: () => socket })
      asked.once('upgrade', (answer, _socket, head) => this.#onUpgrade(answer, socket, head))
      asked.once('response', answer => {
        // Node takes a reset for the end of a body that the end of the connection ends.
        asked.once('error', error => answer.destroy(error))
        this.#onAnswer(answer)
      })
      asked.on('error', error => this.#fail(error))
      asked.end()
    } catch (error) {
      // Not a fault of the target: for example, the address of a disconnected client cannot be written.
      this.#refuse(error as Error)
    }
  }

  #onUpgrade(answer: IncomingMessage, socket: Socket, head: Buffer): void {
    const { request, onOpen } = this.#options
    if (this.#isOver) {
      socket.destroy()
      return
    }
    const fault = faultOfAcceptance(request.raw, answer)
    const headers = fault === null ? this.#headersOf(answer) : this.#fail(new Error(fault))
    if (headers === null) return
    this.#attempts.succeeded()
    this.#settle()
    this.#acceptClient(headers)
    onOpen(socket, head)
  }

  /** The client's headers for an upstream's answer; `null` if the answer is invalid. */
  #headersOf({ statusCode = 0, rawHeaders }: IncomingMessage): string[] | null {
    const { request, reply, upstream, log } = this.#options
    try {
      const head = responseHead(rawHeaders, {
        status: statusCode,
        ours: reply.getHeaders(),
        passCors: upstream.passCors,
        mayTrail: false,
        edits: upstream.responseEdits,
        isPersonal: false,
      })
      if (head.dropped !== null) logDropped(log, request, upstream, head)
      return head.headers
    } catch (error) {
      return this.#fail(error as Error)
    }
  }

  /** Sends the upstream's 101 to the client; from here on the connection belongs to the tunnel alone. */
  #acceptClient(headers: readonly string[]): void {
    const socket = this.#response.socket!
    const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: websocket']
    for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`)
    this.#options.reply.hijack()
    this.#response.statusCode = 101
    this.#response.detachSocket(socket)
    socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  }

  /** The upstream answers with HTTP: its answer is forwarded, and the connection is closed. */
  #onAnswer(answer: IncomingMessage): void {
    if (this.#isOver) return
    // 101, that is, to no protocol; or what is no status.
    const isFinal = (answer.statusCode ?? 0) >= 200
    const headers = isFinal ? this.#headersOf(answer) : this.#fail(new Error('neither a WebSocket nor an answer'))
    if (headers !== null) this.#passOn(answer, headers)
  }

  #passOn(answer: IncomingMessage, headers: string[]): void {
    const { reply, upstream, onFailed } = this.#options
    this.#attempts.succeeded()
    this.#settle()
    const response = this.#response
    reply.hijack()
    response.shouldKeepAlive = false
    response.writeHead(answer.statusCode ?? 0, headers)
    // The response gets no `drain` event from its connection, because Node has left the connection to us.
    const { socket } = response
    socket?.on('drain', () => response.emit('drain'))
    const deadline = new Deadline(upstream.idle, () => response.destroy())
    pipeline(answer, response, () => {
      deadline.clear()
      onFailed()
    })
  }

  /** Answers nothing, in the place of what there would have been. */
  #fail(error: Error): null {
    if (!this.#isOver) {
      this.#attempts.failed(error)
      this.#refuse(error)
    }
    return null
  }

  #refuse(error: Error): void {
    const { reply, request, log, onFailed } = this.#options
    this.#settle()
    this.#opening?.destroy()
    onFailed()
    const fault = this.#attempts.faultOf(error)
    log.debug({ trace_id: request.id, err: fault }, 'WebSocket not opened')
    if (!this.#response.destroyed) reply.send(refusalOf(error, fault))
  }

  readonly #onClientGone = (): void => {
    if (!this.#isOver) this.#refuse(new ClientLeft())
  }

  /** Node has left the connection to us: without this, a client that only ends it would not have left. */
  readonly #onClientEnd = (): void => void this.#response.destroy()

  #settle(): void {
    this.#isOver = true
    this.#response.off('close', this.#onClientGone)
    this.#options.request.raw.socket.off('end', this.#onClientEnd)
    this.#deadline?.clear()
  }
}

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Refusal, type RefusalReason } from '../refusal.ts'
import type { Envelopes } from './envelope.ts'
import { newTraceId } from './trace.ts'

const PARSER_REASONS: Readonly<Record<string, RefusalReason>> = {
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
}

/** How long a connection stays after its last answer, in milliseconds. */
const LINGER = 1000

const giveUp = (socket: Socket): void => void socket.destroy()

/** The last request on a connection that had a head. */
interface Asked {
  request: IncomingMessage
  response: ServerResponse
  /** The answer to the one ahead of it. Answers end in the order of their requests. */
  before: ServerResponse | null
}

/**
 * Bytes that are no HTTP request never reach a hook. They are answered in the same envelope, and the connection ends:
 * after the answers to earlier requests on it, or the caller would take this one for theirs.
 */
export function createUnparsable(envelopes: Envelopes) {
  const latest = new WeakMap<Socket, Asked>()

  function answer(error: Error & { code?: string }, socket: Socket): void {
    if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
      socket.destroy()
      return
    }
    // Once is enough: what arrives from here on is no request either.
    socket.pause()
    const ahead = aheadOf(latest.get(socket))
    const end = (): void => {
      socket.end(messageOf(envelopes, error))
      // Nothing is read any more, not even that the caller has left; a reset at once could overtake the answer.
      setTimeout(giveUp, LINGER, socket)
    }
    if (ahead === 'half an answer') socket.destroy()
    else if (ahead === null || ahead.writableFinished) end()
    else ahead.once('finish', () => setImmediate(end))
  }

  return {
    answer,
    watch(server: Server): void {
      server.on('request', (request: IncomingMessage, response: ServerResponse) => {
        const asked = latest.get(request.socket)
        if (asked === undefined) latest.set(request.socket, { request, response, before: null })
        else Object.assign(asked, { request, response, before: asked.response })
      })
    },
  }
}

/** The answer that has to end first. Bytes behind the head of a request that is not complete are its body: it gets no other answer. */
function aheadOf(asked: Asked | undefined): ServerResponse | null | 'half an answer' {
  if (asked === undefined) return null
  if (asked.request.complete) return asked.response
  return asked.response.headersSent ? 'half an answer' : asked.before
}

function messageOf(envelopes: Envelopes, { code = '' }: Error & { code?: string }): string {
  const reason = PARSER_REASONS[code] ?? 'BAD_REQUEST'
  const refusal = new Refusal(reason, { params: { fault: 'not valid HTTP/1.1' } })
  const traceId = newTraceId()
  const { status, body } = envelopes.failure(traceId, refusal)
  const text = JSON.stringify(body)
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(text)}`,
    `x-request-id: ${traceId}`,
    'connection: close',
  ]
  return `${head.join('\r\n')}\r\n\r\n${text}`
}

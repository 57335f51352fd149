import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { Refusal, type RefusalReason } from '../../base/refusal.ts'
import { METHODS } from './ambiguous-request.ts'
import { connectionOf } from './connection/connection.ts'
import { closeWithLinger } from './connection/linger.ts'
import type { Observation } from './count-and-log.ts'
import type { Envelopes } from './envelope.ts'
import type { Failure } from './failure-texts.ts'
import { newTraceId } from './trace.ts'

const PARSER_REASONS: Readonly<Record<string, RefusalReason>> = {
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
}

/**
 * Invalid HTTP and CONNECT never reach a hook. They are answered with the same envelope, after the answers to earlier
 * requests on the connection, which is then closed.
 */
export function createUnparsable(envelopes: Envelopes, observation: Pick<Observation, 'unparsable'> | null) {
  function refuse(refusal: Refusal, socket: Socket): void {
    const answer = (): void => {
      if (!socket.writable) return
      const traceId = newTraceId()
      const { status, reason, body } = envelopes.failure(traceId, refusal)
      socket.write(messageOf(traceId, status, reason, JSON.stringify(body)))
      // Browsers open connections ahead of their requests.
      if (socket.bytesRead > 0) observation?.unparsable(socket, { traceId, status, reason })
      closeWithLinger(socket)
    }
    const connection = connectionOf(socket)
    if (connection === undefined) answer()
    else connection.fail(refusal, answer)
  }

  return {
    answer(error: Error & { code?: string }, socket: Socket): void {
      if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) socket.destroy()
      else refuse(refusalOf(error), socket)
    },
    /** Without a listener for CONNECT, Node closes the connection without an answer. */
    refuseConnect(server: Server): void {
      server.on('connect', (_request: IncomingMessage, socket: Socket) => {
        // Node has taken its own listener away, and an error without one ends the process.
        socket.on('error', () => socket.destroy())
        refuse(new Refusal('METHOD_NOT_ALLOWED'), socket)
      })
    },
  }
}

const refusalOf = ({ code = '' }: Error & { code?: string }): Refusal =>
  new Refusal(PARSER_REASONS[code] ?? 'BAD_REQUEST', { params: { fault: 'not valid HTTP/1.1' } })

function messageOf(traceId: string, status: number, reason: Failure, text: string): string {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(text)}`,
    ...(reason === 'METHOD_NOT_ALLOWED' ? [`allow: ${[...METHODS].join(', ')}`] : []),
    `x-request-id: ${traceId}`,
    'connection: close',
  ]
  return `${head.join('\r\n')}\r\n\r\n${text}`
}

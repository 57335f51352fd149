import type { UpstreamRequest } from './receiver.ts'

/** A request that must not be written; nothing of it was sent. */
export class UnwritableRequest extends Error {
  constructor(fault: string) {
    super(`a request that cannot be written: ${fault}`)
    this.name = 'UnwritableRequest'
  }
}

/** RFC 9110 5.5; above all, a value must not end its line. */
const ILLEGAL_VALUE = /[^\t\x20-\x7e\x80-\xff]/
const ILLEGAL_PATH = /[^\x21-\x7e]/

/** Methods whose request says that it has no body (RFC 9110 8.6). */
const EXPECT_BODY = new Set(['POST', 'PUT', 'PATCH'])

/** The framing of a request's body: by length, by chunks, or no body. */
export type Framing = 'none' | 'length' | 'chunks'

export function framingOf({ headers, body }: UpstreamRequest): Framing {
  if (body === null) return 'none'
  for (let i = 0; i < headers.length; i += 2) if (isLength(headers[i]!)) return 'length'
  return 'chunks'
}

/** The head of a request, with the empty line that ends it. */
export function writeHead(request: UpstreamRequest, framing: Framing, keepsAlive: boolean): string {
  const { method, path, headers } = request
  if (ILLEGAL_PATH.test(path)) throw new UnwritableRequest('an illegal character in its target')
  let head = `${method} ${path} HTTP/1.1\r\n`
  let hasLength = false
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!
    const value = headers[i + 1]!
    if (ILLEGAL_VALUE.test(value)) throw new UnwritableRequest(`an illegal character in ${name}`)
    if (isLength(name)) hasLength = true
    head += `${name}: ${value}\r\n`
  }
  if (framing === 'chunks') head += 'transfer-encoding: chunked\r\n'
  else if (framing === 'none' && !hasLength && EXPECT_BODY.has(method)) head += 'content-length: 0\r\n'
  return head + (keepsAlive ? 'connection: keep-alive\r\n\r\n' : 'connection: close\r\n\r\n')
}

const isLength = (name: string): boolean => name.length === 14 && name.toLowerCase() === 'content-length'

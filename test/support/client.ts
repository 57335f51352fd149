import { type Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'
import { PATIENCE } from './until.ts'

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  rawHeaders: string[]
  text: string
  /** The body as JSON; throws if it is invalid. */
  json(): any
}

export interface Call {
  method?: string
  path: string
  token?: string
  headers?: Record<string, string | string[]>
  /** An object is sent as JSON, a string or buffer as it is. */
  body?: unknown
  /** The address of the client. */
  localAddress?: string
  /** Whose connections are used; without it the call has a connection of its own. */
  agent?: Agent
}

/**
 * Calls as clients do, with the path exactly as given: no URL parser in between. Rejects a refusal that repeats the token.
 * Any certificate is accepted.
 */
export function call(base: string, { method = 'GET', path, token, headers = {}, body, ...own }: Call): Promise<Answer> {
  const { protocol, hostname, port } = new URL(base)
  const payload = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  const sent: Record<string, string | string[]> = { ...headers }
  if (token !== undefined) sent.authorization = `Bearer ${token}`
  if (payload !== undefined) sent['content-type'] ??= 'application/json'
  if (payload !== undefined && sent['transfer-encoding'] === undefined) {
    sent['content-length'] = String(Buffer.byteLength(payload))
  }
  return new Promise((resolve, reject) => {
    const options = { hostname, port, method, path, headers: sent, agent: false as const, ...own }
    const send = protocol === 'https:' ? httpsRequest : httpRequest
    const request = send({ ...options, rejectUnauthorized: false }, response => {
      const chunks: Buffer[] = []
      response.on('data', chunk => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        const { statusCode = 0, headers, rawHeaders } = response
        if (repeats(text, token)) return reject(new Error(`the refusal of ${path} repeats the token: ${text}`))
        resolve({ status: statusCode, headers, rawHeaders, text, json: () => JSON.parse(text) })
      })
    })
    request.on('error', reject)
    request.end(payload)
  })
}

/** Whether a refusal says the token, or the secret, that it was asked with: nothing short, which could be any word. */
const repeats = (text: string, token = ''): boolean =>
  token.length > 12 && text.includes('"success":false') && text.includes(token)

/** A connection on which the test writes as it likes, and all that it heard. It ends with the test. */
export function openRawClient(t: Test, port: number, options = {}): { socket: Socket; heard(): string } {
  const socket = connect({ port, host: '127.0.0.1', ...options })
  t.teardown(() => socket.destroy())
  let heard = ''
  socket.on('data', chunk => {
    heard += chunk
  })
  return { socket, heard: () => heard }
}

/** Sends bytes as they are and answers everything that came back until the other end closed, or `wait` ms passed. */
export function callRaw(base: string, bytes: string | Buffer, wait = PATIENCE): Promise<string> {
  const { hostname, port } = new URL(base)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    const finish = () => {
      clearTimeout(timer)
      socket.destroy()
      resolve(Buffer.concat(chunks).toString('latin1'))
    }
    const timer = setTimeout(finish, wait)
    socket.on('data', chunk => chunks.push(chunk))
    socket.on('close', finish)
    socket.on('error', error => (chunks.length > 0 ? finish() : reject(error)))
  })
}

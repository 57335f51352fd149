import { request } from 'node:http'
import { type LoginType, SIDES } from '../../src/session/sides.ts'

export interface Asked {
  status: number
  body: any
}

/** Longest wait for any answer, in milliseconds: everything that hangs is a failure. */
const LIMIT = 5000
export const LATE = 'no answer in time'

export interface Asking {
  token?: string
  /** The side whose cookie carries the token, as a browser sends it; without one a header does. */
  cookieOf?: LoginType | null
  body?: unknown
}

/** Of half of the requests: browsers and programs share the sessions. */
export const byChance = (side: LoginType): LoginType | null => (Math.random() < 0.5 ? side : null)

const nameOf = (side: LoginType): string => `dualgate-${SIDES[side].section}`

function headersOf({ token, cookieOf = null }: Asking): Record<string, string> {
  const fromPage = { 'sec-fetch-site': 'same-origin' }
  if (token === undefined) return fromPage
  return cookieOf === null
    ? { authorization: `Bearer ${token}` }
    : { ...fromPage, cookie: `${nameOf(cookieOf)}=${token}` }
}

/** One request on a connection of its own. Rejects when no whole answer comes. */
export function ask(base: string, path: string, asking: Asking = {}): Promise<Asked> {
  const { body } = asking
  const { hostname, port } = new URL(base)
  const payload = body === undefined ? undefined : JSON.stringify(body)
  const headers: Record<string, string> = {
    ...headersOf(asking),
    ...(payload !== undefined && { 'content-type': 'application/json', 'content-length': String(payload.length) }),
  }
  const method = payload === undefined ? 'GET' : 'POST'
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path, method, headers, agent: false }, response => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', chunk => {
        text += chunk
      })
      response.on('error', reject)
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: withToken(parsed(text), response.headers['set-cookie']) }),
      )
    })
    sent.setTimeout(LIMIT, () => sent.destroy(new Error(LATE)))
    sent.on('error', reject)
    sent.end(payload)
  })
}

/** A request with its answer, as a violation shows it. */
export const named = (request: string, answer: Asked | null): string =>
  answer === null ? request : `${request} (${answer.status} ${answer.body?.message})`

/** An answer whose token came in a cookie, as if it stood in the answer. */
function withToken(body: any, cookies: readonly string[] = []): unknown {
  const token = cookies.map(cookie => /^dualgate-[bc]=([^;]+)/.exec(cookie)?.[1]).find(Boolean)
  return token === undefined ? body : { ...body, data: { ...body.data, token } }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

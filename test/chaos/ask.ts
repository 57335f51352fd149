import { request } from 'node:http'

export interface Asked {
  status: number
  body: any
}

/** Longest wait for any answer, in milliseconds: everything that hangs is a failure. */
const LIMIT = 5000
export const LATE = 'no answer in time'

/** One request on a connection of its own. Rejects when no whole answer comes. */
export function ask(
  base: string,
  path: string,
  { token, body }: { token?: string; body?: unknown } = {},
): Promise<Asked> {
  const { hostname, port } = new URL(base)
  const payload = body === undefined ? undefined : JSON.stringify(body)
  const headers: Record<string, string> = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
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
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: parsed(text) }))
    })
    sent.setTimeout(LIMIT, () => sent.destroy(new Error(LATE)))
    sent.on('error', reject)
    sent.end(payload)
  })
}

/** A request with its answer, as a violation shows it. */
export const named = (request: string, answer: Asked | null): string =>
  answer === null ? request : `${request} (${answer.status} ${answer.body?.message})`

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

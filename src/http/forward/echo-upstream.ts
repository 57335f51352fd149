import type { FastifyReply } from 'fastify'
import { ClientLeft } from '../../upstream/target-attempts.ts'
import type { UpstreamRequest } from '../../upstream/wire/receiver.ts'

/** How much of a body is shown; all of it is counted. */
const SHOWN_BYTES = 65_536

/** Answers with the request that a backend would have received: `outgoing`. */
export function answerEcho(reply: FastifyReply, outgoing: UpstreamRequest): void {
  const shown: Buffer[] = []
  let bytes = 0

  const answer = (): void => {
    const body = Buffer.concat(shown).subarray(0, SHOWN_BYTES).toString()
    reply
      .type('application/json; charset=utf-8')
      .send(JSON.stringify({ ...describe(outgoing), body, body_bytes: bytes }))
  }

  const { body } = outgoing
  if (body === null) {
    answer()
    return
  }
  body.start({
    onBodyData(chunk) {
      if (bytes < SHOWN_BYTES) shown.push(chunk)
      bytes += chunk.length
    },
    onBodyEnd: answer,
    onBodyError(error) {
      // A client that leaves is reported twice: by the fault of its connection, and by the end of it.
      body.discard()
      if (!(error instanceof ClientLeft)) reply.send(error)
    },
  })
}

function describe({ method, path: url, headers }: UpstreamRequest): Record<string, unknown> {
  const mark = url.indexOf('?')
  return {
    method,
    url,
    path: mark === -1 ? url : url.slice(0, mark),
    query: mark === -1 ? '' : url.slice(mark + 1),
    headers: byLowerCaseName(headers),
  }
}

function byLowerCaseName(headers: readonly string[]): Record<string, string> {
  // Clients choose names; `__proto__` must be a normal one.
  const byName = new Map<string, string>()
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase()
    const earlier = byName.get(name)
    byName.set(name, earlier === undefined ? headers[i + 1]! : `${earlier}, ${headers[i + 1]}`)
  }
  return Object.fromEntries(byName)
}

import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Row } from '../http/explain.ts'
import { EXPLAIN_PATH } from '../http/routes/explain.ts'
import type { Configuration } from '../settings/load.ts'
import { keptSecret, SECRETS } from '../settings/secrets.ts'
import { CommandError } from './terminal.ts'

interface Question {
  method: string
  target: string
  token?: string
  /** Of the client. */
  address?: string
}

/** Milliseconds until a gateway that does not answer is given up. */
const LIMIT = 10_000

/** Asks the gateway that runs with a configuration, through its internal listener. */
export async function askRunning({ internal, data }: Configuration['settings'], question: Question): Promise<Row[]> {
  const secret = internal.secret ?? keptSecret(SECRETS.internal, data)
  if (secret === null)
    throw new CommandError(
      `the internal secret is not known: set INTERNAL__SECRET, or use the data folder of the gateway`,
    )
  if (internal.socket === undefined && internal.port === 0)
    throw new CommandError(
      'internal.port is 0, so the port of the running gateway is not known; set INTERNAL__PORT to it',
    )
  const { status, body } = await post(internal, secret, JSON.stringify(question))
  const answer = answerIn(body)
  if (answer === null)
    throw new CommandError(
      `another program answers at ${placeOf(internal)} (internal listener); correct internal.port, or stop that program`,
    )
  if (status === 401) throw new CommandError('the running gateway has another internal secret (INTERNAL__SECRET)')
  if (status !== 200 || answer.data === null)
    throw new CommandError(`the running gateway answers ${status}: ${answer.message}`)
  return answer.data.rows.map(({ name, value }) => [name, value])
}

interface Answer {
  message: string
  data: { rows: { name: string; value: string }[] } | null
}

/** The answer of a gateway; `null` for that of another program. */
function answerIn(body: string): Answer | null {
  try {
    const { message, data } = JSON.parse(body) as Answer
    return typeof message === 'string' && (data === null || Array.isArray(data.rows)) ? { message, data } : null
  } catch {
    return null
  }
}

type Internal = Configuration['settings']['internal']

const placeOf = ({ host, port, socket }: Internal): string => socket ?? `${host}:${port}`

async function post(internal: Internal, secret: string, body: string): Promise<{ status: number; body: string }> {
  const { host, port, socket } = internal
  const place = socket === undefined ? { host: reachable(host), port } : { socketPath: socket }
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json', host: 'localhost' }
  try {
    return await new Promise((resolve, reject) => {
      const options = { ...place, method: 'POST', path: EXPLAIN_PATH, headers, signal: AbortSignal.timeout(LIMIT) }
      request(options, response => {
        text(response).then(body => resolve({ status: response.statusCode ?? 0, body }), reject)
      })
        .on('error', reject)
        .end(body)
    })
  } catch (cause) {
    throw new CommandError(
      `no gateway answers at ${placeOf(internal)} (internal listener); is it running, with this configuration?`,
      { cause },
    )
  }
}

/** An address to connect to, for one to listen on. */
const reachable = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host)

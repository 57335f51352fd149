import { Agent as HttpAgent, type RequestOptions, request } from 'node:http'
import { Agent as HttpsAgent, request as secureRequest } from 'node:https'
import { random } from '../support/random.ts'

/** Whoever ends things: a test, or a run of measurements. */
export interface Ending {
  teardown(end: () => void): void
}

/** What became of the requests of a load. */
export interface Outcome {
  answered: number
  /** One text per request that got no answer, or another one than it should. */
  failures: string[]
}

export interface Load {
  readonly outcome: Outcome
  /** Asks for no more, waits for the answers under way, and tells what became of all. */
  stop(): Promise<Outcome>
}

export interface LoadOptions {
  /** Of all requests, or of the next one. */
  token: string | (() => string)
  path: string
  /** Clients, each with one request at a time. */
  clients: number
  /** Requests per second of all of them. */
  rate: number
  /** The part of the clients that opens a connection for each request; the others keep theirs. */
  fresh?: number
  /** The body of each request, a POST then. */
  body?: string
  /** What every answer must contain. */
  expected?: string
}

/** Clients who ask without pause, as fast as they are told to, until the test ends. */
export function startLoad(t: Ending, url: string, options: LoadOptions): Load {
  const { clients, rate, fresh = 0.25 } = options
  const outcome: Outcome = { answered: 0, failures: [] }
  let stopped = false
  const pause = (clients / rate) * 1000

  async function ask(index: number): Promise<void> {
    const keepAlive = index >= clients * fresh
    const agent = new (url.startsWith('https:') ? HttpsAgent : HttpAgent)({ keepAlive, maxSockets: 1 })
    let due = performance.now() + random() * pause
    let asked = performance.now()
    while (!stopped) {
      await new Promise(resolve => setTimeout(resolve, Math.max(0, due - performance.now())))
      due = Math.max(due + pause, performance.now() - 10 * pause)
      // A stopping gateway closes what is idle for two seconds. A client that was held up for long begins a new connection.
      if (performance.now() - asked > 1000) agent.destroy()
      asked = performance.now()
      await askOnce(url, agent, options).then(
        () => outcome.answered++,
        (fault: Error) => outcome.failures.push(fault.message),
      )
    }
    agent.destroy()
  }

  t.teardown(() => {
    stopped = true
  })
  const running = Promise.all(Array.from({ length: clients }, (_, index) => ask(index)))
  return {
    outcome,
    async stop() {
      stopped = true
      await running
      return outcome
    },
  }
}

/** Rejects if the answer is missing, late or unexpected. */
function askOnce(url: string, agent: HttpAgent, { token, path, body, expected }: LoadOptions): Promise<void> {
  const { protocol, hostname, port } = new URL(url)
  const options: RequestOptions & { rejectUnauthorized: boolean } = {
    hostname,
    port,
    path,
    agent,
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${typeof token === 'string' ? token : token()}`,
      ...(body !== undefined && { 'content-length': body.length }),
    },
    timeout: 120_000,
    rejectUnauthorized: false,
  }
  return new Promise((answered, failed) => {
    const broken = ({ code, message }: Error & { code?: string }) =>
      failed(new Error(`${sent.reusedSocket ? 'kept' : 'new'} connection: ${code ?? message}`))
    const sent = (protocol === 'https:' ? secureRequest : request)(options, response => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', chunk => {
        text += chunk
      })
      response.on('error', broken)
      response.on('end', () => {
        const isRight = response.statusCode === 200 && (expected === undefined || text.includes(expected))
        if (isRight) answered()
        else failed(new Error(`${response.statusCode} ${text.slice(0, 200)}`))
      })
    })
    sent.on('timeout', () => sent.destroy(new Error('no answer')))
    sent.on('error', broken)
    sent.end(body)
  })
}

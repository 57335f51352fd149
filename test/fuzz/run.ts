import { reservedForm } from '../../src/base/header-names.ts'
import { converse } from '../attack/conversation.ts'
import { fieldOf, headerOf, isInformational, type Message } from '../attack/http-reader.ts'
import { fc, SEED } from '../support/random.ts'
import { misreader, type Proven, type Rules } from './readers.ts'
import { endsConnection, FORGED, RESERVED, type Sent, sentRequest } from './requests.ts'

/** A backend, and what it says of what arrived. */
export interface Witness {
  /** What arrived since it was last asked. A backend that cannot tell judges by its answers. */
  arrived(): Message[]
  /** What arrived and could be read in two ways. */
  unreadable(): string[]
  /** What is wrong with a request that got this answer of the backend; `null` for nothing. */
  judge(sent: Sent, answer: Message): string | null
}

export interface FuzzOptions {
  url: string
  tokens: Readonly<Record<Exclude<Proven, 'none'>, string>>
  witness: Witness
  /** Of the gateway; the backend has to know them too. */
  rules: Rules
  /** Requests in all. */
  requests: number
  seed?: number | undefined
  /** Of a counterexample, to replay it alone. */
  path?: string | undefined
  onProgress?: (sent: number) => void
}

export interface FuzzResult {
  sent: number
  forwarded: number
  refused: number
  /** Answered by a route of the gateway's own. */
  served: number
  seed: number
  /** The smallest counterexample, in words; `null` without one. */
  violation: string | null
}

const BATCH = 96
const CONNECTIONS = 4

/** Sends generated requests until one got past the gate, or none of so many did. */
export async function runFuzz(options: FuzzOptions): Promise<FuzzResult> {
  const { requests, seed = SEED, path, onProgress = () => {} } = options
  const sender = new Sender(options)
  const batches = fc.array(sentRequest, { minLength: BATCH, maxLength: BATCH })
  const property = fc.asyncProperty(batches, async batch => {
    await sender.send(batch)
    onProgress(sender.counts.sent)
  })
  // A violation names its request; making the batch around it smaller would take longer than the run.
  const settings = { numRuns: Math.ceil(requests / BATCH), seed, endOnFailure: true }
  const details = await fc.check(property, path === undefined ? settings : { ...settings, path })
  const fault = details.failed ? `${details.errorInstance}` : null
  const violation = fault === null ? null : `${fault}\nreplay with --seed ${seed} --path ${details.counterexamplePath}`
  return { ...sender.counts, seed, violation }
}

/** A request under way, with the id by which it is known again. */
interface Case {
  id: string
  sent: Sent
  /** The final answer; `null` when the connection ended without one. */
  answer: Message | null
}

class Sender {
  readonly counts = { sent: 0, forwarded: 0, refused: 0, served: 0 }
  readonly #options: FuzzOptions
  #nextId = 0

  constructor(options: FuzzOptions) {
    this.#options = options
  }

  async send(batch: readonly Sent[]): Promise<void> {
    const cases = batch.map((sent): Case => ({ id: String(this.#nextId++), sent, answer: null }))
    await Promise.all(connectionsOf(cases).map(line => this.#converse(line)))
    const { witness } = this.#options
    const [unreadable] = witness.unreadable()
    if (unreadable !== undefined) throw new Error(`arrived, and can be read in two ways: ${unreadable}`)
    const arrived = new Map<string, Message[]>()
    for (const message of witness.arrived()) {
      const id = headerOf(message, 'x-case') ?? 'an unknown id'
      arrived.set(id, [...(arrived.get(id) ?? []), message])
    }
    for (const one of cases) {
      const fault = this.#judge(one, arrived.get(one.id) ?? [])
      if (fault !== null) throw new Error(`${fault}\nsent: ${JSON.stringify(one.sent)}`)
      arrived.delete(one.id)
    }
    for (const [id, [message]] of arrived) throw new Error(`a request with ${id} arrived: ${JSON.stringify(message)}`)
  }

  /** Sends requests on one connection, and what was lost with it on another. */
  async #converse(cases: readonly Case[]): Promise<void> {
    for (let left = cases; left.length > 0; ) {
      const bytes = left.map(one => bytesOf(one, this.#options.tokens)).join('')
      const methods = left.map(({ sent }) => sent.method)
      const { responses, end } = await converse(this.#options.url, bytes, { methods, enough: left.length })
      if (end === 'silent') throw new Error(`no answer to one of ${JSON.stringify(left.map(({ sent }) => sent))}`)
      const answers = responses.filter(({ line }) => !isInformational(line))
      for (const [i, answer] of answers.entries()) left[i]!.answer = answer
      // A connection that ended without an answer ended because of the first request that has none.
      left = left.slice(Math.max(1, answers.length))
    }
    this.counts.sent += cases.length
  }

  #judge({ id, sent, answer }: Case, arrived: readonly Message[]): string | null {
    if (arrived.length > 1) return 'arrived more than once'
    const about = answer === null ? undefined : headerOf(answer, 'x-case')
    if (about !== undefined && about !== id) return `got the answer to request ${about}`
    if (about === undefined) return this.#judgeOwnAnswer(sent, answer, arrived.length)
    this.counts.forwarded++
    const [message] = arrived
    return (
      (message === undefined ? null : judgeArrival(sent, message, this.#options.rules)) ??
      this.#options.witness.judge(sent, answer!)
    )
  }

  #judgeOwnAnswer(sent: Sent, answer: Message | null, arrived: number): string | null {
    if (arrived > 0 && answer !== null) return `arrived, though it was refused with ${answer.line}`
    if (answer !== null && / 5\d\d /.test(answer.line) && !answer.line.includes(' 501 ')) return `got ${answer.line}`
    const isSuccess = answer !== null && / 200 /.test(answer.line) && !answer.body.includes('"success":false')
    if (isSuccess && sent.method !== 'HEAD') {
      this.counts.served++
      return isServed(sent) ? null : `was served by the gateway itself: ${answer.body.slice(0, 200)}`
    }
    this.counts.refused++
    return isPlain(sent, this.#options.rules)
      ? `was refused, though nothing is wrong with it: ${answer?.line} ${answer?.body}`
      : null
  }
}

/** A target in absolute form for the `Host` of these requests is the path in it. */
export const originForm = (target: string): string => target.replace(/^http:\/\/x(?=\/)/, '')

/** What the gateway itself answers to requests without a session. */
const OWN = /^\/(?:api\/v1\/public\/b\/(?:captcha|sm2\/public-key|sm2-public-key)|docs|console\/)(?:\?|$)/

/** What it answers to sessions of the B side, and to no other client. */
const OF_A_SESSION =
  /^(?:GET \/api\/v1\/b\/(?:account|session\/tokens)|POST \/api\/v1\/b\/session\/exit-(?:token|others))(?:\?|$)/

const isServed = ({ method, target, token }: Sent): boolean =>
  OWN.test(originForm(target)) || (token === 'BUSINESS' && OF_A_SESSION.test(`${method} ${originForm(target)}`))

/** A request that has to get through: a gate that refuses everything would break no other law. */
const isPlain = ({ method, target, token, framing, headers }: Sent, { exceptions, pages }: Rules): boolean =>
  method !== 'OPTIONS' &&
  framing.body !== null &&
  headers.length === 0 &&
  ((pages !== undefined && /^\/(?:site|private\/open)\/[a-z]+$/.test(target)) ||
    (pages !== undefined && token === 'BUSINESS' && /^\/(?:private|both)\/[a-z]+$/.test(target)) ||
    (exceptions.length > 0 && method === 'GET' && /^\/api\/v1\/(?:sys\/dict\/tree|help\/[a-z]+)$/.test(target)) ||
    (token === 'CONSUMER' && /^\/api\/v\d+\/c\/[a-z]+$/.test(target)) ||
    (token === 'BUSINESS' && /^\/api\/v\d+\/(?!b\/account$)(?:b|sys|orders)\/[a-z]+$/.test(target)))

/** The requests over a few connections, those that end one last. */
function connectionsOf(cases: readonly Case[]): Case[][] {
  const lines = Array.from({ length: CONNECTIONS }, (): Case[] => [])
  const ending = cases.filter(({ sent }) => endsConnection(sent))
  for (const [i, one] of cases.filter(({ sent }) => !endsConnection(sent)).entries()) lines[i % CONNECTIONS]!.push(one)
  return [...lines.filter(line => line.length > 0), ...ending.map(one => [one])]
}

function bytesOf({ id, sent }: Case, tokens: FuzzOptions['tokens']): string {
  const { method, target, token, headers, framing } = sent
  const authorization = token === 'none' ? [] : [`Authorization: Bearer ${tokens[token]}`]
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: x', `X-Case: ${id}`, ...authorization, ...headers]
  return `${[...lines, ...framing.lines].join('\r\n')}\r\n\r\n${framing.bytes}`
}

const RESERVED_NAMES = new Set(RESERVED)

function judgeArrival(sent: Sent, { line, headers, body }: Message, rules: Rules): string | null {
  const [method = '', target = ''] = line.split(' ')
  if (method !== sent.method) return `arrived as ${method}`
  if (target !== originForm(sent.target)) return `arrived as ${target}`
  const proven: string[] = []
  let carriesToken = false
  for (const header of headers) {
    const [name, value] = fieldOf(header)
    if (name === 'x-login-type') proven.push(value)
    if (RESERVED_NAMES.has(reservedForm(name)) && value.includes(FORGED)) return `arrived with ${header}`
    if (name === 'authorization') carriesToken = true
  }
  if (carriesToken && (proven.length > 0 || method === 'OPTIONS')) return 'arrived with the token'
  if (sent.framing.body === null) return 'arrived, though its framing is broken'
  if (body !== sent.framing.body) return `arrived with the body ${JSON.stringify(body)}`
  return judgeProof(sent, target, proven, rules)
}

/** Whether the upstream gets the proved identity, and whether it satisfies every reader of the path. */
export function judgeProof(sent: Sent, target: string, proven: readonly string[], rules: Rules): string | null {
  if (proven.length > 1) return 'arrived with two identities'
  const [said = 'none'] = proven
  if (said !== 'none' && said !== sent.token) return `arrived as ${said}`
  return misreader(target.split('?', 1)[0]!, sent.method, said as Proven, rules)
}

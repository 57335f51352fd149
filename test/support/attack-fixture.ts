import { inspect, isDeepStrictEqual } from 'node:util'
import type { Test } from 'tap'
import type { LoginType } from '../../src/session/sides.ts'
import type { Arrival, Attack } from '../attack/attack.ts'
import { type Conversation, converse } from '../attack/conversation.ts'
import { fieldOf, headerOf, isInformational, type Message } from '../attack/http-reader.ts'
import { startWireUpstream, type WireUpstream } from '../attack/wire-upstream.ts'
import { type Fixture, type FixtureOptions, openFixture } from './gateway-fixture.ts'

/** A gateway with a session of each side, and a backend that sees the bytes. */
export interface AttackFixture {
  fixture: Fixture
  upstream: WireUpstream
  tokens: Record<LoginType, string>
  users: Record<LoginType, string>
  /** Carries out an attack, and answers what came otherwise than its row says. */
  attempt(attack: Attack): Promise<string[]>
}

/** Compares what came of an attack: an assertion for each value of thousands of attacks would cost more than the attacks. */
interface Comparison {
  faults: string[]
  same(found: unknown, wanted: unknown, claim: string): void
  holds(condition: boolean, claim: string): void
}

function compare(): Comparison {
  const faults: string[] = []
  return {
    faults,
    same(found, wanted, claim) {
      if (!isDeepStrictEqual(found, wanted)) faults.push(`${claim}: ${inspect(found)} instead of ${inspect(wanted)}`)
    },
    holds(condition, claim) {
      if (!condition) faults.push(claim)
    },
  }
}

/** Another client’s request, behind the attack on the same connection; it ends the connection. */
const HONEST = 'GET /api/v1/public/b/honest HTTP/1.1\r\nHost: honest\r\nX-Case: honest\r\nConnection: close\r\n\r\n'

const isHonest = (arrived: Message): boolean => headerOf(arrived, 'x-case') === 'honest'

/** Header lines that are the gateway's own: no client's may stand beside them. */
const OURS =
  /^(?:host|connection|x-forwarded-(?:for|proto|host|port)|x-request-id|trace_id|x-login-(?:id|type)|content-length|transfer-encoding)$/

export async function openAttackFixture(
  t: Pick<Test, 'teardown'>,
  options: FixtureOptions = {},
  match = '/api',
): Promise<AttackFixture> {
  const upstream = await startWireUpstream()
  t.teardown(() => upstream.close())
  const fixture = await openFixture(t, {
    ...options,
    config: { upstreams: [{ name: 'wire', match, target: upstream.url }], ...options.config },
  })
  const users = { BUSINESS: 'operator:7', CONSUMER: 'user@7' }
  const tokens = {
    BUSINESS: await fixture.gateway.sides.business.login(undefined, users.BUSINESS),
    CONSUMER: await fixture.gateway.sides.consumer.login(undefined, users.CONSUMER),
  }

  async function attempt(attack: Attack): Promise<string[]> {
    const comparison = compare()
    const { send, arrives = [], unfinished = false } = attack
    upstream.arrived.length = 0
    const bytes = withTokens(send, tokens)
    const conversation = await converse(fixture.url, unfinished ? bytes : bytes + HONEST, { methods: methodsOf(send) })
    compareAnswers(comparison, conversation, attack)
    if (attack.severs) {
      const answered = conversation.responses.some(answer => headerOf(answer, 'x-case') === 'honest')
      const isServed = answered || upstream.arrived.some(isHonest)
      comparison.holds(!isServed, 'what follows on the connection is not served')
    }
    comparison.same(upstream.unreadable.splice(0), [], 'nothing ambiguous arrives')
    const arrived = upstream.arrived.filter(message => !isHonest(message))
    comparison.same(
      arrived.map(({ line }) => line),
      arrives.map(({ line }) => line),
      'these requests arrive, and no other',
    )
    for (const [i, expected] of arrives.entries()) {
      if (arrived[i] !== undefined) compareArrival(comparison, arrived[i], expected, { users, upstream })
    }
    return comparison.faults
  }

  return { fixture, upstream, tokens, users, attempt }
}

const withTokens = (text: string, { CONSUMER, BUSINESS }: AttackFixture['tokens']): string =>
  text
    .replaceAll('{C}', CONSUMER)
    .replaceAll('{B}', BUSINESS)
    .replaceAll('{%C}', escapeAll(CONSUMER))
    .replaceAll('{%B}', escapeAll(BUSINESS))

const escapeAll = (text: string): string => `%${Buffer.from(text).toString('hex').match(/../g)!.join('%')}`

/** The methods of what is sent, in order, as far as they can be told; the honest request's is GET. */
const methodsOf = (send: string): string[] => [/^[A-Z]+/.exec(send)?.[0] ?? 'GET']

function compareAnswers(comparison: Comparison, { responses, end }: Conversation, { send, answers }: Attack): void {
  const given = responses.filter(({ line }) => !isInformational(line))
  const isHead = send.startsWith('HEAD ')
  comparison.holds(end !== 'silent', 'the connection does not hang')
  comparison.same(
    given.slice(0, answers.length).map((answer, i) => codeOf(answer, isHead && i === 0)),
    answers,
    'it is answered',
  )
  // Behind a refusal the connection may be given up. What else is answered on it is the honest request, by the backend,
  // or refused because it follows an invalid one.
  for (const answer of given.slice(answers.length)) {
    const code = codeOf(answer)
    comparison.holds(code === 400 || headerOf(answer, 'x-case') === 'honest', `and nothing else is, but ${code}`)
  }
}

/** The answer as a corpus names it; throws when a refusal is not the envelope and the status that clients know. */
function codeOf(answer: Message, toHead = false): 'upstream' | number {
  if (headerOf(answer, 'x-case') !== undefined) return 'upstream'
  const status = Number(answer.line.split(' ')[1])
  // An answer to HEAD has no body.
  if (answer.body === '' && toHead) return status
  const { code, success, data, trace_id } = JSON.parse(Buffer.from(answer.body, 'latin1').toString())
  if (success || data !== null || typeof trace_id !== 'string' || status !== (code === 401 ? 200 : code)) {
    throw new Error(`${answer.line}, and no refusal of ours: ${answer.body}`)
  }
  return code
}

function compareArrival(
  { same, holds }: Comparison,
  arrived: Message,
  { headers = [], body = '', as, host = 'x', version = 1 }: Arrival,
  { users, upstream }: Pick<AttackFixture, 'users' | 'upstream'>,
): void {
  const own: Record<string, string[]> = {}
  const others: string[] = []
  for (const header of arrived.headers) {
    const [name, value] = fieldOf(header)
    if (OURS.test(name) || header === 'via: 1.1 dualgate' || header === 'via: 1.0 dualgate')
      own[name] = [...(own[name] ?? []), value]
    else others.push(header)
  }
  same(others, headers, 'these headers of the client arrive, as they were written')
  same(arrived.body, body, 'the body arrives')
  const {
    connection,
    'content-length': length,
    'transfer-encoding': coding,
    'x-request-id': id,
    trace_id: traceId,
    ...said
  } = own
  same(
    said,
    {
      host: [new URL(upstream.url).host],
      'x-forwarded-for': ['127.0.0.1'],
      'x-forwarded-proto': ['http'],
      ...(host !== '' && { 'x-forwarded-host': [host] }),
      'x-forwarded-port': ['80'],
      via: [`1.${version} dualgate`],
      ...(as !== undefined && { 'x-login-id': [users[as]], 'x-login-type': [as] }),
    },
    'the gateway names the client, once each',
  )
  holds(id?.length === 1 && /^[A-Za-z0-9._-]{8,64}$/.test(id[0]!), `the request has an id, and not ${inspect(id)}`)
  same(traceId, id, 'under both names')
  const isOwn = connection === undefined || /^(keep-alive|close)$/i.test(connection.join())
  holds(isOwn, 'the connection is its own matter')
  holds((length ?? []).length + (coding ?? []).length <= 1, 'it is framed once')
}

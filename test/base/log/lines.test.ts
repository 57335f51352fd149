import type { FastifyReply, FastifyRequest } from 'fastify'
import { pino } from 'pino'
import t from 'tap'
import { createLineWriter, createLog, type Logger } from '../../../src/base/log/log.ts'
import { createObservation } from '../../../src/http/server/count-and-log.ts'
import { fc } from '../../support/random.ts'

/*
 * A line of the access log is made of text. It must be the line that pino makes of an object, whatever a client sends.
 */

interface Answered {
  id: string
  traceparent: string | undefined
  method: string
  path: string | undefined
  route: string | undefined
  rule: number | null
  exception: string | undefined
  session: { side: string; login_id: string; jti: string } | null
  upstream: string | null
  status: number
  refused: string | null
  elapsed: number
  bytes: number | undefined
  ip: string | undefined
  agent: string | undefined
}

/** Text of any code points, often with those that JSON escapes. */
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.string({ unit: fc.constantFrom('"', '\\', '\0', '\n', '\r', '\x1b', '\x7f', '\u2028', ' ', '~', 'ü', '🚪', 'a') }),
  fc.string({ unit: 'binary', maxLength: 5 }).map(part => part.repeat(1000)),
)

/** With single halves of surrogate pairs, too. */
const brokenText = fc.array(fc.nat(0xffff), { maxLength: 30 }).map(units => String.fromCharCode(...units))

const traceparent = fc.constant('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01')

const answered = (of: fc.Arbitrary<string>): fc.Arbitrary<Answered> =>
  fc.record({
    id: of,
    traceparent: fc.option(traceparent, { nil: undefined }),
    method: of,
    path: fc.option(of, { nil: undefined }),
    route: fc.option(of, { nil: undefined }),
    rule: fc.option(fc.nat(6)),
    exception: fc.option(of, { nil: undefined }),
    session: fc.option(fc.record({ side: of, login_id: of, jti: of })),
    upstream: fc.option(of),
    status: fc.integer({ min: 100, max: 999 }),
    refused: fc.option(of),
    elapsed: fc.double({ min: 0, max: 1e7, noNaN: true }),
    bytes: fc.option(fc.nat(), { nil: undefined }),
    ip: fc.option(of, { nil: undefined }),
    agent: fc.option(of, { nil: undefined }),
  })

/** What the log says of it, as an object. */
const fieldsOf = (one: Answered): Record<string, unknown> => ({
  trace_id: one.id,
  traceparent: one.traceparent,
  method: one.method,
  path: one.path,
  route: one.path === undefined ? one.route : undefined,
  rule: one.rule ?? undefined,
  exception: one.rule === null ? undefined : one.exception,
  side: one.session?.side,
  login_id: one.session?.login_id,
  jti: one.session?.jti,
  upstream: one.upstream ?? undefined,
  status: one.status,
  refused: one.refused ?? undefined,
  ms: Math.round(one.elapsed * 10) / 10,
  bytes: one.status === 101 ? undefined : one.bytes,
  ip: one.ip,
  user_agent: one.agent === undefined ? undefined : withoutControls(one.agent.slice(0, 256)),
})

/** U+0000 to U+001F, and DEL to U+009F. */
const withoutControls = (text: string): string =>
  [...Array(text.length).keys()]
    .map(i => text[i]!)
    .filter(unit => !(unit < ' ' || (unit >= '\x7f' && unit <= '\x9f')))
    .join('')

/** The line of the access log for it. */
function writeLine(one: Answered, accessLog: Logger): void {
  const counter = { answered: () => undefined, refused: () => undefined }
  const { id, method, route, rule, exception, session, upstream, refused, ip } = one
  const request = {
    id,
    method,
    raw: {
      headers: { traceparent: one.traceparent, 'user-agent': one.agent },
      socket: one.bytes === undefined ? undefined : { bytesWritten: one.bytes },
    },
    target: one.path === undefined ? undefined : { path: one.path },
    routeOptions: { url: route },
    verdict:
      rule === null
        ? null
        : { rule: { number: rule }, ...(exception !== undefined && { exception: { path: exception } }) },
    session:
      session === null
        ? null
        : { record: { type: session.side, user_id: session.login_id }, claims: { jti: session.jti } },
    upstream,
    refused,
    ip,
  }
  createObservation({ requests: 'every', counter, accessLog }).answered(
    request as unknown as FastifyRequest,
    { raw: { statusCode: one.status }, elapsedTime: one.elapsed } as unknown as FastifyReply,
  )
}

/** With the flag `u` a pair is one code point, and not of this range. */
const LONE_SURROGATE = /[\ud800-\udfff]/u

/** A log that keeps its last line. */
function recorder() {
  const kept = {
    line: '',
    write(line: string): void {
      kept.line = line
    },
  }
  return kept
}

t.test('a line is the line that pino writes, byte for byte', async t => {
  const [ours, theirs] = [recorder(), recorder()]
  const log = createLog('info', ours)
  const peer = pino({ base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime }, theirs)
  let now = 0
  t.intercept(Date, 'now', { value: () => now })
  fc.assert(
    fc.property(answered(text), fc.date({ min: new Date(0), noInvalidDate: true }), (one, date) => {
      now = date.getTime()
      writeLine(one, log)
      peer.info(fieldsOf(one), 'request')
      return ours.line === theirs.line
    }),
    { numRuns: 500 },
  )
  t.equal(ours.line, theirs.line)
})

t.test('a line is one line, and a reader gets every value as it was', async t => {
  const ours = recorder()
  const log = createLog('info', ours)
  fc.assert(
    fc.property(answered(fc.oneof(text, brokenText)), one => {
      writeLine(one, log)
      const { level, time, pid, msg, ...fields } = JSON.parse(ours.line)
      const isWhole = ours.line.indexOf('\n') === ours.line.length - 1 && !LONE_SURROGATE.test(ours.line)
      return isWhole && JSON.stringify(fields) === JSON.stringify(fieldsOf(one))
    }),
    { numRuns: 500 },
  )
  t.equal(JSON.parse(ours.line).msg, 'request')
})

t.test('a log of another program writes the line with its own settings', async t => {
  const [ours, theirs] = [recorder(), recorder()]
  const foreign = pino(
    { redact: ['login_id'], messageKey: 'message', timestamp: false, base: { name: 'shop' } },
    theirs,
  )
  const one: Answered = {
    id: 'trace-1',
    traceparent: undefined,
    method: 'GET',
    path: '/api/v1/c/x',
    route: '/*',
    rule: 4,
    exception: undefined,
    session: { side: 'CONSUMER', login_id: 'ann', jti: 'j"1' },
    upstream: 'backend',
    status: 200,
    refused: null,
    elapsed: 1.26,
    bytes: 312,
    ip: '127.0.0.1',
    agent: 'curl/8.5.0',
  }
  writeLine(one, foreign)
  const { message, ...fields } = JSON.parse(theirs.line)
  t.equal(message, 'request')
  t.strictSame(fields, {
    level: 30,
    name: 'shop',
    ...JSON.parse(JSON.stringify(fieldsOf(one))),
    login_id: '[Redacted]',
  })
  writeLine(one, createLog('info', ours).child({ name: 'shop' }))
  t.match(JSON.parse(ours.line), { name: 'shop', login_id: 'ann' })
})

t.test('a log that is for more important lines gets none', async t => {
  const ours = recorder()
  const log = createLog('warn', ours)
  const write = createLineWriter(log, 'request')
  write(',"status":200')
  t.equal(ours.line, '')
  log.level = 'info'
  write(',"status":200')
  t.match(JSON.parse(ours.line), { level: 30, status: 200, msg: 'request' })
})

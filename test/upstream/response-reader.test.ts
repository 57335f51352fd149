import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { MalformedResponse } from '../../src/upstream/wire/read-response-head.ts'
import { ResponseReader } from '../../src/upstream/wire/response-reader.ts'
import { fc } from '../support/random.ts'

/* Bytes of a connection on the one side, the calls of a receiver on the other; invalid HTTP/1.1 is a fault. */

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** Bytes of buffers that are in use. The memory of those that are not is given back by the time of the next collection. */
function usedByBuffers(): number {
  collectGarbage()
  collectGarbage()
  return process.memoryUsage().arrayBuffers
}

interface Outcome {
  heads: [status: number, headers: string[]][]
  body: string
  /** `null` while the response is not complete. */
  trailers: string[] | null
  keepsAlive: boolean
}

/** Reads parts, one packet each, as the response to a request; with `end`, the connection ends after them. */
function read(parts: readonly string[], { method = 'GET', end = false } = {}): Outcome {
  const outcome: Outcome = { heads: [], body: '', trailers: null, keepsAlive: false }
  const reader = new ResponseReader()
  reader.begin(
    {
      onConnect() {},
      onHeaders(status, headers) {
        outcome.heads.push([status, headers])
      },
      onData(chunk) {
        outcome.body += chunk.toString('latin1')
      },
      onAwait() {},
      onComplete(trailers) {
        if (outcome.trailers !== null) throw new Error('completed twice')
        outcome.trailers = trailers
      },
      onError() {},
    },
    method,
  )
  for (const part of parts) reader.read(Buffer.from(part, 'latin1'))
  if (end) reader.end()
  outcome.keepsAlive = reader.keepsAlive
  return outcome
}

const OK = 'HTTP/1.1 200 OK\r\n'

t.test('a body ends where its framing says, and nothing else ends it', async t => {
  const FRAMED: Record<string, [bytes: string, body: string, trailers: string[], keepsAlive: boolean]> = {
    'a length': [`${OK}Content-Length: 4\r\n\r\nbody`, 'body', [], true],
    'a length of nothing': [`${OK}content-length: 0\r\n\r\n`, '', [], true],
    chunks: [`${OK}Transfer-Encoding: chunked\r\n\r\n3\r\nbod\r\n1\r\ny\r\n0\r\n\r\n`, 'body', [], true],
    'chunks with extensions': [
      `${OK}Transfer-Encoding: Chunked\r\n\r\n4;a=b \r\nbody\r\n00;c\r\n\r\n`,
      'body',
      [],
      true,
    ],
    'chunks with CRLF in them': [
      `${OK}Transfer-Encoding: chunked\r\n\r\n6\r\n\r\n0\r\n\r\r\n0\r\n\r\n`,
      '\r\n0\r\n\r',
      [],
      true,
    ],
    trailers: [
      `${OK}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: 1\r\nB: 2\r\n\r\n`,
      'x',
      ['A', '1', 'B', '2'],
      true,
    ],
    'no body with 204': ['HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\n', '', [], true],
    'no body with 304': ['HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n', '', [], true],
    'a close that is announced': [`${OK}Content-Length: 4\r\nConnection: close\r\n\r\nbody`, 'body', [], false],
    'a close among others': [`${OK}Content-Length: 0\r\nConnection: x, Close\r\n\r\n`, '', [], false],
    'HTTP/1.0': ['HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nbody', 'body', [], false],
    'HTTP/1.0 that stays': ['HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n', '', [], true],
  }
  for (const [name, [bytes, body, trailers, keepsAlive]] of Object.entries(FRAMED)) {
    t.match(read([bytes]), { body, trailers, keepsAlive }, name)
    t.match(read([...bytes]), { body, trailers, keepsAlive }, `${name}, a byte at a time`)
    t.match(read([`${bytes}more`]), { body, trailers, keepsAlive: false }, `${name}, and more than that`)
  }
})

t.test('without framing a body ends with the connection, which is not used again', async t => {
  for (const head of [OK, 'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n']) {
    t.match(read([`${head}\r\n`, 'bo', 'dy']), { body: 'body', trailers: null })
    t.match(read([`${head}\r\n`, 'bo', 'dy'], { end: true }), { body: 'body', trailers: [], keepsAlive: false })
  }
})

t.test('the answer to HEAD has no body, and its connection is not used again', async t => {
  for (const framing of ['Content-Length: 4', 'Transfer-Encoding: chunked', 'X: none']) {
    t.match(read([`${OK}${framing}\r\n\r\n`], { method: 'HEAD' }), { body: '', trailers: [], keepsAlive: false })
  }
})

t.test('a head is read as it was written', async t => {
  const head = 'HTTP/1.1 299 \xfcber: alles\r\nA:1\r\nb:\t 2 3 \t\r\nC:\r\nD: \xff\r\nA: 4\r\nContent-Length: 0\r\n\r\n'
  t.same(read([head]).heads, [[299, ['A', '1', 'b', '2 3', 'C', '', 'D', '\xff', 'A', '4', 'Content-Length', '0']]])
  t.same(read(['HTTP/1.1 200\r\n\r\n']).heads, [[200, []]], 'a status line may lack its reason')
})

t.test('informational responses come before the final one, whichever and how many they are', async t => {
  const bytes = `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${OK}Content-Length: 2\r\n\r\nok`
  const { heads, body, trailers } = read([bytes])
  t.same(
    heads.map(([status]) => status),
    [100, 103, 200],
  )
  t.same([body, trailers], ['ok', []])
})

t.test('an incomplete response is a fault', async t => {
  for (const bytes of [
    '',
    'HTTP/1.1 20',
    `${OK}A: 1\r\n`,
    `${OK}Content-Length: 5\r\n\r\nbody`,
    `${OK}Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n`,
    `${OK}Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n`,
    `${OK}Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nA: 1\r\n`,
    'HTTP/1.1 100 Continue\r\n\r\n',
  ]) {
    t.throws(() => read([bytes], { end: true }), MalformedResponse, JSON.stringify(bytes))
  }
})

t.test('an ambiguous response is a fault', async t => {
  const HEADS = [
    'nonsense\r\n\r\n',
    'HTTP/1.1\r\n\r\n',
    'HTTP/1.1 2000 OK\r\n\r\n',
    'HTTP/1.1 099 Low\r\n\r\n',
    'HTTP/1.1  200 OK\r\n\r\n',
    'HTTP/1.1 200\tOK\r\n\r\n',
    'HTTP/1.2 200 OK\r\n\r\n',
    'http/1.1 200 OK\r\n\r\n',
    '\r\nHTTP/1.1 200 OK\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\n\r\n',
    `${OK}A : 1\r\n\r\n`,
    `${OK}: 1\r\n\r\n`,
    `${OK}A\r\n\r\n`,
    `${OK}A: 1\r\n folded\r\n\r\n`,
    `${OK}A: 1\nB: 2\r\n\r\n`,
    `${OK}A: 1\rB: 2\r\n\r\n`,
    `${OK}A: 1\0\r\n\r\n`,
    `${OK}A\x80: 1\r\n\r\n`,
    ...['4, 4', '+4', '-4', '4.0', '0x4', '', '4 4', '9999999999999999'].map(
      length => `${OK}Content-Length: ${length}\r\n\r\nbody`,
    ),
    `${OK}Content-Length: 4\r\nContent-Length: 4\r\n\r\nbody`,
    ...['gzip', 'gzip, chunked', 'chunked, chunked', 'identity', '', 'chunked;q=1', 'xchunked'].map(
      coding => `${OK}Transfer-Encoding: ${coding}\r\n\r\n`,
    ),
    `${OK}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n`,
    ...[';/a=b', ';', '; a', ';a="b', ';a b'].map(
      text => `${OK}Transfer-Encoding: chunked\r\n\r\n4${text}\r\nbody\r\n0\r\n\r\n`,
    ),
    `${OK}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n`,
    'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ]
  const CHUNKS = [
    'zz\r\n',
    '\r\n',
    '-1\r\n',
    ' 4\r\nbody',
    '0x4\r\nbody',
    '4\nbody',
    '10000000000000\r\n',
    '4\r\nbody!\r\n',
  ]
  const bodies = CHUNKS.map(chunks => `${OK}Transfer-Encoding: chunked\r\n\r\n${chunks}\r\n`)
  const trailers = ['A : 1', 'A', 'A: \0', 'A: 1\nB: 2'].map(
    line => `${OK}Transfer-Encoding: chunked\r\n\r\n0\r\n${line}\r\n\r\n`,
  )
  for (const bytes of [...HEADS, ...bodies, ...trailers]) {
    t.throws(() => read([bytes]), MalformedResponse, JSON.stringify(bytes))
    t.throws(() => read([...bytes]), MalformedResponse, `${JSON.stringify(bytes)}, a byte at a time`)
  }
})

t.test('an invalid head is a fault before it is complete', async t => {
  for (const bytes of ['SSH-2.0', 'HTTP/2', 'HTTP/1.1 200 OK\nA: 1', `${OK}A: \0`]) t.throws(() => read([bytes]), bytes)
  for (const bytes of ['H', 'HTTP/1.1 2', `${OK}A: 1\r`]) t.doesNotThrow(() => read([bytes]), bytes)
})

t.test('buffers for incomplete data are bounded', async t => {
  const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`
  const GROWING: Record<string, string[]> = {
    'a head': [OK, ...Array.from({ length: 40 }, () => `A: ${'a'.repeat(1000)}\r\n`)],
    'a head at once': [`${OK}${`A: ${'a'.repeat(1000)}\r\n`.repeat(40)}\r\n`],
    'the line of a chunk': [`${CHUNKED}4;`, ...Array.from({ length: 20 }, () => 'a'.repeat(100))],
    trailers: [`${CHUNKED}0\r\n`, ...Array.from({ length: 40 }, () => `A: ${'a'.repeat(1000)}\r\n`)],
  }
  for (const [name, parts] of Object.entries(GROWING)) t.throws(() => read(parts), MalformedResponse, name)
})

t.test('where packets begin and end makes no difference', async t => {
  const field = fc.tuple(
    fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,12}$/),
    fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/),
  )
  const harmless = field.filter(([name]) => !/^(content-length|transfer-encoding|connection|keep-alive)$/i.test(name))
  const response = fc.record({
    status: fc.integer({ min: 200, max: 599 }).filter(status => status !== 204 && status !== 304),
    fields: fc.array(harmless, { maxLength: 6 }),
    chunks: fc.array(fc.stringMatching(/^[\r\n0-9a-z:]{1,30}$/), { maxLength: 5 }),
    trailers: fc.array(harmless, { maxLength: 2 }),
    isChunked: fc.boolean(),
  })
  const linesOf = (fields: [string, string][]): string =>
    fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  fc.assert(
    fc.property(response, fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 30 }), (made, sizes) => {
      const { status, fields, chunks, trailers, isChunked } = made
      const body = chunks.join('')
      const framing = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`
      const sent = isChunked
        ? `${chunks.map(chunk => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}0\r\n${linesOf(trailers)}\r\n`
        : body
      let rest = `HTTP/1.1 ${status} Text\r\n${linesOf(fields)}${framing}\r\n\r\n${sent}`
      const parts: string[] = []
      for (const size of sizes) {
        parts.push(rest.slice(0, size))
        rest = rest.slice(size)
      }
      const outcome = read([...parts, rest].filter(part => part !== ''))
      const [name, value] = framing.split(': ') as [string, string]
      return (
        outcome.body === body &&
        outcome.keepsAlive &&
        JSON.stringify(outcome.heads) === JSON.stringify([[status, [...fields.flat(), name, value]]]) &&
        JSON.stringify(outcome.trailers) === JSON.stringify(isChunked ? trailers.flat() : [])
      )
    }),
    { numRuns: 500 },
  )
  t.pass('500 responses')
})

t.test('a receiver that ends its request gets no more calls', async t => {
  const told: string[] = []
  const reader = new ResponseReader()
  const leave = (what: string) => () => {
    told.push(what)
    reader.abandon()
  }
  const receiver = { onConnect() {}, onAwait() {}, onComplete: () => void told.push('complete'), onError() {} }
  const bytes = Buffer.from(`${OK}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n`)
  reader.begin({ ...receiver, onHeaders: leave('head'), onData: () => void told.push('data') }, 'GET')
  reader.read(bytes)
  reader.begin({ ...receiver, onHeaders() {}, onData: leave('data') }, 'GET')
  reader.read(bytes)
  t.same(told, ['head', 'data'])
})

t.test('a head and trailers that arrive in packets of one byte are searched once', async t => {
  const LONG = 5000
  const head = `${OK}A: ${'a'.repeat(LONG)}\r\nTransfer-Encoding: chunked\r\n\r\n`
  const trailers = `B: ${'b'.repeat(LONG)}\r\n\r\n`
  const texts = t.capture(Buffer.prototype, 'toString', Buffer.prototype.toString)
  const searches = t.capture(Buffer.prototype, 'indexOf', Buffer.prototype.indexOf)
  const outcome = read([...`${head}0\r\n${trailers}`])
  const made = texts().map(result => ('returned' in result ? String(result.returned).length : 0))
  const searched = searches().map(({ receiver, args }) => (receiver as Buffer).length - Number(args[1]))
  texts.restore()
  searches.restore()
  t.equal(outcome.trailers?.[1]?.length, LONG)
  const sum = (numbers: number[]): number => numbers.reduce((a, b) => a + b, 0)
  const bytes = head.length + trailers.length
  t.ok(sum(made) < 20 * bytes, `${sum(made)} bytes as text, of ${bytes}`)
  t.ok(sum(searched) < 20 * bytes, `${sum(searched)} bytes searched, of ${bytes}`)
})

t.test('of a packet that ends within a line only this line is kept in memory', async t => {
  const COUNT = 100
  const PACKET = 65_536
  const readers: ResponseReader[] = []
  const receiver = { onConnect() {}, onHeaders() {}, onData() {}, onAwait() {}, onComplete() {}, onError() {} }
  const readPacket = (): void => {
    const head = `${OK}Transfer-Encoding: chunked\r\n\r\nf000\r\n`
    const packet = Buffer.allocUnsafeSlow(PACKET)
    const length = packet.write(`${head}${'x'.repeat(0xf000)}\r\n1;begun`)
    const reader = new ResponseReader()
    reader.begin(receiver, 'GET')
    reader.read(packet.subarray(0, length))
    readers.push(reader)
  }
  const before = usedByBuffers()
  for (let i = 0; i < COUNT; i++) readPacket()
  const kept = usedByBuffers() - before
  t.ok(readers.every(reader => !reader.isOver))
  t.ok(kept < (COUNT * PACKET) / 20, `${kept} bytes for ${COUNT} readers`)
})

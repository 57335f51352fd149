import { get } from 'node:http'
import { createServer } from 'node:net'
import t from 'tap'
import { ResponseReader } from '../../src/upstream/wire/response-reader.ts'
import { fc } from '../support/random.ts'
import { withoutStrictParser } from '../support/strict-parser.ts'

/*
 * Two readers of the same bytes must not read two things: whatever our reader takes for a response, Node's own parser
 * takes for the same one. Ours may refuse more.
 */

interface Reading {
  status: number
  body: string
}

/** What our reader makes of a connection that says this and ends, and how many bytes that is; `null` for no response. */
function readOurs(bytes: Buffer): (Reading & { length: number }) | null {
  let isOver = false
  let length = 0
  const reading: Reading = { status: 0, body: '' }
  const reader = new ResponseReader()
  reader.begin(
    {
      onConnect() {},
      onHeaders(status) {
        reading.status = status
      },
      onData(chunk) {
        reading.body += chunk.toString('latin1')
      },
      onAwait() {},
      onComplete() {
        isOver = true
      },
      onError() {},
    },
    'GET',
  )
  try {
    while (length < bytes.length && !isOver) reader.read(bytes.subarray(length, ++length))
    reader.end()
  } catch {
    return null
  }
  return isOver ? { ...reading, length } : null
}

const said: { bytes: Buffer } = { bytes: Buffer.alloc(0) }
const server = createServer(socket => {
  socket.on('error', () => {})
  socket.once('data', () => socket.end(said.bytes))
})

function readTheirs(bytes: Buffer, port: number): Promise<Reading | null> {
  said.bytes = bytes
  return new Promise(resolve => {
    const request = get({ port, host: '127.0.0.1', agent: false }, response => {
      let body = ''
      response.on('data', chunk => {
        body += chunk.toString('latin1')
      })
      response.on('error', () => resolve(null))
      response.on('end', () => resolve({ status: response.statusCode!, body }))
    })
    request.on('error', () => resolve(null))
    request.on('upgrade', (_response, socket) => {
      socket.destroy()
      resolve(null)
    })
  })
}

const RESPONSES = [
  'HTTP/1.1 200 OK\r\nContent-Length: 10\r\nX-A: b\r\n\r\n0123456789',
  'HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n5;a=b\r\n01234\r\n5\r\n56789\r\n0\r\nX: y\r\n\r\n',
  'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n5\r\n01234\r\n0\r\n\r\n',
  'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc',
  'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: a/b\r\n\r\nok',
  'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n5\r\n01234\r\n0\r\n\r\n',
]

/** Bytes that mean something to a parser, beside any others. */
const telling = fc.constantFrom(...'\r\n \t:;,0159afx-\0\x7f\xff'.split(''))
const piece = fc.oneof(
  telling,
  fc.constantFrom(
    '\r\n',
    '\r\n\r\n',
    'Content-Length: 3\r\n',
    'Transfer-Encoding: chunked\r\n',
    '0\r\n\r\n',
    ' chunked',
  ),
  fc.integer({ min: 0, max: 255 }).map(code => String.fromCharCode(code)),
)
const change = fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), cut: fc.integer({ min: 0, max: 4 }), piece })

const changed = (text: string, changes: { at: number; cut: number; piece: string }[]): Buffer =>
  Buffer.from(
    changes.reduce((result, { at, cut, piece: put }) => {
      const index = Math.floor(at * result.length)
      return result.slice(0, index) + put + result.slice(index + cut)
    }, text),
    'latin1',
  )

/** Spaces at the end of the line before a chunk, or before its extensions: some servers send them, and Node refuses them. */
const PADDED = /^[\da-f]+(?:;[^\r\n]*)?[\t ]+[;\r]/im

t.test('an accepted response is read the same by another parser', { skip: withoutStrictParser }, async t => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as { port: number }
  let taken = 0
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...RESPONSES),
      fc.array(change, { minLength: 0, maxLength: 3 }),
      async (text, changes) => {
        const bytes = changed(text, changes)
        const ours = readOurs(bytes)
        if (ours === null || PADDED.test(bytes.toString('latin1'))) return true
        taken++
        // What comes after the response ends the connection here, and is no part of it.
        const theirs = await readTheirs(bytes.subarray(0, ours.length), port)
        return theirs !== null && theirs.status === ours.status && theirs.body === ours.body
      },
    ),
    { numRuns: 3000 },
  )
  t.ok(taken > 100, `${taken} of 3000 were taken`)
})

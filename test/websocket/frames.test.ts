import t from 'tap'
import { CLOSE, closeFrame, FrameReader } from '../../src/http/websocket/frames.ts'
import { fc } from '../support/random.ts'

/* Where frames end, however the bytes come; what is no frame does not pass. */

interface Frame {
  opcode: number
  payload: Buffer
  isLast?: boolean
  mask?: boolean
}

function frame({ opcode, payload, isLast = true, mask = false }: Frame): Buffer {
  const { length } = payload
  const extended = length < 126 ? Buffer.alloc(0) : Buffer.alloc(length < 65_536 ? 2 : 8)
  if (extended.length === 2) extended.writeUInt16BE(length)
  if (extended.length === 8) extended.writeBigUInt64BE(BigInt(length))
  const seven = length < 126 ? length : extended.length === 2 ? 126 : 127
  const head = Buffer.from([(isLast ? 0x80 : 0) | opcode, (mask ? 0x80 : 0) | seven])
  return Buffer.concat([head, extended, mask ? Buffer.from([1, 2, 3, 4]) : Buffer.alloc(0), payload])
}

const text = (length: number, more: Partial<Frame> = {}) =>
  frame({ opcode: 1, payload: Buffer.alloc(length, 'x'), ...more })

t.test('the ends of frames are found, however the bytes are cut', async t => {
  const frames = fc.array(
    fc.record({ opcode: fc.constantFrom(1, 2, 9, 10), length: fc.constantFrom(0, 1, 125, 126, 127, 65_535, 65_536) }),
    { minLength: 1, maxLength: 6 },
  )
  const property = fc.property(
    frames,
    fc.boolean(),
    fc.infiniteStream(fc.integer({ min: 1, max: 40_000 })),
    (list, mask, cuts) => {
      const parts = list.map(({ opcode, length }) =>
        frame({ opcode, mask, payload: Buffer.alloc(opcode > 8 ? Math.min(length, 125) : length, 'x') }),
      )
      const ends = new Set(
        [...parts, null].map((_, i) => parts.slice(0, i).reduce((sum, part) => sum + part.length, 0)),
      )
      const bytes = Buffer.concat(parts)
      const reader = new FrameReader(mask)
      const passed: Buffer[] = []
      let at = 0
      while (at < bytes.length) {
        const piece = bytes.subarray(at, at + (cuts.next().value as number))
        passed.push(reader.read(piece))
        if (reader.fault !== null) return false
        at += piece.length
        const sent = passed.reduce((sum, { length }) => sum + length, 0)
        // The beginning of a head may wait for the rest of it.
        if (sent > at || at - sent > 9 || reader.isBetweenFrames !== ends.has(sent)) return false
      }
      return Buffer.concat(passed).equals(bytes)
    },
  )
  t.doesNotThrow(() => fc.assert(property, { numRuns: 300 }))
})

t.test('reading to the end of a frame stops there', async t => {
  const reader = new FrameReader(false)
  const bytes = Buffer.concat([text(300), text(5)])
  t.equal(reader.read(bytes.subarray(0, 100)).length, 100)
  t.notOk(reader.isBetweenFrames)
  t.equal(reader.read(bytes.subarray(100), 'frame').length, text(300).length - 100)
  t.ok(reader.isBetweenFrames)
  t.equal(reader.read(text(5), 'frame').length, 0, 'where one has ended already, nothing more passes')
})

t.test('a message in fragments may hold control frames, and nothing else', async t => {
  const begin = text(3, { isLast: false })
  const ping = frame({ opcode: 9, payload: Buffer.from('?') })
  const more = (isLast: boolean) => frame({ opcode: 0, payload: Buffer.from('y'), isLast })
  const right = new FrameReader(false)
  right.read(Buffer.concat([begin, ping, more(false), ping, more(true), text(2), begin, more(true)]))
  t.equal(right.fault, null)
  t.ok(right.isBetweenFrames)
  for (const wrong of [[more(true)], [begin, text(1)], [begin, more(true), more(true)]]) {
    const reader = new FrameReader(false)
    reader.read(Buffer.concat(wrong))
    t.equal(reader.fault, CLOSE.protocolError)
  }
})

t.test('an invalid frame does not pass, and nothing after it', async t => {
  const wrong: Record<string, Buffer> = {
    'another protocol': Buffer.from('GET /api/v1/sys/x HTTP/1.1\r\n'),
    'an extension that was not negotiated': Buffer.from([0xc1, 0x81, 1, 2, 3, 4, 0]),
    'an unknown opcode': Buffer.from([0x83, 0x80, 1, 2, 3, 4]),
    'an unknown control opcode': Buffer.from([0x8b, 0x80, 1, 2, 3, 4]),
    'a control frame in fragments': Buffer.from([0x09, 0x80, 1, 2, 3, 4]),
    'a control frame that is too long': Buffer.from([0x89, 0xfe, 0, 200]),
    'no mask': text(3),
  }
  for (const [name, bytes] of Object.entries(wrong)) {
    const reader = new FrameReader(true)
    const before = text(3, { mask: true })
    t.same(reader.read(Buffer.concat([before, bytes, text(1, { mask: true })])), before, `${name}: what is before it`)
    t.equal(reader.fault, CLOSE.protocolError, name)
    t.ok(reader.isBetweenFrames, 'a close frame can follow')
    t.equal(reader.read(text(1, { mask: true })).length, 0)
    const slow = new FrameReader(true)
    const passed = [...bytes].map(byte => slow.read(Buffer.from([byte])))
    t.equal(Buffer.concat(passed).length, 0, `${name}, byte by byte`)
    t.equal(slow.fault, CLOSE.protocolError)
  }
  const unmasked = new FrameReader(false)
  unmasked.read(text(3, { mask: true }))
  t.equal(unmasked.fault, CLOSE.protocolError, 'a mask where none belongs')
})

t.test('a message over the limit is refused by its length alone, in fragments too', async t => {
  const fits = new FrameReader(true, 1000)
  fits.read(Buffer.concat([text(1000, { mask: true }), text(1000, { mask: true })]))
  t.equal(fits.fault, null)
  const whole = new FrameReader(true, 1000)
  t.equal(whole.read(text(1001, { mask: true })).length, 0)
  t.equal(whole.fault, CLOSE.tooBig)
  const huge = new FrameReader(true, 1000)
  huge.read(Buffer.from([0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]))
  t.equal(huge.fault, CLOSE.tooBig)
  const parts = new FrameReader(true, 1000)
  parts.read(text(600, { mask: true, isLast: false }))
  t.equal(parts.fault, null)
  parts.read(frame({ opcode: 0, payload: Buffer.alloc(600), mask: true }))
  t.equal(parts.fault, CLOSE.tooBig)
})

t.test('nothing passes after a close frame', async t => {
  const reader = new FrameReader(false)
  const bytes = Buffer.concat([text(3), closeFrame(CLOSE.goingAway, 'bye', { isMasked: false }), text(3)])
  t.equal(reader.read(bytes).length, bytes.length - text(3).length)
  t.ok(reader.isClosed)
  t.equal(reader.read(text(3)).length, 0)
})

t.test('reading up to a close frame stops in front of it', async t => {
  const reader = new FrameReader(false)
  const bytes = Buffer.concat([text(3), closeFrame(CLOSE.goingAway, 'bye', { isMasked: false })])
  t.same(reader.read(bytes, 'close'), text(3))
  t.ok(reader.isAtClose && reader.isBetweenFrames && !reader.isClosed)
})

t.test('our close frames are frames, masked or not', async t => {
  for (const isMasked of [true, false]) {
    const bytes = closeFrame(CLOSE.sessionEnded, 'session ended', { isMasked })
    const reader = new FrameReader(isMasked)
    t.equal(reader.read(bytes).length, bytes.length)
    t.ok(reader.isClosed)
    const payload = bytes.subarray(isMasked ? 6 : 2)
    if (isMasked) for (let i = 0; i < payload.length; i++) payload[i]! ^= bytes[2 + (i % 4)]!
    t.equal(payload.readUInt16BE(), 4401)
    t.equal(payload.toString('latin1', 2), 'session ended')
  }
})

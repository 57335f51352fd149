import t from 'tap'
import { until } from '../support/until.ts'
import { acceptByHand, openWebSocketFixture, RAW_HANDSHAKE, rawCall } from '../support/websocket-fixture.ts'
import { closingOf, openEnd } from '../support/websocket-sockets.ts'

/*
 * Good frames and then a bad one, in one packet, as cases 3.2 to 3.4, 4.1.3 to 4.2.5 and 5.15 of the Autobahn test suite
 * send them: what is before the bad one arrives, and is answered, before the close.
 */

/** A frame whose mask, if it has one, is of zeros. */
const frame = (first: number, text: string, isMasked: boolean): Buffer =>
  Buffer.concat([
    Buffer.from([first, (isMasked ? 0x80 : 0) | text.length]),
    Buffer.alloc(isMasked ? 4 : 0),
    Buffer.from(text),
  ])

const GOOD = 0x81

/** By the first byte: cases of Autobahn, each after a good text. */
const BAD: Record<string, number> = {
  'RSV 2 set (3.2)': 0xa1,
  'RSV 1 and 2 set (3.4)': 0xe1,
  'a reserved opcode (4.1.3)': 0x85,
  'a reserved control opcode (4.2.3)': 0x8d,
  'a continuation of nothing (5.15)': 0x80,
}

/** An upstream of bare bytes behind the gateway. */
async function openBare(t: Parameters<typeof openWebSocketFixture>[0]) {
  const fixture = await openWebSocketFixture(t)
  return { ...fixture, behind: acceptByHand(fixture.upstream) }
}

/** The code of the close frame that ends these bytes; `null` when none does. */
function closeCodeIn(bytes: Buffer): number | null {
  const at = bytes.lastIndexOf(0x88)
  return at < 0 || bytes.length < at + 4 ? null : bytes.readUInt16BE(at + 2)
}

for (const [what, first] of Object.entries(BAD)) {
  t.test(`an upstream's ${what} closes the client with 1014, behind the frames before it`, async t => {
    const { fixture, behind, login } = await openBare(t)
    const end = await openEnd(t, fixture.url, { token: await login() })
    const answers: Buffer[] = []
    behind[0]!.on('data', bytes => answers.push(bytes))
    behind[0]!.write(Buffer.concat([frame(GOOD, 'one', false), frame(GOOD, 'two', false), frame(first, 'bad', false)]))
    t.same(await closingOf(end), { code: 1014, reason: 'bad gateway' })
    t.same(
      end.messages.map(({ text }) => text),
      ['one', 'two'],
    )
    t.ok(await until(() => Buffer.concat(answers)[0] === 0x88), 'and the upstream gets a close frame')
  })

  t.test(`a client's ${what} closes it with 1002, behind the answers to the frames before it`, async t => {
    const { fixture, upstream, login } = await openWebSocketFixture(t)
    const client = await rawCall(t, fixture, RAW_HANDSHAKE(await login()))
    t.ok(await until(() => upstream.ends.length === 1))
    const bad = Buffer.concat([frame(GOOD, 'one', true), frame(GOOD, 'two', true), frame(first, 'bad', true)])
    client.socket.write(bad)
    t.ok(await until(() => client.isClosed()))
    const received = client.text()
    t.ok(received.includes('echo: one') && received.includes('echo: two'))
    t.equal(closeCodeIn(Buffer.from(received, 'latin1')), 1002)
    t.same(
      upstream.ends[0]!.messages.map(({ text }) => text),
      ['one', 'two'],
    )
  })
}

t.test('a bad frame of an upstream that comes byte by byte closes the client with 1014 too', async t => {
  const { fixture, behind, login } = await openBare(t)
  const end = await openEnd(t, fixture.url, { token: await login() })
  for (const byte of [...frame(GOOD, 'one', false), 0x81, 0xfe, 0x01]) behind[0]!.write(Buffer.from([byte]))
  t.same(await closingOf(end), { code: 1014, reason: 'bad gateway' })
  t.equal(end.messages[0]?.text, 'one')
})

t.test('an upstream that answers nothing to a bad frame does not keep its client', async t => {
  const { fixture, behind, login } = await openBare(t)
  const client = await rawCall(t, fixture, RAW_HANDSHAKE(await login()))
  t.ok(await until(() => behind.length === 1))
  client.socket.write(frame(0x85, 'bad', true))
  t.ok(await until(() => client.isClosed()))
  t.equal(closeCodeIn(Buffer.from(client.text(), 'latin1')), 1002)
})

t.test('a session that ends during pending answers closes the client', async t => {
  const { fixture, behind, login } = await openBare(t)
  const client = await rawCall(t, fixture, RAW_HANDSHAKE(await login('u1')))
  t.ok(await until(() => behind.length === 1))
  client.socket.write(frame(0x85, 'bad', true))
  await fixture.operate('consumer', 'kickout', { user_id: 'u1' })
  t.ok(await until(() => client.isClosed()))
  t.equal(closeCodeIn(Buffer.from(client.text(), 'latin1')), 1002)
})

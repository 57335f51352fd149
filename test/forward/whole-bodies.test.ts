import type { IncomingMessage } from 'node:http'
import t from 'tap'
import { BodyMemory, ClientBody } from '../../src/http/forward/body.ts'
import { SlowBodies } from '../../src/http/forward/slow-bodies.ts'

/* Bodies that have arrived whole, in several chunks. Node 20 answers one read with all of them, Node 26 with the first. */

/** A request whose body is there, of which each read returns the chunks of a step. */
function requestOf(reads: readonly string[]): IncomingMessage {
  const left = [...reads]
  return {
    complete: true,
    get readableLength(): number {
      return left.join('').length
    },
    read: () => (left.length === 0 ? null : Buffer.from(left.shift()!)),
    off() {
      return this
    },
    resume() {},
  } as unknown as IncomingMessage
}

/** What is forwarded of a body. */
function forwardedOf(reads: readonly string[], limit: number, memory = new BodyMemory(1000)): string {
  const body = new ClientBody(requestOf(reads), limit, { memory, slow: new SlowBodies() })
  if (!body.readWhole()) throw new Error('the body is complete')
  let forwarded = ''
  let isEnded = false
  body.start({
    onBodyData: chunk => {
      forwarded += chunk
    },
    onBodyEnd: () => {
      isEnded = true
    },
    onBodyError: fault => {
      throw fault
    },
  })
  return isEnded ? forwarded : `${forwarded}…`
}

t.test('a body is forwarded whole, however many reads it takes', async t => {
  for (const reads of [[], ['abcdef'], ['abc', 'def'], ['a', 'b', 'c', 'd', 'e', 'f']])
    t.equal(forwardedOf(reads, 6), reads.join(''))
})

t.test('all of its chunks count for its limit', async t => {
  t.throws(() => forwardedOf(['abc', 'def'], 5), { message: 'BODY_TOO_LARGE' })
})

t.test('a body that is too large leaves nothing in memory', async t => {
  const memory = new BodyMemory(1)
  t.throws(() => forwardedOf(['abc', 'def'], 5, memory), { message: 'BODY_TOO_LARGE' })
  t.notOk(memory.isFull)
})

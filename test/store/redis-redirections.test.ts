import { pino } from 'pino'
import t from 'tap'
import { Unavailable } from '../../src/base/refusal.ts'
import { type CheckedServer, createAsk } from '../../src/store/redis/commands/send-command.ts'
import type { RedisClient } from '../../src/store/redis/connection/client.ts'
import { AcknowledgedStream } from '../../src/store/redis/failover/acknowledged-stream.ts'

/* What a node of a Cluster refuses because a slot moves was not executed, and is sent again. In the words of Redis and ioredis. */

const MOVES = [
  'ASK 3999 127.0.0.1:6381',
  'MOVED 3999 127.0.0.1:6381',
  'TRYAGAIN Multiple keys request during rehashing of slot',
  'Too many Cluster redirections. Last error: ReplyError: MOVED 3999 127.0.0.1:6381',
  'All keys in the pipeline should belong to the same slots allocation group',
]
const server: CheckedServer = { id: 'of the test' }

const openAsk = (timeout = 60_000) =>
  createAsk({ status: 'ready' } as RedisClient, timeout, { server, answering: server, whenOpen: () => undefined })

t.test('is sent again until it is answered', async t => {
  for (const refusal of MOVES) {
    let sent = 0
    const command = async () => {
      if (++sent < 3) throw new Error(refusal)
      return 'an answer'
    }
    t.equal(await openAsk()(command), 'an answer', refusal)
    t.equal(sent, 3)
  }
})

t.test('is unavailable at the time limit, and not sent after it', async t => {
  for (const refusal of MOVES) {
    let sent = 0
    const command = async () => {
      sent++
      throw new Error(refusal)
    }
    await t.rejects(openAsk(50)(command), new Unavailable('Redis: no answer in time'), refusal)
    const atLimit = sent
    t.ok(atLimit > 0)
    await new Promise(resolve => setTimeout(resolve, 100))
    t.equal(sent, atLimit)
  }
})

t.test('another refusal is not sent again', async t => {
  for (const refusal of ["READONLY You can't write against a read only replica.", 'ERR about MOVED 1 127.0.0.1:6381']) {
    let sent = 0
    const command = async () => {
      sent++
      throw new Error(refusal)
    }
    await t.rejects(openAsk()(command), Unavailable, refusal)
    t.equal(sent, 1)
  }
})

t.test('what a gateway has ended is noted for the others when its slot has moved', async t => {
  for (const refusal of MOVES) {
    let sent = 0
    const client = {
      status: 'ready',
      async journalAppend() {
        if (++sent < 3) throw Object.assign(new Error(refusal), { name: 'ReplyError' })
      },
    } as unknown as RedisClient
    const log = pino({ enabled: false })
    const stream = new AcknowledgedStream({ client, line: client, ask: openAsk(), key: 'journal', timeout: 1000, log })
    await stream.append([{ kind: 'ended', key: 'token', server: 'cluster' }])
    t.equal(sent, 3, refusal)
  }
})

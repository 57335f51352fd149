import { pino } from 'pino'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import type { Settings } from '../../src/settings/schema/settings.ts'
import { openRedisStore } from '../../src/store/redis/redis.ts'
import { startCluster } from '../support/redis-cluster.ts'
import { startRedis, withoutRedisServer } from '../support/redis-server.ts'
import { PATIENCE, until } from '../support/until.ts'
import { outcomeOf, UNAVAILABLE } from './redis-trial.ts'

/* A process that does not run for a while tells its own stall from a Redis that does not answer. */

const TIMEOUT = 1500
/** Longer than `store.timeout`, so that every time limit is over when the process runs again. */
const STALL = 2 * TIMEOUT

/** Counters on all nodes of a Cluster. */
const NAMES = Array.from({ length: 30 }, (_, i) => `counter-${i}`)

/** Nothing of this process runs meanwhile; the servers do. */
const stall = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STALL)

const written = (): Promise<void> => new Promise(resolve => setImmediate(() => setImmediate(resolve)))

async function openStore(t: Test, redis: NonNullable<Settings['store']['redis']>) {
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: line => void lines.push(line) })
  const store = await openRedisStore({ kind: 'redis', prefix: 'svc:auth', timeout: TIMEOUT, redis }, systemClock, log)
  t.teardown(() => store.close())
  // A store opens without Redis, and a busy machine connects later. In a Cluster to one node after the other.
  const isConnected = async (): Promise<boolean> => {
    const answers = NAMES.map(name => outcomeOf(() => store.attempts.read(name)))
    return !(await Promise.all(answers)).includes(UNAVAILABLE)
  }
  await until(isConnected)
  lines.length = 0
  let losses = 0
  store.connections.store.on('close', () => losses++)
  return { store, lines, losses: () => losses }
}

t.test('after a stall the answer counts that has arrived meanwhile', { skip: withoutRedisServer }, async t => {
  const server = await startRedis()
  t.teardown(() => server.stop())
  const { store, lines, losses } = await openStore(t, { url: server.url })
  const asked = Array.from({ length: 20 }, () => outcomeOf(() => store.ping()))
  await written()
  stall()
  t.same(new Set(await Promise.all(asked)), new Set([undefined]))
  await store.ping()
  t.equal(losses(), 0, 'the connection is kept')
  t.same(lines, [], 'and Redis is not blamed')
})

t.test('a question that a stall kept from being sent is answered after it', { skip: withoutRedisServer }, async t => {
  const server = await startRedis()
  t.teardown(() => server.stop())
  const { store, lines, losses } = await openStore(t, { url: server.url })
  await store.ping()
  const asked = Array.from({ length: 20 }, () => outcomeOf(() => store.ping()))
  stall()
  t.same(new Set(await Promise.all(asked)), new Set([undefined]))
  t.equal(losses(), 0)
  t.same(lines, [])
})

t.test('a Redis that is silent is unavailable after a stall, too', { skip: withoutRedisServer }, async t => {
  const server = await startRedis()
  t.teardown(() => server.stop())
  const { store, lines } = await openStore(t, { url: server.url })
  server.pause()
  const asked = outcomeOf(() => store.ping())
  await written()
  stall()
  t.equal(await asked, UNAVAILABLE)
  t.equal(await outcomeOf(() => store.ping()), UNAVAILABLE)
  await until(() => lines.length > 0)
  t.match(lines, [/no answer in time.*Redis is lost/])
  server.resume()
})

t.test('after a stall the nodes of a Cluster are kept', { skip: withoutRedisServer }, async t => {
  const cluster = await startCluster(PATIENCE)
  t.teardown(() => cluster.stop())
  const { store, losses } = await openStore(t, { cluster: cluster.nodes })
  let gone = 0
  store.connections.store.on('-node', () => gone++)
  const asked = NAMES.map(name => outcomeOf(() => store.attempts.read(name)))
  await written()
  stall()
  t.same(new Set(await Promise.all(asked)), new Set([null]))
  t.same([gone, losses()], [0, 0])
})

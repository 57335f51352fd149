import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { call } from '../support/client.ts'
import { type Fixture, openFixture, someone } from '../support/gateway-fixture.ts'
import { freePort } from '../support/ports.ts'
import { endProcess, redisCommand, spawnRedis, withoutRedisServer } from '../support/redis-server.ts'
import { until } from '../support/until.ts'

t.jobs = 3

/** Far longer than a replica takes that follows, so that a busy machine proves nothing wrong. */
const PATIENT = { replicas: 1, timeout: '1m' }
/** Far shorter than a paused one. */
const SHORT = { replicas: 1, timeout: '200ms' }

interface Pair {
  master: number
  /** The replica stops answering; its connection stays. */
  pause(): void
  resume(): void
}

/** A master and the replica that follows it. */
async function startPair(t: Test): Promise<Pair> {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-wait-'))
  const [master, port] = [await freePort(), await freePort()]
  const first = await spawnRedis(master, folder)
  const replica = await spawnRedis(port, folder, ['--replicaof', '127.0.0.1', String(master)])
  t.teardown(async () => {
    await Promise.all([endProcess(first), endProcess(replica)])
    rmSync(folder, { recursive: true, force: true })
  })
  await until(async () => (await redisCommand(master, 'INFO', 'replication')).includes('state=online'))
  return { master, pause: () => void replica.kill('SIGSTOP'), resume: () => void replica.kill('SIGCONT') }
}

async function openOn(t: Test, { master }: Pair, wait: object): Promise<Fixture> {
  const redis = { url: `redis://127.0.0.1:${master}`, wait }
  const store = { kind: 'redis', timeout: '2m', redis }
  const sessions = { consumer: { max_tokens_per_user: 1 } }
  const fixture = await openFixture(t, { config: { store, sessions, session_cache: { consumer: 'off' } } })
  return fixture
}

/** Every operation that ends a session, or changes whether a login id is disabled. */
async function changeAll(fixture: Fixture): Promise<Record<string, unknown>> {
  const side = fixture.gateway.sides.consumer
  const [user, other] = [someone(), someone()]
  const asRequest = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
  await side.login(undefined, user)
  const newer = await side.login(undefined, user)
  return {
    logout: await side.logout(asRequest(newer)),
    'kickout-token': await side.kickoutToken(other, await side.login(undefined, other)),
    kickout: await side.kickout(other),
    disable: await side.disable(other, 30),
    'untie-disable': await side.untieDisable(other),
  }
}

const ANSWERS = { logout: true, 'kickout-token': true, kickout: 0, disable: undefined, 'untie-disable': true }
const NAMES = ['replaced', ...Object.keys(ANSWERS)]

/** The log's lines of what was changed. */
const changesOf = (fixture: Fixture): Record<string, unknown>[] =>
  fixture.log.map(line => JSON.parse(line)).filter(({ msg, event }) => msg === 'event' && NAMES.includes(event))

async function unreplicated(fixture: Fixture): Promise<number> {
  const { text } = await call(fixture.internal, { path: '/metrics' })
  return Number(/^dualgate_store_unreplicated_total (\d+)$/m.exec(text)?.[1])
}

t.test('a change that a replica has is acknowledged without a warning', { skip: withoutRedisServer }, async t => {
  const pair = await startPair(t)
  const fixture = await openOn(t, pair, PATIENT)
  t.same(await changeAll(fixture), ANSWERS)
  const changes = changesOf(fixture)
  t.same(
    changes.map(({ event }) => event),
    NAMES,
  )
  for (const { event, level, replicated } of changes) t.same([level, replicated], [30, undefined], String(event))
  t.equal(await unreplicated(fixture), 0)
  const marks = /calls=(\d+)/.exec((await redisCommand(pair.master, 'INFO', 'commandstats')).split('cmdstat_wait:')[1]!)
  t.ok(Number(marks?.[1]) >= NAMES.length, 'and it was proven')
})

t.test(
  'a change without a proven replica is acknowledged, logged and counted',
  { skip: withoutRedisServer },
  async t => {
    const pair = await startPair(t)
    const fixture = await openOn(t, pair, SHORT)
    pair.pause()
    t.same(await changeAll(fixture), ANSWERS)
    const changes = changesOf(fixture)
    t.same(
      changes.map(({ event }) => event),
      NAMES,
    )
    for (const change of changes) {
      t.match(change, { level: 40, replicated: false, login_id: /./ }, String(change.event))
      t.notMatch(JSON.stringify(change), /eyJ/, 'never a token')
    }
    t.match(changes[0], { jti: /^[\w-]+$/ }, 'which token it was')
    t.equal(await unreplicated(fixture), NAMES.length)
  },
)

t.test('queries do not wait for a replica', { skip: withoutRedisServer }, async t => {
  const pair = await startPair(t)
  const fixture = await openOn(t, pair, PATIENT)
  const side = fixture.gateway.sides.consumer
  const [user, other] = [someone(), someone()]
  await side.login(undefined, user)
  const live = await side.login(undefined, other)
  pair.pause()
  let isAnswered = false
  const kickouts = Array.from({ length: 20 }, () => side.kickout(user))
  void Promise.race(kickouts).then(() => (isAnswered = true))
  for (let i = 0; i < 20; i++) t.equal(await side.getLoginIdByToken(live), other)
  t.equal((await fixture.get('/api/v1/c/orders', live)).status, 200)
  t.equal(isAnswered, false, 'while all wait for the replica')
  pair.resume()
  t.equal((await Promise.all(kickouts)).length, 20)
  t.equal(await unreplicated(fixture), 0, 'which has them now')
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { Unavailable } from '../../src/base/refusal.ts'
import { freePort } from '../support/ports.ts'
import { startCluster } from '../support/redis-cluster.ts'
import { endProcess, spawnRedis, startRedis, withoutRedis, withoutRedisServer } from '../support/redis-server.ts'
import { PATIENCE, until } from '../support/until.ts'
import { freshToken, MINUTE } from './contract-fixture.ts'
import { startProxy } from './redis-proxy.ts'
import {
  allUnavailable,
  fixture,
  login,
  open,
  openConnected,
  outcomeOf,
  recovered,
  reported,
  TIMEOUT,
  UNAVAILABLE,
} from './redis-trial.ts'

t.test('a killed Redis is unavailable; an empty one in its place is used', { skip: withoutRedis }, async t => {
  const { server, store, token } = await fixture(t)
  await server.kill()
  await allUnavailable(t, store, token, 'when Redis is gone')
  await server.restart()
  t.equal(await recovered(t, () => store.sessions.find('BUSINESS', token)), null, 'the session is gone with it')
  const next = await recovered(t, () => login(store))
  const found = await recovered(t, () => store.sessions.find('BUSINESS', next))
  t.equal(found?.user_id, '1', 'and everything works again')
})

t.test('a paused Redis is unavailable, and no session is lost', { skip: withoutRedis }, async t => {
  const { server, store, token } = await fixture(t)
  server.pause()
  await allUnavailable(t, store, token, 'when Redis stands still')
  server.resume()
  const found = await recovered(t, () => store.sessions.find('BUSINESS', token))
  // What was asked while it stood still may have happened: a kickout that was answered by 503 may have ended the session.
  t.ok(found === null || found.user_id === '1')
  const next = await recovered(t, () => login(store))
  for (let i = 0; i < 3; i++) {
    server.pause()
    t.equal(await outcomeOf(() => store.sessions.find('BUSINESS', next)), UNAVAILABLE)
    server.resume()
    t.equal((await recovered(t, () => store.sessions.find('BUSINESS', next)))?.user_id, '1', 'the session lives')
  }
})

t.test(
  'a connection that is cut in the middle of answers never says "not logged in"',
  { skip: withoutRedis },
  async t => {
    const { server, token } = await fixture(t)
    const proxy = await startProxy(server.port)
    const store = await open({ url: `redis://127.0.0.1:${proxy.port}` })
    t.teardown(async () => {
      await store.close()
      await proxy.cut()
    })
    const seen = new Map<string, number>()
    for (let round = 0; round < 40; round++) {
      await recovered(t, () => store.ping())
      // Each cut falls somewhere else in the answer: a length, a line end, the JSON. The last ones come after its end.
      proxy.tear(round * 97 + 1)
      const asked = Array.from({ length: 20 }, () => outcomeOf(() => store.sessions.find('BUSINESS', token)))
      for (const outcome of await Promise.all(asked)) {
        const word = outcome === null ? 'null' : outcome === UNAVAILABLE ? UNAVAILABLE : outcome.user_id
        seen.set(word, (seen.get(word) ?? 0) + 1)
      }
    }
    t.strictSame([...seen.keys()].sort(), ['1', UNAVAILABLE], 'the record, or no answer')
  },
)

t.test(
  'a Redis that is full refuses logins, answers for sessions and lets them be ended',
  { skip: withoutRedisServer },
  async t => {
    const { server, store, token } = await fixture(t, PATIENCE)
    const other = await login(store)
    await server.cli('CONFIG', 'SET', 'maxmemory', '1')
    t.equal(await outcomeOf(() => login(store)), UNAVAILABLE, 'login')
    t.equal(await outcomeOf(() => store.sessions.disable('BUSINESS', '1', systemClock.now() + MINUTE)), UNAVAILABLE)
    t.equal((await store.sessions.find('BUSINESS', token))?.user_id, '1')
    const note = { reason: 'kicked-out', until: systemClock.now() + MINUTE } as const
    t.equal(await store.sessions.remove('BUSINESS', '1', token, note), true, 'logout')
    t.equal(await store.sessions.find('BUSINESS', token), null, 'whether its reason was stored or not')
    const kickout = store.sessions.removeAll('BUSINESS', '1', note)
    await t.rejects(kickout, { name: 'Unavailable', ended: 1 }, 'kickout is not confirmed')
    t.equal(await store.sessions.find('BUSINESS', other), null, 'but done')
    await server.cli('CONFIG', 'SET', 'maxmemory', '0')
    t.ok(await login(store))
    t.strictSame(
      await server.cli('KEYS', '*').then(keys => keys.split('\n').filter(key => key.includes('disable'))),
      [],
    )
  },
)

t.test('a read-only Redis is unavailable for changes', { skip: withoutRedisServer }, async t => {
  const { server, store, token } = await fixture(t, PATIENCE)
  await server.cli('REPLICAOF', '127.0.0.1', '1')
  t.equal(await outcomeOf(() => login(store)), UNAVAILABLE, 'login')
  t.equal(await outcomeOf(() => store.sessions.removeAll('BUSINESS', '1')), UNAVAILABLE, 'kickout')
  for (let i = 0; i < 20; i++) {
    const found = await outcomeOf(() => store.sessions.find('BUSINESS', token))
    t.ok(found === UNAVAILABLE || found?.user_id === '1', 'never "not logged in"')
  }
  await server.cli('REPLICAOF', 'NO', 'ONE')
  t.ok(await recovered(t, () => login(store)))
  t.equal((await store.sessions.find('BUSINESS', token))?.user_id, '1')
})

/** A server and a store on it that warns of nothing. */
async function withoutWarnings(t: Test) {
  const trial = await fixture(t, PATIENCE)
  await trial.server.cli('CONFIG', 'SET', 'appendonly', 'yes')
  t.strictSame(await trial.store.warnings(), [])
  return trial
}

t.test('a Redis that may evict sessions and disables is reported', { skip: withoutRedisServer }, async t => {
  const { server, store } = await withoutWarnings(t)
  await server.cli('CONFIG', 'SET', 'maxmemory-policy', 'volatile-lru')
  t.match(await store.warnings(), [/evicts keys \(maxmemory-policy volatile-lru\).*use noeviction/])
})

t.test(
  'a Redis that refuses changes, while it answers questions, is reported',
  { skip: withoutRedisServer },
  async t => {
    const { server, store } = await withoutWarnings(t)
    await server.cli('CONFIG', 'SET', 'maxmemory', '1')
    t.equal(await outcomeOf(() => login(store)), UNAVAILABLE)
    t.match(await store.warnings(), [/used its maxmemory, so logins and disables are refused; raise it/])
    await server.cli('CONFIG', 'SET', 'maxmemory', '0')
    t.strictSame(await store.warnings(), [])
    await server.cli('REPLICAOF', '127.0.0.1', '1')
    // Its connections may be made anew.
    const isReported = (warnings: string[]) =>
      warnings.some(warning => /is a replica, .*; name its master/.test(warning))
    t.ok(await until(async () => isReported(await store.warnings())))
  },
)

for (const right of ['-eval', '-@scripting', '-@write'])
  t.test(
    `a Redis whose user has no right to what a login needs is reported: ${right}`,
    { skip: withoutRedisServer },
    async t => {
      const { server, store } = await withoutWarnings(t)
      await server.cli('ACL', 'SETUSER', 'default', right)
      t.match(await store.warnings(), [
        /answers NOPERM for .*, so logins and ends of sessions are refused: .*allow it in the ACL/,
      ])
    },
  )

t.test(
  'evictions are reported without the right to read the configuration of Redis',
  { skip: withoutRedisServer },
  async t => {
    const { server, store } = await withoutWarnings(t)
    await server.cli('CONFIG', 'SET', 'maxmemory-policy', 'volatile-lru')
    await server.cli('ACL', 'SETUSER', 'default', '-config')
    t.match(await store.warnings(), [/evicts keys \(maxmemory-policy volatile-lru\)/])
  },
)

t.test('a Redis that may restore ended sessions after a crash is reported', { skip: withoutRedisServer }, async t => {
  const { server, store } = await fixture(t, PATIENCE)
  t.match(await store.warnings(), [/no append-only file.*ended ones too; set appendonly yes/])
  await server.cli('CONFIG', 'SET', 'appendonly', 'yes')
  t.strictSame(await store.warnings(), [])
})

t.test('a store that was opened without a Redis finds it when it comes', { skip: withoutRedisServer }, async t => {
  const port = await freePort()
  const store = await open({ url: `redis://127.0.0.1:${port}` })
  t.teardown(() => store.close())
  await allUnavailable(t, store, freshToken(), 'before there was a Redis')
  const redis = await spawnRedis(port, t.testdir())
  t.teardown(() => endProcess(redis))
  t.ok(await recovered(t, () => login(store)))
})

t.test('queries to a paused Redis do not accumulate', { skip: withoutRedisServer }, async t => {
  const { server, store, token } = await fixture(t)
  const client = store.connections.store as Redis
  const waiting = () =>
    client.autoPipelineQueueSize + (client as unknown as { commandQueue: unknown[] }).commandQueue.length
  server.pause()
  let asked = 0
  let most = 0
  const outcomes = new Map<unknown, number>()
  const answers: Promise<unknown>[] = []
  const question = async (): Promise<void> => {
    const outcome = await outcomeOf(() => store.sessions.find('BUSINESS', token))
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
  // The questions of a turn are one command. Until the first ones are given up, and as many turns more.
  let turns = 0
  let untilFirst = Number.POSITIVE_INFINITY
  while (turns < 2 * untilFirst + 10) {
    for (let i = 0; i < 20; i++) answers.push(question())
    asked += 20
    turns++
    most = Math.max(most, waiting())
    await new Promise(resolve => setTimeout(resolve, 10))
    if (outcomes.size > 0) untilFirst = Math.min(untilFirst, turns)
  }
  await Promise.all(answers)
  t.strictSame([...outcomes], [[UNAVAILABLE, asked]])
  t.ok(most < turns, `${most} of ${turns} at most were waiting`)
  // The next connection's handshake may be on its way.
  t.ok(waiting() < 10, `nothing of it is left: ${waiting()}`)
  server.resume()
  t.equal((await recovered(t, () => store.sessions.find('BUSINESS', token)))?.user_id, '1')

  server.pause()
  const outcome = (error: Error): string => (error instanceof Unavailable ? UNAVAILABLE : error.message)
  const burst = Array.from({ length: 30_000 }, () => store.ping().then(() => 'answered', outcome))
  t.ok(waiting() <= 10_000, 'a burst is refused beyond a limit')
  t.ok((await Promise.all(burst)).every(answer => answer === UNAVAILABLE))
  server.resume()
  t.equal(await recovered(t, () => store.ping()), undefined)
})

t.test(
  'a Cluster with a master that stands still or is gone never says "not logged in"',
  {
    skip: withoutRedisServer,
  },
  async t => {
    const cluster = await startCluster(PATIENCE)
    const store = await openConnected({ cluster: cluster.nodes })
    t.teardown(async () => {
      await store.close()
      await cluster.stop()
    })
    const tokens = await Promise.all(Array.from({ length: 60 }, () => recovered(t, () => login(store))))
    const askAll = async (): Promise<string[]> => {
      const found = await Promise.all(tokens.map(token => outcomeOf(() => store.sessions.find('BUSINESS', token))))
      return [...new Set(found.map(outcome => (outcome === UNAVAILABLE ? outcome : String(outcome?.user_id))))].sort()
    }
    /** Asks until these are the answers: a stall of the machine may take longer than the store waits. */
    const untilAnswers = (wanted: string[]): Promise<true> =>
      until(async () => {
        const answers = await askAll()
        t.notOk(answers.includes('undefined'))
        return isDeepStrictEqual(answers, wanted)
      })
    await untilAnswers(['1'])
    cluster.masters[0]!.kill('SIGSTOP')
    t.ok(await untilAnswers(['1', UNAVAILABLE]), 'others are answered')
    cluster.masters[0]!.kill('SIGCONT')
    await untilAnswers(['1'])
    await endProcess(cluster.masters[1]!)
    for (let i = 0; i < 10; i++) t.notOk((await askAll()).includes('undefined'))
  },
)

t.test('a process whose Redis is paused or gone can exit', { skip: withoutRedisServer }, async t => {
  const server = await startRedis()
  t.teardown(() => server.stop())
  t.strictSame(await processOf(server.url, PATIENCE), ['1', 0], 'with a Redis')
  server.pause()
  t.strictSame(await processOf(server.url, TIMEOUT), [UNAVAILABLE, 0], 'one that stands still')
  server.resume()
  await server.kill()
  t.strictSame(await processOf(server.url, TIMEOUT), [UNAVAILABLE, 0], 'none')
})

/** What a process reports about its session, and how it ended. */
async function processOf(url: string, timeout: number): Promise<[said: string, code: number | null]> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'redis-child.js'), url, String(timeout)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.on('data', chunk => {
    said += chunk
  })
  const patience = setTimeout(() => child.kill('SIGKILL'), PATIENCE)
  const [code] = await once(child, 'close')
  clearTimeout(patience)
  return [said, code]
}

t.test('no error and no line of the log contains a token', { skip: withoutRedis }, async t => {
  t.ok(reported.some(text => text.includes('Redis is lost')))
  t.ok(reported.some(text => text.includes('Unavailable')))
  const [header] = freshToken().split('.')
  t.strictSame(
    reported.filter(text => text.includes(header!)),
    [],
  )
})

for (const [where, seconds, expected] of [
  [
    'ahead',
    -360,
    /clock of Redis is \d{3} s ahead of that of the gateway.*disables end as much too early; set the clocks/,
  ],
  [
    'behind',
    360,
    /clock of Redis is \d{3} s behind that of the gateway.*disables end as much too late; set the clocks/,
  ],
] as const) {
  t.test(`a Redis whose clock is ${where} is reported`, { skip: withoutRedisServer }, async t => {
    const { server } = await withoutWarnings(t)
    const clock = { ...systemClock, now: () => systemClock.now() + seconds * 1000 }
    const store = await openConnected({ url: server.url }, PATIENCE, clock)
    t.teardown(() => store.close())
    t.match(await store.warnings(), [expected])
  })
}

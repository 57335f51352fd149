import t, { type Test } from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log/log.ts'
import { Recorder } from '../../src/journal/recorder.ts'
import { Meter } from '../../src/metrics/meter.ts'
import type { RedisStore } from '../../src/store/redis/redis.ts'
import { countsOf } from '../journal/counts.ts'
import { type SentinelSetup, startSentinels } from '../support/redis-sentinel.ts'
import { endProcess, redisCommand, withoutRedisServer } from '../support/redis-server.ts'
import { PATIENCE, until } from '../support/until.ts'
import { storeContract } from './contract.ts'
import { added } from './contract-credentials.ts'
import { login, openConnected, outcomeOf, recovered, TIMEOUT, UNAVAILABLE } from './redis-trial.ts'
import { openRedisUnderTest } from './redis-under-test.ts'

t.jobs = 7

t.test('the law of the stores, through Sentinels', { skip: withoutRedisServer }, async t => {
  const { sentinels, name, stop } = await startSentinels(PATIENCE)
  t.teardown(stop)
  await storeContract(t, 'sentinel', () => openRedisUnderTest({ sentinels, name }))
})

t.test('the law of the stores, while the replica is cut off from its master', { skip: withoutRedisServer }, async t => {
  const { sentinels, name, masterPort, replica, stop } = await startSentinels(PATIENCE)
  t.teardown(async () => {
    replica.kill('SIGCONT')
    await stop()
  })
  replica.kill('SIGSTOP')
  await redisCommand(masterPort, 'CLIENT', 'KILL', 'TYPE', 'replica')
  await storeContract(t, 'cut off', () => openRedisUnderTest({ sentinels, name }))
})

/** Sentinels that give up no master yet. Where a server stands still, the store has to have a short `timeout`. */
async function fixture(t: Test, timeout = PATIENCE): Promise<{ setup: SentinelSetup; store: RedisStore }> {
  const setup = await startSentinels(PATIENCE)
  const { sentinels, name } = setup
  const store = await openConnected({ sentinels, name }, timeout)
  t.teardown(async () => {
    await store.close()
    await setup.stop()
  })
  return { setup, store }
}

/** The results for a token while its master changed: its user, absent, or unknown. */
async function watch(store: RedisStore, token: string, over: Promise<void>): Promise<Set<string>> {
  const answers = new Set<string>()
  let watching = true
  const stop = (): void => {
    watching = false
  }
  over.then(stop, stop)
  while (watching) {
    const found = await outcomeOf(() => store.sessions.find('BUSINESS', token))
    answers.add(found === UNAVAILABLE ? found : (found?.user_id ?? 'absent'))
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  await over
  return answers
}

t.test('a failover ends no session, and brings none back', { skip: withoutRedisServer }, async t => {
  const { setup, store } = await fixture(t)
  const [token, ended] = [await login(store), await login(store)]
  t.equal(await store.sessions.remove('BUSINESS', '1', ended), true)
  await inStep(setup)

  await setup.giveUpSoon()
  const failover = endProcess(setup.master).then(() => setup.promoted())
  const [ofLive, ofEnded] = await Promise.all([watch(store, token, failover), watch(store, ended, failover)])
  t.notOk(ofLive.has('absent'), `the session was ${[...ofLive]}`)
  t.ok(ofLive.has(UNAVAILABLE))
  t.notOk(ofEnded.has('1'), `the ended one was ${[...ofEnded]}`)

  // The connection may end once more: each Sentinel announces the switch in its own time.
  t.equal((await recovered(t, () => store.sessions.find('BUSINESS', token)))?.user_id, '1')
  t.equal(await recovered(t, () => store.sessions.find('BUSINESS', ended)), null)
  const later = await recovered(t, () => login(store))
  t.equal((await recovered(t, () => store.sessions.find('BUSINESS', later)))?.user_id, '1')
})

t.test(
  'two gateways journal through a failover: no entry is lost, and none is there twice',
  { skip: withoutRedisServer },
  async t => {
    const { setup, store } = await fixture(t)
    const other = await openConnected({ sentinels: setup.sentinels, name: setup.name }, PATIENCE)
    t.teardown(() => other.close())
    const opened = [store, other].map(({ journal }) => {
      const meter = new Meter()
      const recorder = new Recorder({
        store: journal,
        settings: { keep: 600_000, max_entries: 10_000, max_failures: 10_000 },
        clock: systemClock,
        log: createLog('silent'),
        meter,
      })
      return { meter, recorder }
    })
    const recorders = opened.map(({ recorder }) => recorder)
    t.teardown(() => Promise.all(recorders.map(recorder => recorder.close(0))))
    const published: string[] = []
    const publish = (): void => {
      for (const recorder of recorders) {
        const login_id = `u${published.length}`
        published.push(login_id)
        recorder.publish({ event: 'login', type: 'BUSINESS', login_id })
      }
    }
    for (let i = 0; i < 50; i++) publish()
    await Promise.all(recorders.map(recorder => recorder.flush()))
    await inStep(setup)

    // What is published from here on waits until a master answers, or until it is known that one had stored it.
    await setup.giveUpSoon()
    const failover = endProcess(setup.master).then(() => setup.promoted())
    const publishing = setInterval(publish, 20)
    await failover.finally(() => clearInterval(publishing))
    const journaled = async (): Promise<string[]> => {
      await Promise.all(recorders.map(recorder => recorder.flush()))
      const { entries } = await store.journal.page({ size: 10_000, event: 'login' })
      return entries.map(({ login_id }) => login_id!)
    }
    const kept = await until(async () => {
      const entries = await recovered(t, journaled)
      return entries.length >= published.length && entries
    })
    t.same(kept.sort(), published.sort())
    for (const { meter } of opened) t.equal((await countsOf(meter)).lost, 0)
  },
)

t.test('a revocation that the new master had missed is kept', { skip: withoutRedisServer }, async t => {
  const { setup, store } = await fixture(t)
  const [token, kicked] = [await login(store), await login(store)]
  const { id } = await added({ store, clock: systemClock })
  await inStep(setup)

  setup.replica.kill('SIGSTOP')
  await redisCommand(setup.masterPort, 'CLIENT', 'KILL', 'TYPE', 'replica')
  t.equal(await store.sessions.remove('BUSINESS', '1', kicked), true)
  t.equal(await store.credentials.remove('BUSINESS', '1', id), true)
  await setup.giveUpSoon()
  await endProcess(setup.master)
  setup.replica.kill('SIGCONT')
  const answers = await watch(store, kicked, setup.promoted())
  t.notOk(answers.has('1'), `the ended session was ${[...answers]}`)
  t.equal((await recovered(t, () => store.sessions.find('BUSINESS', token)))?.user_id, '1', 'it was not in step')
  t.equal(await recovered(t, () => store.sessions.find('BUSINESS', kicked)), null)
  t.equal(await recovered(t, () => store.credentials.find('BUSINESS', id)), null, 'neither is the credential back')
})

t.test(
  'a replica is not used, although the Sentinels still name it as the master',
  { skip: withoutRedisServer },
  async t => {
    const { setup, store } = await fixture(t)
    const token = await login(store)
    await redisCommand(setup.masterPort, 'REPLICAOF', '127.0.0.1', String(setup.replicaPort))
    await redisCommand(setup.masterPort, 'CLIENT', 'KILL', 'TYPE', 'normal').catch(() => undefined)
    for (let i = 0; i < 20; i++) {
      t.equal(await outcomeOf(() => store.sessions.find('BUSINESS', token)), UNAVAILABLE)
      await new Promise(resolve => setTimeout(resolve, 25))
    }
  },
)

t.test('a switch announced while a silent Sentinel is asked is followed', { skip: withoutRedisServer }, async t => {
  const { setup, store } = await fixture(t, TIMEOUT)
  const token = await recovered(t, () => login(store))
  await inStep(setup)

  // Asked first, and for as long as the timeout lets it be silent; two are enough to agree.
  await setup.giveUpSoon()
  setup.sentinelProcesses[0]!.kill('SIGSTOP')
  await endProcess(setup.master)
  const answers = await watch(store, token, setup.promoted())
  t.notOk(answers.has('absent'), `the session was ${[...answers]}`)
  t.equal((await recovered(t, () => store.sessions.find('BUSINESS', token)))?.user_id, '1')
})

t.test('a store whose Sentinels are paused keeps its master', { skip: withoutRedisServer }, async t => {
  const { setup, store } = await fixture(t, TIMEOUT)
  const token = await recovered(t, () => login(store))
  for (const sentinel of setup.sentinelProcesses) sentinel.kill('SIGSTOP')
  t.equal((await recovered(t, () => store.sessions.find('BUSINESS', token)))?.user_id, '1')
  setup.master.kill('SIGSTOP')
  t.equal(await outcomeOf(() => store.sessions.find('BUSINESS', token)), UNAVAILABLE)
  setup.master.kill('SIGCONT')
  for (const sentinel of setup.sentinelProcesses) sentinel.kill('SIGCONT')
  t.equal((await recovered(t, () => store.sessions.find('BUSINESS', token)))?.user_id, '1')
})

/** Until the replica has everything that its master has. */
async function inStep({ masterPort, replicaPort }: SentinelSetup): Promise<void> {
  for (;;) {
    const [master, replica] = await Promise.all(
      [masterPort, replicaPort].map(
        async port => /master_repl_offset:(\d+)/.exec(await redisCommand(port, 'INFO'))?.[1],
      ),
    )
    if (master === replica) return
  }
}

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log/log.ts'
import { openRedisStore } from '../../src/store/redis/redis.ts'
import { trackRedisStore } from '../../src/store/redis/tracked-store.ts'
import { startSentinels } from '../support/redis-sentinel.ts'
import { redisCommand, startRedis, withoutRedisServer } from '../support/redis-server.ts'
import { PATIENCE, until } from '../support/until.ts'
import { freshToken, LONG, record } from './contract-fixture.ts'
import { recovered } from './redis-trial.ts'
import {
  isRemembered,
  keys,
  openTracked,
  PREFIX,
  remember,
  TRACKING,
  untilAnnounced,
  untilRemembered,
} from './tracking-fixture.ts'

t.jobs = 3

t.test('a store behind Sentinels', { skip: withoutRedisServer }, async t => {
  const setup = await startSentinels(PATIENCE)
  t.teardown(() => setup.stop())

  await t.test('receives the ends of sessions from the new master', async t => {
    const { sentinels, name } = setup
    const { store } = await openTracked(t, { sentinels, name })
    const token = await remember(store)
    // The replica has it too before it takes over.
    await until(async () => (await redisCommand(setup.replicaPort, 'EXISTS', keys.token('CONSUMER', token))) === '1')
    await setup.giveUpSoon()
    setup.master.kill('SIGKILL')
    await until(() => !isRemembered(store, token))
    await setup.promoted()
    await untilRemembered(store, token)
    await redisCommand(setup.replicaPort, 'DEL', keys.token('CONSUMER', token))
    // The connection may end once more: each Sentinel announces the switch in its own time.
    await until(() =>
      untilAnnounced(store).then(
        () => true,
        () => false,
      ),
    )
    t.equal(isRemembered(store, token), false)
    t.equal(await recovered(t, () => store.sessions.find('CONSUMER', token)), null)
    t.ok(await until(async () => isRemembered(store, await recovered(t, () => remember(store)))))
  })
})

t.test(
  'a session is not remembered while announcements come from another server than its record',
  { skip: withoutRedisServer },
  async t => {
    const [asked, other] = [await startRedis(), await startRedis()]
    let port = asked.port
    const balancer = await startBalancer(t, () => port)
    const lines: string[] = []
    const log = createLog('info', { write: line => void lines.push(JSON.parse(line).msg) })
    const settings = { kind: 'redis' as const, prefix: PREFIX, timeout: PATIENCE, redis: { url: balancer } }
    const opened = await openRedisStore(settings, systemClock, log)
    await opened.ping()
    port = other.port
    const store = trackRedisStore(opened, keys, TRACKING, systemClock, log)
    t.teardown(async () => {
      await store.close()
      await Promise.all([asked.stop(), other.stop()])
    })
    await until(() => lines.some(line => line.startsWith('sessions are')))
    t.match(lines, ['sessions are not cached: the second connection reached another server'])

    const token = freshToken()
    await store.sessions.add('CONSUMER', token, record('CONSUMER', '1'), Date.now() + LONG)
    for (let i = 0; i < 3; i++) t.match(await store.sessions.find('CONSUMER', token), { user_id: '1' })
    t.equal(isRemembered(store, token), false)
    port = asked.port
    await untilRemembered(store, token)
  },
)

/** One address before several servers: each connection goes where `port` says then. Answers its URL. */
async function startBalancer(t: Test, port: () => number): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    const redis = connect(port(), '127.0.0.1')
    for (const socket of [client, redis]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
    }
    client.pipe(redis).pipe(client)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `redis://127.0.0.1:${(server.address() as AddressInfo).port}`
}

import type { ChildProcess } from 'node:child_process'
import type { Cluster } from 'ioredis'
import t, { type Test } from 'tap'
import { slotOf } from '../../src/store/redis/tracking/slots.ts'
import { failOver, moveSlot, NODE_TIMEOUT, type RedisCluster, startCluster } from '../support/redis-cluster.ts'
import { endProcess, redisCommand, withoutRedisServer } from '../support/redis-server.ts'
import { PATIENCE, until } from '../support/until.ts'
import { freshToken, LONG, record } from './contract-fixture.ts'
import { recovered } from './redis-trial.ts'
import { openDeleter } from './tracking-actors.ts'
import {
  type ConnectedStore,
  IMPATIENCE,
  isRemembered,
  keys,
  lastServed,
  openTracked,
  remember,
  trackedContract,
  untilAnnounced,
  untilRemembered,
} from './tracking-fixture.ts'
import { interleave, PROMISE } from './tracking-interleavings.ts'

t.jobs = 2

const HEARTBEAT = 400

async function cluster(t: Test, nodeTimeout = PATIENCE): Promise<RedisCluster> {
  const started = await startCluster(nodeTimeout)
  t.teardown(() => started.stop())
  return started
}

const keyOf = (token: string): string => keys.token('CONSUMER', token)

/** The port of the master that the client of a store asks for a session. */
function ownerOf(store: ConnectedStore, token: string): number {
  const [address] = (store.connections.store as Cluster).slots[slotOf(keyOf(token))]!
  return Number(address!.split(':')[1])
}

/** Sessions that are remembered, one of each master; by the order of the masters. */
async function rememberEach(store: ConnectedStore, { nodes }: RedisCluster): Promise<string[]> {
  const found = new Map<number, string>()
  await untilAnnounced(store)
  while (found.size < nodes.length) {
    const token = await remember(store)
    found.set(ownerOf(store, token), token)
  }
  return nodes.map(({ port }) => found.get(port)!)
}

const found = async (store: ConnectedStore, token: string): Promise<unknown> =>
  Promise.resolve(store.sessions.find('CONSUMER', token)).catch(() => 'unavailable')

async function inAnyCase(child: ChildProcess, signal: 'SIGSTOP', body: () => Promise<void>): Promise<void> {
  child.kill(signal)
  try {
    await body()
  } finally {
    child.kill('SIGCONT')
  }
}

t.test('a Cluster whose servers were all away is used again', { skip: withoutRedisServer }, async t => {
  const { nodes, masters, restart } = await cluster(t)
  const { store } = await openTracked(t, { cluster: nodes })
  await remember(store)
  const client = store.connections.store
  await Promise.all(masters.map(endProcess))
  await until(() => client.status !== 'ready')
  await Promise.all(nodes.map(({ port }) => restart(port)))
  await until(() => client.status === 'ready')
  await untilAnnounced(store)
  t.ok(await until(async () => isRemembered(store, await recovered(t, () => remember(store)))))
})

t.test('the law of the stores, remembered in a Cluster', { skip: withoutRedisServer }, async t => {
  const { nodes } = await cluster(t)
  await trackedContract(t, 'tracked cluster', { cluster: nodes }, async () => {
    for (const { port } of nodes) await redisCommand(port, 'CLIENT', 'KILL', 'TYPE', 'pubsub')
  })
})

t.test('sessions that the masters of a Cluster announce', { skip: withoutRedisServer }, async t => {
  const setup = await cluster(t)
  const { nodes, masters } = setup
  const open = (t: Test) => openTracked(t, { cluster: nodes })

  await t.test('are dropped when they are ended on any master', async t => {
    const { store } = await open(t)
    const tokens = await rememberEach(store, setup)
    for (const [i, token] of tokens.entries()) {
      await redisCommand(nodes[i]!.port, 'DEL', keyOf(token))
      await until(() => !isRemembered(store, token))
      t.equal(await store.sessions.find('CONSUMER', token), null)
    }
  })

  await t.test('are dropped when one master is emptied', async t => {
    const { store } = await open(t)
    const tokens = await rememberEach(store, setup)
    await redisCommand(nodes[1]!.port, 'FLUSHALL')
    await untilAnnounced(store)
    t.equal(await store.sessions.find('CONSUMER', tokens[1]!), null)
    t.match(await store.sessions.find('CONSUMER', tokens[0]!), { user_id: '1' })
  })

  await t.test('are all dropped when the connection to one master is lost, and remembered again', async t => {
    const { store, log } = await open(t)
    const tokens = await rememberEach(store, setup)
    await redisCommand(nodes[2]!.port, 'CLIENT', 'KILL', 'TYPE', 'pubsub')
    await until(() => log.some(({ msg }) => msg.startsWith('sessions are not cached: ')))
    for (const token of tokens) await untilRemembered(store, token)
  })

  await t.test('are served for no longer than the heartbeat while a master stands still', async t => {
    const { store } = await openTracked(t, { cluster: nodes }, { heartbeat: HEARTBEAT }, IMPATIENCE)
    const tokens = await until(() => rememberEach(store, setup).catch(() => null))
    await inAnyCase(masters[0]!, 'SIGSTOP', async () => {
      const pausedAt = Date.now()
      const served = await lastServed(store, tokens[1]!)
      t.ok(served - pausedAt < HEARTBEAT, `served for ${served - pausedAt} ms`)
      const other = await recovered(t, () => store.sessions.find('CONSUMER', tokens[1]!))
      t.match(other, { user_id: '1' }, 'another master is asked')
      t.equal(await found(store, tokens[0]!), 'unavailable', 'not known, not logged out')
    })
    for (const token of tokens) await untilRemembered(store, token)
  })

  await t.test('are not remembered where Redis does not tell which slots a master owns', async t => {
    for (const { port } of nodes)
      await redisCommand(port, ...'ACL SETUSER plain on >x ~* &* +@all -cluster|nodes'.split(' '))
    const { store, log } = await openTracked(t, { cluster: nodes, username: 'plain', password: 'x' })
    await until(() =>
      log.some(({ msg }) =>
        /^sessions are not cached: Redis refuses CLUSTER NODES or CLUSTER INFO \(NOPERM for the command cluster/.test(
          msg,
        ),
      ),
    )
    const token = freshToken()
    await store.sessions.add('CONSUMER', token, record('CONSUMER', '1'), Date.now() + LONG)
    for (let i = 0; i < 3; i++) t.match(await store.sessions.find('CONSUMER', token), { user_id: '1' })
    t.equal(isRemembered(store, token), false)
  })

  await t.test('are never served late', async t => {
    const { store } = await open(t)
    await untilAnnounced(store)
    const deleter = await openDeleter({ cluster: nodes })
    t.teardown(() => deleter.close())
    const outcome = await interleave({ serving: store, create: deleter.create, end: deleter.end }, 3000)
    t.comment(`${outcome.remembered} of ${outcome.interleavings} were served from memory`)
    t.ok(outcome.remembered > outcome.interleavings / 4)
    t.equal(outcome.revived, 0)
    t.ok(outcome.latenessOfLook.every(ms => ms <= PROMISE + outcome.stolen))
  })

  await t.test('stay true while their slot moves to another master', async t => {
    const { store } = await open(t)
    const [token, other] = (await rememberEach(store, setup)) as [string, string]
    const slot = slotOf(keyOf(token))
    const [from, to] = [nodes[0]!.port, nodes[1]!.port]
    await moveSlot(slot, from, to, async () => {
      // Its record is at the new master, which answers for it; the old one owns the slot still.
      for (let i = 0; i < 3; i++) {
        t.match(await store.sessions.find('CONSUMER', token), { user_id: '1' })
        t.equal(isRemembered(store, token), false)
      }
    })
    await untilRemembered(store, token)
    await redisCommand(to, 'DEL', keyOf(token))
    await until(() => !isRemembered(store, token))
    t.equal(await store.sessions.find('CONSUMER', token), null)
    await untilRemembered(store, other)
  })

  await t.test('are dropped when their master gives up their slot, which it does not announce', async t => {
    const { store } = await open(t)
    const [, , token] = (await rememberEach(store, setup)) as [string, string, string]
    const { port } = nodes[2]!
    const slot = String(slotOf(keyOf(token)))
    await redisCommand(port, 'CLUSTER', 'DELSLOTS', slot)
    await until(() => !isRemembered(store, token))
    t.equal(await found(store, token), 'unavailable')
    await redisCommand(port, 'CLUSTER', 'ADDSLOTS', slot)
    await untilRemembered(store, token)
  })

  await t.test('stay true when their slot moves to a new master', async t => {
    const { store } = await open(t)
    const [, token] = (await rememberEach(store, setup)) as [string, string]
    const { port } = await setup.addMaster()
    await moveSlot(slotOf(keyOf(token)), nodes[1]!.port, port)
    await untilRemembered(store, token)
    t.equal(ownerOf(store, token), port)
    await redisCommand(port, 'DEL', keyOf(token))
    await until(() => !isRemembered(store, token))
    t.equal(await store.sessions.find('CONSUMER', token), null)
  })
})

t.test('a master of a Cluster that is lost', { skip: withoutRedisServer }, async t => {
  const setup = await cluster(t, NODE_TIMEOUT)
  const replicas = await setup.addReplicas()
  const { nodes, masters } = setup

  await t.test('hands over to its replica, and the sessions of both stay true', async t => {
    const { store } = await openTracked(t, { cluster: nodes })
    const tokens = await rememberEach(store, setup)
    await failOver(replicas[1]!.port)
    await until(() => ownerOf(store, tokens[1]!) === replicas[1]!.port)
    for (const token of tokens) await untilRemembered(store, token)
    t.equal(ownerOf(store, tokens[1]!), replicas[1]!.port)
    await redisCommand(replicas[1]!.port, 'DEL', keyOf(tokens[1]!))
    await until(() => !isRemembered(store, tokens[1]!))
    t.equal(await store.sessions.find('CONSUMER', tokens[1]!), null)
    await failOver(nodes[1]!.port)
  })

  await t.test('is replaced by its replica, whose announcements are received', async t => {
    const { store } = await openTracked(t, { cluster: nodes }, {}, IMPATIENCE)
    const tokens = await until(() => rememberEach(store, setup).catch(() => null))
    const [token, other] = tokens as [string, string]
    await until(async () => (await redisCommand(replicas[0]!.port, 'KEYS', keyOf(token))) !== '')
    await endProcess(masters[0]!)
    await until(() => tokens.every(token => !isRemembered(store, token)))
    t.match(
      await recovered(t, () => store.sessions.find('CONSUMER', other)),
      { user_id: '1' },
      'the other masters are asked',
    )
    await untilRemembered(store, token)
    t.equal(ownerOf(store, token), replicas[0]!.port)
    await redisCommand(replicas[0]!.port, 'DEL', keyOf(token))
    await until(() => !isRemembered(store, token))
    t.equal(await recovered(t, () => store.sessions.find('CONSUMER', token)), null)
    await untilRemembered(store, other)
  })

  await t.test('is not believed while the majority of the masters is gone, although it answers', async t => {
    const { store } = await openTracked(t, { cluster: nodes }, {}, IMPATIENCE)
    const token = await until(() => remember(store).catch(() => null))
    const owner = ownerOf(store, token)
    const others = [...replicas.map(({ child }) => child), ...masters.slice(1)].filter(
      child => child.exitCode === null && child.signalCode === null,
    )
    const ports = [...replicas.map(({ port }) => port), nodes[1]!.port, nodes[2]!.port]
    const survivor = [...replicas.map(({ child }) => child), masters[1]!, masters[2]!][ports.indexOf(owner)]
    await Promise.all(others.filter(child => child !== survivor).map(endProcess))
    await until(() => !isRemembered(store, token))
    await until(async () => (await redisCommand(owner, 'CLUSTER', 'INFO')).includes('cluster_state:fail'))
    for (let i = 0; i < 20; i++) {
      t.equal(isRemembered(store, token), false)
      await new Promise(resolve => setTimeout(resolve, 20))
    }
    t.equal(await redisCommand(owner, 'PING'), 'PONG')
  })
})

t.test('a token is stored in the slot that Redis names for it', { skip: withoutRedisServer }, async t => {
  const { nodes } = await cluster(t)
  for (const key of [keyOf(freshToken()), 'a{b}c', '{}a', 'a{', '{user}:1']) {
    t.equal(slotOf(key), Number(await redisCommand(nodes[0]!.port, 'CLUSTER', 'KEYSLOT', key)))
  }
})

import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import type { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log/log.ts'
import type { Acknowledged, Sharing } from '../../src/store/acknowledged-changes.ts'
import { openRedisStore, type RedisStore } from '../../src/store/redis/redis.ts'
import { type RedisServer, startRedis, withoutRedisServer } from '../support/redis-server.ts'
import { PATIENCE, until } from '../support/until.ts'
import { added, credential } from './contract-credentials.ts'
import { LONG, record } from './contract-fixture.ts'
import { login, outcomeOf, UNAVAILABLE } from './redis-trial.ts'

/*
 * A server that takes over, and does not know what its predecessor confirmed: a lagging replica, or here a Redis that is
 * killed and comes back as it was when it was saved.
 */

const quiet = createLog('fatal')

async function openOn(t: Test, server: RedisServer, sharing?: Sharing, log = quiet): Promise<RedisStore> {
  const settings = { kind: 'redis' as const, prefix: 'svc:auth', timeout: PATIENCE, redis: { url: server.url } }
  const store = await openRedisStore(settings, systemClock, log, { sharing })
  t.teardown(() => store.close())
  return store
}

/** A store, and what hands it the changes that other processes have acknowledged. */
async function openReceiving(t: Test, server: RedisServer, log = quiet) {
  let receiver: (changes: readonly Acknowledged[]) => void = () => undefined
  const receive = (changes: readonly Acknowledged[]): void => receiver(changes)
  const sharing: Sharing = {
    share: async () => {},
    receive: given => {
      receiver = given
    },
  }
  return { store: await openOn(t, server, sharing, log), receive }
}

async function startServer(t: Test): Promise<RedisServer> {
  const server = await startRedis()
  t.teardown(() => server.stop())
  return server
}

/** From the save on, everything is lost. */
const save = (server: RedisServer): Promise<string> => server.cli('SAVE')

async function takeOver(server: RedisServer): Promise<void> {
  await server.kill()
  await server.restart()
}

/** The first answer that is one. */
async function answered<T>(ask: () => T | Promise<T>): Promise<T> {
  for (;;) {
    const outcome = await outcomeOf(ask)
    if (outcome !== UNAVAILABLE) return outcome
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

const find = (store: RedisStore, token: string) => answered(() => store.sessions.find('BUSINESS', token))
const disabledUntil = (store: RedisStore, user: string) =>
  answered(() => store.sessions.disabledUntil('BUSINESS', user))

/** Until a store has received so many changes that others acknowledged. */
const untilKnown = (store: RedisStore, count: number): Promise<boolean> =>
  until(() => store.repeats.changes.all().length >= count)

t.test('acknowledged changes are valid on a server that has missed them', { skip: withoutRedisServer }, async t => {
  const server = await startServer(t)
  const store = await openOn(t, server)
  const [ended, kicked, live] = [await login(store), await login(store), await login(store)]
  const end = systemClock.now() + LONG
  await store.sessions.disable('BUSINESS', 'tied', end)
  await save(server)
  await store.sessions.remove('BUSINESS', '1', ended)
  await store.sessions.disable('BUSINESS', 'bad', end)
  await store.sessions.untieDisable('BUSINESS', 'tied')
  await takeOver(server)
  t.equal(await find(store, ended), null, 'an ended token')
  await answered(() => store.ping())
  t.equal(
    await server.cli('EXISTS', `svc:auth:BUSINESS:token:${ended}`),
    '0',
    'which other programs do not find either',
  )
  t.not(await disabledUntil(store, 'bad'), null, 'a disabled login id')
  t.equal(await disabledUntil(store, 'tied'), null, 'one that was untied')
  const listed = () => answered(() => store.online.disabled('BUSINESS', { offset: 0, limit: 10 }))
  t.ok(await until(async () => (await listed()).userIds.includes('bad')), 'which is on the list of the disabled soon')
  t.equal((await find(store, live))?.user_id, '1', 'a session that lives')

  await save(server)
  await store.sessions.removeAll('BUSINESS', '1')
  await takeOver(server)
  t.equal(await find(store, kicked), null, 'one that was kicked out')
  const next = await answered(() => login(store))
  t.equal((await find(store, next))?.user_id, '1', 'a login after the kickout lives')
})

t.test(
  'a credential that was removed stays removed on a server that has missed it',
  { skip: withoutRedisServer },
  async t => {
    const server = await startServer(t)
    const store = await openOn(t, server)
    const { credentials } = store
    const [removed, live] = [await added({ store, clock: systemClock }), await added({ store, clock: systemClock })]
    const others = [await added({ store, clock: systemClock }, '2'), await added({ store, clock: systemClock }, '2')]
    await save(server)
    t.equal(await credentials.remove('BUSINESS', '1', removed.id), true)
    t.equal((await credentials.removeAll('BUSINESS', '2')).length, 2)
    await takeOver(server)
    for (const { id } of [removed, ...others]) t.equal(await answered(() => credentials.find('BUSINESS', id)), null)
    t.equal((await answered(() => credentials.find('BUSINESS', live.id)))?.owner, '1')
    t.same(
      (await credentials.of('BUSINESS', '1')).map(({ id }) => id),
      [live.id],
    )
    t.same(await credentials.of('BUSINESS', '2'), [])
    t.equal(await credentials.add('BUSINESS', credential({ clock: systemClock }), 2), true, 'and its place is free')
  },
)

t.test('acknowledged changes of a stopped gateway are repeated by another', { skip: withoutRedisServer }, async t => {
  const server = await startServer(t)
  const [first, second] = [await openOn(t, server), await openOn(t, server)]
  const token = await login(first)
  await save(server)
  await first.sessions.remove('BUSINESS', '1', token)
  await first.sessions.disable('BUSINESS', 'bad', systemClock.now() + LONG)
  await untilKnown(second, 2)
  await first.close()
  await takeOver(server)
  t.equal(await find(second, token), null)
  t.not(await disabledUntil(second, 'bad'), null)
})

t.test('a gateway that starts later learns earlier acknowledged changes', { skip: withoutRedisServer }, async t => {
  const server = await startServer(t)
  const first = await openOn(t, server)
  const token = await login(first)
  await save(server)
  await first.sessions.remove('BUSINESS', '1', token)
  await first.close()
  const second = await openOn(t, server)
  t.equal(await find(second, token), null)
  await takeOver(server)
  t.equal(await find(second, token), null)
})

t.test(
  'a worker that starts on the new server begins with what the others acknowledged',
  { skip: withoutRedisServer },
  async t => {
    const server = await startServer(t)
    const shared: Acknowledged[] = []
    const first = await openOn(t, server, { share: async changes => void shared.push(...changes), receive: () => {} })
    const token = await login(first)
    await save(server)
    await first.sessions.remove('BUSINESS', '1', token)
    await first.sessions.disable('BUSINESS', 'bad', systemClock.now() + LONG)
    await first.close()
    await takeOver(server)
    const second = await openOn(t, server, { share: async () => {}, receive: receiver => receiver(shared) })
    t.equal(await find(second, token), null)
    t.not(await disabledUntil(second, 'bad'), null)
  },
)

t.test('a change is passed to the other processes before it is acknowledged', { skip: withoutRedisServer }, async t => {
  const server = await startServer(t)
  let passOn = (): void => undefined
  const sharing: Sharing = {
    share: () => new Promise(resolve => (passOn = resolve)),
    receive: () => undefined,
  }
  const store = await openOn(t, server, sharing)
  const token = await login(store)
  let isAcknowledged = false
  const removal = store.sessions.remove('BUSINESS', '1', token).then(() => {
    isAcknowledged = true
  })
  while ((await server.cli('EXISTS', `svc:auth:BUSINESS:token:${token}`)) === '1') await find(store, token)
  await store.ping()
  t.equal(isAcknowledged, false)
  passOn()
  await removal
})

t.test(
  'a token that another process ended is not accepted, even if the server still has its record',
  { skip: withoutRedisServer },
  async t => {
    const server = await startServer(t)
    const { store, receive } = await openReceiving(t, server)
    const token = await login(store)
    const key = `svc:auth:BUSINESS:token:${token}`
    // Confirmed by a master that was replaced meanwhile and did not know it.
    receive([{ kind: 'ended', key, server: 'another' }])
    t.equal(await store.sessions.find('BUSINESS', token), null)
    while ((await server.cli('EXISTS', key)) === '1') await store.ping()
    t.pass('and it is ended here, too')
  },
)

t.test(
  'a token that another process ended is not accepted while the server here cannot end it',
  { skip: withoutRedisServer },
  async t => {
    const server = await startServer(t)
    const { store, receive } = await openReceiving(t, server)
    const token = await login(store)
    // A master that was replaced, and became a replica, answers what it knew.
    await server.cli('REPLICAOF', '127.0.0.1', '1')
    receive([{ kind: 'ended', key: `svc:auth:BUSINESS:token:${token}`, server: 'another' }])
    for (let i = 0; i < 50; i++) {
      const found = await outcomeOf(() => store.sessions.find('BUSINESS', token))
      t.ok(found === null || found === UNAVAILABLE)
    }
    await server.cli('REPLICAOF', 'NO', 'ONE')
    t.equal(await find(store, token), null)
  },
)

t.test(
  'changes acknowledged by another process while the connection is lost are repeated where it comes back',
  { skip: withoutRedisServer },
  async t => {
    const server = await startServer(t)
    const { store, receive } = await openReceiving(t, server)
    const token = await answered(() => login(store))
    const key = (name: string) => `svc:auth:BUSINESS:${name}`
    const disable = (user: string): Acknowledged => {
      const until = systemClock.now() + LONG
      return { kind: 'disabled', key: key(`disable:${user}`), server: 'another', until, version: 1, replaced: [] }
    }
    receive([disable('untied')])
    t.ok(await until(async () => (await server.cli('EXISTS', key('disable:untied'))) === '1'))
    await server.cli('DEL', key('disable:untied'))
    const redis = store.connections.store as Redis
    redis.once('close', () =>
      receive([{ kind: 'ended', key: key(`token:${token}`), server: 'another' }, disable('bad')]),
    )
    const isBack = once(redis, 'ready')
    await server.cli('CLIENT', 'KILL', 'TYPE', 'normal')
    await isBack
    t.equal(await find(store, token), null)
    t.not(await disabledUntil(store, 'bad'), null)
    t.equal(await server.cli('EXISTS', key(`token:${token}`)), '0', 'other programs do not find it either')
    t.equal(await disabledUntil(store, 'untied'), null, 'nothing that this server had before')
  },
)

t.test(
  'changes acknowledged by another process while a server is prepared are repeated there too',
  { skip: withoutRedisServer },
  async t => {
    const server = await startServer(t)
    const { store, receive } = await openReceiving(t, server)
    const [first, second] = [await login(store), await login(store)]
    await save(server)
    await store.sessions.remove('BUSINESS', '1', first)
    const key = (name: string) => `svc:auth:BUSINESS:${name}`
    const redis = store.connections.store as Redis
    const unlink = redis.unlink.bind(redis) as (key: string) => Promise<number>
    let isReceived = false
    redis.unlink = ((name: string) => {
      // The memory is being repeated on the server that took over.
      if (!isReceived) {
        isReceived = true
        const until = systemClock.now() + LONG
        receive([
          { kind: 'ended', key: key(`token:${second}`), server: 'another' },
          { kind: 'disabled', key: key('disable:bad'), server: 'another', until, version: 1, replaced: [] },
        ])
      }
      return unlink(name)
    }) as Redis['unlink']
    await takeOver(server)
    t.equal(await find(store, second), null)
    t.not(await disabledUntil(store, 'bad'), null)
    t.equal(await server.cli('EXISTS', key(`token:${second}`), key('disable:bad')), '1', 'the disable alone')
  },
)

t.test(
  'a walk over the sessions of a user passes over none when another server takes over',
  { skip: withoutRedisServer },
  async t => {
    const server = await startServer(t)
    const store = await openOn(t, server)
    const tokens = await Promise.all(Array.from({ length: 1500 }, () => login(store)))
    await save(server)
    const walk = store.sessions.batches('BUSINESS', '1')[Symbol.asyncIterator]()
    const seen = (await walk.next()).value!.map(({ token }: { token: string }) => token)
    t.ok(seen.length < 300, 'there is more to do')
    await takeOver(server)
    await answered(() => store.ping())
    for (let batch = await walk.next(); !batch.done; batch = await walk.next()) {
      seen.push(...batch.value.map(({ token }: { token: string }) => token))
    }
    t.same(seen.sort(), tokens.sort(), 'each session once')
  },
)

t.test(
  'a gateway that starts repeats nothing that this server has confirmed',
  { skip: withoutRedisServer },
  async t => {
    const server = await startServer(t)
    const first = await openOn(t, server)
    await first.sessions.disable('BUSINESS', 'tied', systemClock.now() + LONG)
    // As another program unties, or a gateway whose untie is not in the journal yet.
    await server.cli('DEL', 'svc:auth:BUSINESS:disable:tied')
    const second = await openOn(t, server)
    t.equal(await disabledUntil(second, 'tied'), null)
    t.equal(await server.cli('EXISTS', 'svc:auth:BUSINESS:disable:tied'), '0')
  },
)

t.test(
  'a Redis that is no longer full gets what it refused, and nothing that it has confirmed',
  { skip: withoutRedisServer },
  async t => {
    const server = await startServer(t)
    const keyOf = (user: string): string => `svc:auth:BUSINESS:disable:${user}`
    const end = systemClock.now() + LONG
    const { store, receive } = await openReceiving(t, server)
    await answered(() => store.sessions.disable('BUSINESS', 'tied', end))
    await server.cli('CONFIG', 'SET', 'maxmemory', '1')
    const refused = { kind: 'disabled', key: keyOf('other'), server: 'another', version: 1, replaced: [] } as const
    receive([{ ...refused, until: end }])
    await until(async () => (await server.cli('INFO', 'errorstats')).includes('OOM'))
    await server.cli('DEL', keyOf('tied'))
    await server.cli('CONFIG', 'SET', 'maxmemory', '0')
    await until(async () => (await server.cli('EXISTS', keyOf('other'))) === '1')
    t.equal(await server.cli('EXISTS', keyOf('tied')), '0', 'what another program has untied meanwhile')
  },
)

t.test(
  'the log says that Redis is full when that begins and when it ends, not with every attempt',
  { skip: withoutRedisServer },
  async t => {
    const lines: string[] = []
    const server = await startServer(t)
    const write = (line: string): void => {
      const { msg } = JSON.parse(line)
      if (/^(?:Redis is full|Redis has|other gateways)/.test(msg)) lines.push(msg)
    }
    const { store, receive } = await openReceiving(t, server, createLog('info', { write }))
    const tokens = [await login(store), await login(store), await login(store)]
    const key = 'svc:auth:BUSINESS:disable:other'
    const end = async (): Promise<unknown> => store.sessions.remove('BUSINESS', '1', tokens.pop()!)
    const refusals = async (): Promise<number> =>
      Number(/errorstat_OOM:count=(\d+)/.exec(await server.cli('INFO', 'errorstats'))?.[1] ?? 0)

    await server.cli('CONFIG', 'SET', 'maxmemory', '1')
    receive([{ kind: 'disabled', key, server: 'another', version: 1, replaced: [], until: systemClock.now() + LONG }])
    await until(async () => (await refusals()) >= 3)
    await end()
    await end()
    const full = ['Redis is full: disabled login ids are known to this process only']
    const silent = ['other gateways are not notified of ended sessions']
    t.same(lines.splice(0), [...full, ...silent])

    await server.cli('CONFIG', 'SET', 'maxmemory', '0')
    await until(() => lines.length > 0)
    await end()
    t.same(lines.splice(0), [
      'Redis has the disabled login ids again',
      'other gateways are notified of ended sessions again',
    ])

    tokens.push(await login(store))
    await server.cli('CONFIG', 'SET', 'maxmemory', '1')
    await end()
    t.same(lines, silent)
  },
)

t.test(
  'an untie holds that was made before an earlier disable of the id was repeated',
  { skip: withoutRedisServer },
  async t => {
    const server = await startServer(t)
    const key = 'svc:auth:BUSINESS:disable:tied'
    const end = systemClock.now() + LONG
    const { store, receive } = await openReceiving(t, server)
    t.equal(await disabledUntil(store, 'tied'), null)
    const present = store.repeats.server
    const disabled = { kind: 'disabled', key, server: 'another', until: end, version: 1, replaced: [] } as const
    receive([disabled])
    await until(async () => (await server.cli('EXISTS', key)) === '1')
    // Both changes were made on the present server before this process received them: the disable, and then the untie.
    await server.cli('DEL', key)
    receive([{ ...disabled, server: present, until: end + 1, version: 2, replaced: [end] }])
    await until(async () => (await server.cli('EXISTS', key)) === '1')
    receive([{ ...disabled, server: present, until: 0, version: 3, replaced: [end, end + 1] }])
    await until(async () => (await server.cli('EXISTS', key)) === '0')
    t.equal(await disabledUntil(store, 'tied'), null)
  },
)

t.test('a repeat does not undo later changes', { skip: withoutRedisServer }, async t => {
  const server = await startServer(t)
  const store = await openOn(t, server)
  const now = systemClock.now()
  const key = (user: string) => `svc:auth:BUSINESS:disable:${user}`
  await store.sessions.disable('BUSINESS', 'tied', now + LONG)
  await store.sessions.disable('BUSINESS', 'short', now + 2 * LONG)
  await save(server)
  await store.sessions.untieDisable('BUSINESS', 'tied')
  await store.sessions.disable('BUSINESS', 'extended', now + LONG)
  await store.sessions.disable('BUSINESS', 'short', now + LONG)
  await server.kill()
  // Another program is quicker on the new server.
  await server.restart()
  await server.cli('SET', key('tied'), '1', 'PXAT', String(now + 5 * LONG))
  await server.cli('SET', key('extended'), '1', 'PXAT', String(now + 5 * LONG))
  const second = await openOn(t, server, {
    share: async () => {},
    receive: receiver => receiver(store.repeats.changes.all()),
  })
  const left = async (user: string) => ((await disabledUntil(second, user)) ?? 0) - now
  t.ok((await left('tied')) > 4 * LONG, 'a later disable is not lifted by an untie')
  t.ok((await left('extended')) > 4 * LONG, 'a longer disable is not shortened')
  t.ok((await left('short')) < 1.5 * LONG, 'what was shortened here is shortened there')
})

t.test(
  'a login that began before a kickout is not admitted on a server that forgot the kickout',
  { skip: withoutRedisServer },
  async t => {
    const server = await startServer(t)
    const store = await openOn(t, server)
    const key = 'svc:auth:BUSINESS:kicked:1'
    await save(server)
    await store.sessions.removeAll('BUSINESS', '1')
    const counted = await server.cli('GET', key)
    t.not(counted, '')
    await takeOver(server)
    await answered(() => store.ping())
    t.equal(await server.cli('GET', key), counted)
  },
)

t.test('sessions can be ended on a Redis that cannot store the journal', { skip: withoutRedisServer }, async t => {
  const server = await startServer(t)
  const store = await openOn(t, server)
  const token = await login(store)
  await server.cli('SET', 'svc:auth:journal', 'no stream', 'PX', String(LONG))
  t.equal(await store.sessions.remove('BUSINESS', '1', token), true)
  await save(server)
  const other = await login(store)
  await store.sessions.remove('BUSINESS', '1', other)
  await takeOver(server)
  t.equal(await find(store, other), null)
})

t.test('the journal keeps recent entries, and expires', { skip: withoutRedisServer }, async t => {
  const server = await startServer(t)
  const store = await openOn(t, server)
  const token = await login(store)
  await store.sessions.remove('BUSINESS', '1', token)
  t.equal(await server.cli('XLEN', 'svc:auth:journal'), '1')
  t.ok(Number(await server.cli('PTTL', 'svc:auth:journal')) > 0)
})

t.test('entries of the journal that no gateway wrote change nothing', { skip: withoutRedisServer }, async t => {
  const server = await startServer(t)
  const key = 'svc:auth:BUSINESS:token:a'
  const disabled = { kind: 'disabled', key, server: 's', until: 1, version: 1, replaced: [] }
  const foreign = [
    ...['', 'null', '7', '[]', '{}', '{'],
    JSON.stringify({ kind: 'ended', key: 7, server: 's' }),
    JSON.stringify({ kind: 'ended', key }),
    JSON.stringify({ kind: 'started', key, server: 's' }),
    JSON.stringify({ kind: 'kicked', key, server: 's', count: '1' }),
    ...['until', 'version', 'replaced'].map(name => JSON.stringify({ ...disabled, [name]: null })),
    JSON.stringify({ ...disabled, replaced: ['1'] }),
  ]
  const add = async () => {
    for (const text of foreign) await server.cli('XADD', 'svc:auth:journal', '*', 'change', text)
  }
  await add()
  const [one, other] = [await openOn(t, server), await openOn(t, server)]
  await add()
  const token = await login(one)
  await one.sessions.remove('BUSINESS', '1', token)
  t.ok(await untilKnown(other, 1))
  t.match(other.repeats.changes.all(), [{ kind: 'ended', key: `svc:auth:BUSINESS:token:${token}` }])
})

t.test('a kickout of many sessions is passed on in small parts', { skip: withoutRedisServer }, async t => {
  const server = await startServer(t)
  const parts: number[] = []
  const sharing = {
    share: async (changes: readonly Acknowledged[]) => void parts.push(changes.length),
    receive: () => {},
  }
  const store = await openOn(t, server, sharing)
  const key = 'svc:auth:BUSINESS:session:1'
  const tokens = Array.from({ length: 2000 }, (_, i) => `token-${i}`)
  const text = JSON.stringify(record('BUSINESS', '1'))
  await server.cli('MSET', ...tokens.flatMap(token => [`svc:auth:BUSINESS:token:${token}`, text]))
  await server.cli('SADD', key, ...tokens)
  t.equal(await store.sessions.removeAll('BUSINESS', '1'), tokens.length)
  t.equal(
    parts.reduce((sum, part) => sum + part),
    tokens.length + 1,
  )
  t.ok(Math.max(...parts) <= 200, String(Math.max(...parts)))
  t.equal(store.repeats.changes.all().length, tokens.length + 1, 'and each of them is remembered')
})

t.test(
  'a replica has the record of a login and its place among the tokens of its user, or neither',
  { skip: withoutRedisServer },
  async t => {
    const server = await startServer(t)
    const store = await openOn(t, server)
    const seen: string[] = []
    // The monitor of the client library fails on a line that comes in the same packet as Redis' answer to MONITOR.
    const monitor = connect(server.port, '127.0.0.1')
    t.teardown(() => monitor.destroy())
    const lines = createInterface(monitor)
    monitor.write('MONITOR\r\n')
    await once(lines, 'line')
    lines.on('line', line => {
      const [, source, name = '', key = ''] = /^\+\S+ \[\d+ (\S+)\] "(\w+)" "([^"]*)"/.exec(line) ?? []
      if (/^(set|sadd)$/i.test(name) && /:(token|session):/.test(key)) seen.push(`${source} ${name.toLowerCase()}`)
    })
    await login(store)
    while (seen.length < 2) await store.ping()
    // What a script does reaches replicas as one transaction.
    t.same(seen, ['lua set', 'lua sadd'])
  },
)

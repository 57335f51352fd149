import type { Redis } from 'ioredis'
import { pino } from 'pino'
import t from 'tap'
import { createLog } from '../../src/base/log/log.ts'
import { Unavailable } from '../../src/base/refusal.ts'
import { connect } from '../../src/store/redis/connection/connections.ts'
import { remedyOf, summaryOf } from '../../src/store/redis/connection/fault.ts'
import { Outages } from '../../src/store/redis/connection/outages.ts'
import { startLoadingRedis } from '../support/loading-redis.ts'
import { freePort } from '../support/ports.ts'
import { endProcess, redisCommand, spawnRedis, startRedis, withoutRedisServer } from '../support/redis-server.ts'
import { answerUnknownName, UNKNOWN_NAME } from '../support/unknown-name.ts'
import { PATIENCE, until } from '../support/until.ts'

/*
 * What the log says of a Redis that is lost. None of them is silent: with a shorter limit the log would say that of one that a
 * busy machine has stopped.
 */

function logOf() {
  const lines: Record<string, unknown>[] = []
  return { lines, log: pino({ base: null, timestamp: false }, { write: line => void lines.push(JSON.parse(line)) }) }
}

t.test(
  'a loss is logged once, with address and remedy, and once when it is over',
  { skip: withoutRedisServer },
  async t => {
    const { lines, log } = logOf()
    const port = await freePort()
    const connections = await connect({ url: `redis://user:secret@127.0.0.1:${port}/2` }, PATIENCE, log)
    t.teardown(() => connections.close())
    let attempts = 0
    connections.store.on('reconnecting', () => attempts++)
    await until(() => attempts > 3)
    const place = `127.0.0.1:${port}, database 2`
    const remedy = 'no program listens there; start Redis, or correct the address'
    t.strictSame(lines, [{ level: 50, redis: place, fault: 'connect ECONNREFUSED', remedy, msg: 'Redis is lost' }])
    const redis = await spawnRedis(port, t.testdir(), ['--user', 'user', 'on', '>secret', '~*', '+@all'])
    t.teardown(() => endProcess(redis))
    await until(() => connections.store.status === 'ready')
    t.strictSame(lines.slice(1), [{ level: 30, redis: place, msg: 'Redis is back' }])
  },
)

t.test('the log says why no node of a Cluster can be reached', async t => {
  answerUnknownName(t)
  for (const [node, fault] of [
    [{ host: UNKNOWN_NAME, port: 6379 }, 'getaddrinfo ENOTFOUND'],
    [{ host: '127.0.0.1', port: await freePort() }, 'connect ECONNREFUSED'],
  ] as const) {
    const { lines, log } = logOf()
    const connections = await connect({ cluster: [node] }, PATIENCE, log)
    t.teardown(() => connections.close())
    await until(() => lines.length > 0)
    t.match(lines, [{ redis: `Cluster of ${node.host}:${node.port}`, fault, msg: 'Redis is lost' }])
  }
})

t.test('a Redis that reads its data after a start is named so', async t => {
  const { lines, log } = logOf()
  const connections = await connect({ url: `redis://127.0.0.1:${await startLoadingRedis(t)}` }, 1000, log)
  t.teardown(() => connections.close())
  const remedy = 'it reads its data after a start; wait until it has'
  t.match(await until(() => lines.find(({ fault }) => fault === 'LOADING')), { remedy, msg: 'Redis is lost' })
})

t.test('a password that is refused is logged once, without it', { skip: withoutRedisServer }, async t => {
  const server = await startRedis()
  t.teardown(() => server.stop())
  await server.cli('CONFIG', 'SET', 'requirepass', 'right-password')
  const { lines, log } = logOf()
  const connections = await connect({ url: `redis://:wrong-password@127.0.0.1:${server.port}` }, PATIENCE, log)
  t.teardown(() => connections.close())
  let attempts = 0
  connections.store.on('reconnecting', () => attempts++)
  await until(() => attempts > 3)
  t.match(lines, [{ fault: 'WRONGPASS', remedy: 'it refuses this user or password; correct them' }])
  t.equal(lines.length, 1)
  t.notMatch(JSON.stringify(lines), /-password/)
})

t.test('where the server refuses the database, no other is used', { skip: withoutRedisServer }, async t => {
  const port = await freePort()
  const args = ['--databases', '3', '--user', 'user', 'on', '>secret', '~*', '&*', '+@all', '-select']
  const redis = await spawnRedis(port, t.testdir(), args)
  t.teardown(() => endProcess(redis))
  const NO_SUCH = 'it has no database of this number; correct the address, or its setting databases'
  for (const [user, database, fault, remedy] of [
    ['', 3, 'ERR DB index is out of range', NO_SUCH],
    ['user:secret@', 2, 'NOPERM for the command select', /allow it in the ACL$/],
  ] as const) {
    const { lines, log } = logOf()
    const connections = await connect({ url: `redis://${user}127.0.0.1:${port}/${database}` }, PATIENCE, log)
    t.teardown(() => connections.close())
    const clients = [connections.store, connections.open('journal')]
    const ready: unknown[] = []
    const attempts = clients.map(client => {
      client.on('ready', () => ready.push(client))
      const made = { times: 0 }
      client.on('reconnecting', () => made.times++)
      return made
    })
    await until(() => attempts.every(({ times }) => times > 3))
    t.same(ready, [], 'each connection is made anew, and none is used')
    await t.rejects((connections.store as Redis).set('a', '1'))
    t.match(lines, [{ redis: `127.0.0.1:${port}, database ${database}`, fault, ...(remedy && { remedy }) }])
    t.equal(lines.length, 1)
  }
  t.equal((await redisCommand(port, 'DBSIZE')).trim(), '0')
})

t.test('where SELECT is forbidden, a user has database 0', { skip: withoutRedisServer }, async t => {
  const port = await freePort()
  const args = ['--user', 'user', 'on', '>secret', '~*', '&*', '+@all', '-select']
  const redis = await spawnRedis(port, t.testdir(), args)
  t.teardown(() => endProcess(redis))
  for (const place of ['', '/', '/0']) {
    const { lines, log } = logOf()
    const connections = await connect({ url: `redis://user:secret@127.0.0.1:${port}${place}` }, PATIENCE, log)
    t.teardown(() => connections.close())
    await until(() => connections.store.status === 'ready')
    t.equal(await (connections.store as Redis).set('a', '1'), 'OK')
    t.same(lines, [])
  }
})

t.test('the next loss is logged again', async t => {
  const { lines, log } = logOf()
  const outages = new Outages('redis:6379, database 0', log)
  outages.back()
  for (const message of ['read ECONNRESET', 'connect ECONNREFUSED 1.2.3.4:6379', 'connect ECONNREFUSED 1.2.3.4:6379'])
    outages.lost(new Error(message))
  outages.back()
  outages.lost(new Error('getaddrinfo ENOTFOUND redis'))
  t.same(
    lines.map(({ fault, msg }) => fault ?? msg),
    ['read ECONNRESET', 'connect ECONNREFUSED', 'Redis is back', 'getaddrinfo ENOTFOUND'],
  )
})

t.test('the fault that Sentinels or nodes of a Cluster report is named', async t => {
  const unreachable = 'All sentinels are unreachable. Retrying from scratch after 20ms. Last error: '
  t.equal(summaryOf(new Error(`${unreachable}connect ECONNREFUSED 1.2.3.4:1`)), 'the Sentinels: connect ECONNREFUSED')
  const node = new Error('WRONGPASS invalid username-password pair')
  t.equal(summaryOf(Object.assign(new Error('Failed to refresh slots cache.'), { lastNodeError: node })), 'WRONGPASS')
})

t.test('what Redis refuses by its ACL, or does not have, is named without the keys of the command', t => {
  const by = 'script: e5d817d4901b6815d4a3d09ff4a6059e2b4ed1dd, on @user_script:1.'
  const rows: [message: string, summary: string][] = [
    ["NOPERM this user has no permissions to run the 'set' command or its subcommand", 'NOPERM for the command set'],
    ["NOPERM User gw has no permissions to run the 'client|id' command", 'NOPERM for the command client|id'],
    ['NOPERM this user has no permissions to access one of the keys used as arguments', 'NOPERM for a key'],
    ['NOPERM No permissions to access a key', 'NOPERM for a key'],
    ['NOPERM this user has no permissions to access one of the channels used as arguments', 'NOPERM for a channel'],
    ['NOPERM No permissions to access a channel', 'NOPERM for a channel'],
    [
      `ERR Error running script (call to f_0): @user_script:1: The user executing the script can't run this command`,
      'NOPERM for a command of a script',
    ],
    [
      `ERR The user executing the script can't run this command or subcommand ${by}`,
      'NOPERM for a command of a script',
    ],
    [
      `ERR The user executing the script can't access at least one of the keys mentioned in the command arguments ${by}`,
      'NOPERM for a key',
    ],
    [
      `ERR ACL failure in script: User gw has no permissions to run the 'zadd' command ${by}`,
      'NOPERM for the command zadd',
    ],
    [`ERR ACL failure in script: No permissions to access a key ${by}`, 'NOPERM for a key'],
    ["ERR unknown command 'XADD', with args beginning with: 'svc:auth:journal' 'eyJ' ", 'ERR unknown command XADD'],
    ['ERR unknown command `XADD`, with args beginning with: `svc:auth:journal`, ', 'ERR unknown command XADD'],
    [`ERR Unknown Redis command called from script ${by}`, 'ERR unknown command of a script'],
  ]
  for (const [message, summary] of rows) {
    t.equal(summaryOf(new Error(message)), summary)
    t.match(remedyOf(summary), /store\.prefix|the ACL$|rename no command$/)
  }
  t.end()
})

t.test('a store whose ACL lacks a command names it', { skip: withoutRedisServer }, async t => {
  const port = await freePort()
  const args = ['--user', 'user', 'on', '>secret', '~*', '&*', '+@all', '-unlink', '-zadd']
  const redis = await spawnRedis(port, t.testdir(), args)
  t.teardown(() => endProcess(redis))
  const { log } = logOf()
  const connections = await connect({ url: `redis://user:secret@127.0.0.1:${port}` }, PATIENCE, log)
  t.teardown(() => connections.close())
  const client = connections.store as Redis
  const refusal = (asked: Promise<unknown>) => asked.then(() => null, summaryOf)
  t.equal(await refusal(client.unlink('a')), 'NOPERM for the command unlink')
  t.match(await refusal(client.eval("redis.call('zadd', KEYS[1], 1, 'a')", 1, 'k')), /^NOPERM for .*command/)
})

t.test('what is logged of a store that is away has no stack', async t => {
  const lines: string[] = []
  const log = createLog('info', { write: line => void lines.push(line) })
  log.warn({ err: new Unavailable('Redis: not connected', new Error('why')) }, 'not ready')
  log.warn({ err: new Unavailable('Redis: not connected').cause }, 'not served')
  log.error({ err: new Error('a fault of the program') }, 'internal fault')
  t.same(
    lines.map(line => line.includes('stack')),
    [false, false, true],
  )
  t.match(lines, [/Redis: not connected.*why/, /Redis: not connected/, /a fault of the program/])
})

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import t, { type Test } from 'tap'
import { createCertificate } from '../support/certificate.ts'
import { startLoadingRedis } from '../support/loading-redis.ts'
import { freePort } from '../support/ports.ts'
import { startCluster } from '../support/redis-cluster.ts'
import { startSentinels } from '../support/redis-sentinel.ts'
import { redisCommand, startRedis, withoutRedisServer } from '../support/redis-server.ts'
import { answerUnknownName, UNKNOWN_NAME } from '../support/unknown-name.ts'
import { PATIENCE } from '../support/until.ts'
import { connect, LONGEST } from './connect-fixture.ts'

const redisAt = (url: string, timeout = LONGEST) => ({ store: { kind: 'redis', timeout, redis: { url } } })

/** What is said of the store. */
const faultOf = async (t: Test, redis: object) =>
  (await connect(t, { store: { kind: 'redis', timeout: LONGEST, redis } })).lines[0]!

async function listen(t: Test, server: Server): Promise<AddressInfo> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  return server.address() as AddressInfo
}

/** Answers PING as Redis does, and closes a connection that begins with TLS; Redis itself waits for more. */
const answerPlain = (socket: Socket): void => {
  socket.on('error', () => undefined)
  socket.on('data', bytes => (String(bytes) === 'PING\r\n' ? socket.write('+PONG\r\n') : socket.destroy()))
}

t.test('check --connect reports the version of Redis and its warnings', { skip: withoutRedisServer }, async t => {
  const redis = await startRedis()
  t.teardown(() => redis.stop())
  const { code, lines } = await connect(t, redisAt(`${redis.url}/3`))
  t.equal(code, 0)
  t.match(lines, [
    new RegExp(`^reached store \\(127.0.0.1:${redis.port}, database 3\\): Redis \\d`),
    /warning: Redis writes no append-only/,
  ])
  t.equal(await redis.cli('DBSIZE'), '0', 'nothing was written')
  t.match(await redis.cli('INFO', 'commandstats'), /^cmdstat_eval:calls=1,/m, 'the right to write is asked for once')
})

t.test('check --connect says what to do about a Redis that cannot be used', { skip: withoutRedisServer }, async t => {
  const redis = await startRedis()
  t.teardown(() => redis.stop())
  await redis.cli('CONFIG', 'SET', 'requirepass', 'right-password')
  const wrong = await connect(t, redisAt(`redis://:wrong-password@127.0.0.1:${redis.port}`))
  t.equal(wrong.code, 1)
  t.match(wrong.lines[0], /^NOT REACHED store .*WRONGPASS: it refuses this user or password/)
  t.match((await connect(t, redisAt(redis.url))).lines[0], /^NOT REACHED store .*NOAUTH: it refuses this user/)
  const right = await connect(t, redisAt(`redis://:right-password@127.0.0.1:${redis.port}`))
  t.equal(right.code, 0)
  for (const { output } of [wrong, right]) t.notMatch(output, /right-password|wrong-password/)

  redis.pause()
  const silent = await connect(t, redisAt(`redis://:right-password@127.0.0.1:${redis.port}`, '500ms'))
  t.match(
    [silent.code, silent.lines[0]],
    [1, /^NOT REACHED store /],
    'a Redis that does not answer ends the check, too',
  )
  redis.resume()
})

t.test('check --connect reports a Redis that lets its user read alone', { skip: withoutRedisServer }, async t => {
  const redis = await startRedis()
  t.teardown(() => redis.stop())
  for (const lacking of ['-@write', '-@scripting']) {
    await redis.cli('ACL', 'SETUSER', 'gateway', 'reset', 'on', '>a-password', '~svc:auth:*', '+@all', lacking)
    const { code, lines } = await connect(t, redisAt(`redis://gateway:a-password@127.0.0.1:${redis.port}`))
    t.match([code, lines[0]], [1, /^NOT REACHED store .*NOPERM for .*command.*allow it in the ACL$/], lacking)
  }
})

t.test('check --connect says that a Redis loads its data', async t => {
  const { code, lines } = await connect(t, redisAt(`redis://127.0.0.1:${await startLoadingRedis(t)}`))
  t.match([code, lines[0]], [1, /^NOT REACHED store .*LOADING: it reads its data after a start; wait until it has$/])
})

t.test('check --connect says that the name of a Redis is not known', async t => {
  answerUnknownName(t)
  const { code, lines } = await connect(t, redisAt(`redis://${UNKNOWN_NAME}:6379`))
  t.match([code, lines[0]], [1, /^NOT REACHED store \(no-such-host.invalid:6379.*ENOTFOUND: the name is not known/])
})

t.test(
  'check --connect reports a Redis where no program listens, and one that is a replica',
  { skip: withoutRedisServer },
  async t => {
    const { lines, code } = await connect(t, redisAt(`redis://127.0.0.1:${await freePort()}`))
    t.match([code, lines[0]], [1, /ECONNREFUSED: no program listens there/])
    const redis = await startRedis()
    t.teardown(() => redis.stop())
    await redis.cli('REPLICAOF', '127.0.0.1', '1')
    await redis.cli('CONFIG', 'SET', 'replica-serve-stale-data', 'yes')
    t.match((await connect(t, redisAt(redis.url))).lines[0], /^NOT REACHED store .*it is a replica/)
  },
)

t.test(
  'check --connect says what is wrong with the settings of Sentinel and Cluster',
  { skip: withoutRedisServer },
  async t => {
    const redis = await startRedis()
    t.teardown(() => redis.stop())
    const { sentinels, name, stop } = await startSentinels(PATIENCE)
    t.teardown(stop)
    const node = { host: '127.0.0.1', port: redis.port }
    t.match(
      await faultOf(t, { sentinels, name: 'mastr' }),
      /^NOT REACHED store .*: they watch no master of this name; /,
    )
    const asSentinel = { sentinels: [node], name }
    t.match(await faultOf(t, asSentinel), /^NOT REACHED store .*: these are no Sentinels; /)
    t.match(await faultOf(t, { cluster: [node] }), /^NOT REACHED store .*: it is a single server, and no Cluster; /)
    const url = `redis://127.0.0.1:${sentinels[0]!.port}`
    t.match(await faultOf(t, { url }), /^NOT REACHED store .*: it may be a Sentinel; name the Sentinels in/)
    for (const { port } of sentinels) await redisCommand(port, 'ACL', 'SETUSER', 'default', 'resetpass', '>a-password')
    t.match(
      await faultOf(t, { sentinels, name, password: 'a-password' }),
      /: the gateway sends Sentinels no password: /,
    )
    t.match(
      await faultOf(t, { ...asSentinel, sentinels: [{ ...node, port: await freePort() }] }),
      /: none accepts a connection without TLS; /,
    )
  },
)

t.test('check --connect says of each transport that Redis answers in the other one', async t => {
  const { port } = await listen(t, createServer(answerPlain))
  const plain = { cluster: [{ host: '127.0.0.1', port }], tls: true }
  for (const redis of [{ url: `rediss://127.0.0.1:${port}` }, plain])
    t.match(
      await faultOf(t, redis),
      /^NOT REACHED store .*: it answers without TLS: begin store\.redis\.url with redis:/,
    )

  const folder = t.testdir()
  const tls = { cert: readFileSync(createCertificate(folder)), key: readFileSync(join(folder, 'key.pem')) }
  const secured = await listen(t, createTlsServer(tls))
  const cluster = [{ host: '127.0.0.1', port: secured.port }]
  for (const redis of [{ url: `redis://127.0.0.1:${secured.port}` }, { cluster }])
    t.match(await faultOf(t, redis), /^NOT REACHED store .*: it serves TLS: begin store\.redis\.url with rediss:/)
  for (const redis of [{ url: `rediss://127.0.0.1:${secured.port}` }, { cluster, tls: true }])
    t.match(await faultOf(t, redis), /: its certificate is not trusted: self-signed certificate: .*NODE_EXTRA_CA_CERTS/)
})

t.test('check --connect says why no node of a Cluster can be reached', async t => {
  answerUnknownName(t)
  const closed = [{ host: '127.0.0.1', port: await freePort() }]
  t.match(await faultOf(t, { cluster: closed }), /^NOT REACHED store .*ECONNREFUSED: no program listens there/)
  const unknown = [{ host: UNKNOWN_NAME, port: 6379 }]
  t.match(await faultOf(t, { cluster: unknown }), /^NOT REACHED store .*ENOTFOUND: the name is not known/)
})

t.test('check --connect reaches a Cluster of which one name is not known', { skip: withoutRedisServer }, async t => {
  answerUnknownName(t)
  const { nodes, stop } = await startCluster(PATIENCE)
  t.teardown(stop)
  const cluster = [{ host: UNKNOWN_NAME, port: 6379 }, nodes[0]]
  t.match(await faultOf(t, { cluster }), /^reached store /)
  const url = `redis://127.0.0.1:${nodes[0]!.port}`
  t.match(await faultOf(t, { url }), /^NOT REACHED store .*it is a node of a Cluster; name it in store\.redis\.cluster/)
})

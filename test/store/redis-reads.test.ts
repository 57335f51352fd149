import t from 'tap'
import { Unavailable } from '../../src/base/refusal.ts'
import { startRedis, withoutRedisServer } from '../support/redis-server.ts'
import { PATIENCE } from '../support/until.ts'
import { freshToken } from './contract-fixture.ts'
import { fixture, login, openConnected } from './redis-trial.ts'

/** How often Redis was sent each of some commands since its statistics were reset. */
async function callsOf(
  server: { cli(...args: string[]): Promise<string> },
  ...commands: readonly string[]
): Promise<number[]> {
  const stats = await server.cli('INFO', 'commandstats')
  return commands.map(command => Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0))
}

t.test('sessions that are read in one turn of the event loop', { skip: withoutRedisServer }, async t => {
  await t.test('are one command, and each read gets its own answer', async t => {
    const { server, store } = await fixture(t, PATIENCE)
    const tokens = await Promise.all(Array.from({ length: 30 }, () => login(store)))
    const absent = freshToken()
    await server.cli('CONFIG', 'RESETSTAT')
    const asked = [...tokens, absent, tokens[0]!]
    const found = await Promise.all(asked.map(token => store.sessions.find('BUSINESS', token)))
    t.same(
      found.map(record => record?.user_id ?? null),
      asked.map(token => (token === absent ? null : '1')),
    )
    const [reads, single, ends] = await callsOf(server, 'mget', 'get', 'pttl')
    t.equal(reads, 1)
    t.equal(single, ends, 'single are only those of the upkeep, which reads each record with its end')
  })

  await t.test('are several commands where they are very many', async t => {
    const { server, store, token } = await fixture(t, PATIENCE)
    await server.cli('CONFIG', 'RESETSTAT')
    const found = await Promise.all(Array.from({ length: 1200 }, () => store.sessions.find('BUSINESS', token)))
    t.ok(found.every(record => record?.user_id === '1'))
    t.same(await callsOf(server, 'mget'), [3])
  })

  await t.test('all fail where Redis does not answer', async t => {
    const { server, store, token } = await fixture(t)
    server.pause()
    const found = await Promise.allSettled(Array.from({ length: 5 }, () => store.sessions.find('BUSINESS', token)))
    for (const one of found) t.ok(one.status === 'rejected' && one.reason instanceof Unavailable)
  })
})

t.test('a user of Redis without MGET reads sessions one by one', { skip: withoutRedisServer }, async t => {
  const server = await startRedis()
  await server.cli('ACL', 'SETUSER', 'plain', 'on', 'nopass', '~*', '&*', '+@all', '-mget')
  const store = await openConnected({ url: server.url.replace('://', '://plain:x@') }, PATIENCE)
  t.teardown(async () => {
    await store.close()
    await server.stop()
  })
  const tokens = [await login(store), await login(store), freshToken()]
  const found = await Promise.all(tokens.map(token => store.sessions.find('BUSINESS', token)))
  t.same(
    found.map(record => record?.user_id ?? null),
    ['1', '1', null],
  )
})

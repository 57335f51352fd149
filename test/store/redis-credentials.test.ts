import t from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { type RedisServer, withoutRedis } from '../support/redis-server.ts'
import { PATIENCE } from '../support/until.ts'
import { added, credential } from './contract-credentials.ts'
import { MINUTE } from './contract-fixture.ts'
import { fixture, openConnected, outcomeOf, UNAVAILABLE } from './redis-trial.ts'

const OWNERS_LIST = 'svc:auth:BUSINESS:keys:1'
const clock = systemClock

const keysOf = async (server: RedisServer): Promise<string[]> =>
  (await server.cli('KEYS', 'svc:auth:*key*')).split('\n').filter(key => key !== '')

/** Milliseconds that a key has left, as another program would ask. */
const leftOf = async (server: RedisServer, key: string): Promise<number> => Number(await server.cli('PTTL', key))

t.test('the stored credentials are under their keys, each with a lifetime', { skip: withoutRedis }, async t => {
  const { server, store } = await fixture(t, PATIENCE)
  const { credentials } = store
  const [old, used] = [await added({ store, clock }, '1', 10 * MINUTE), await added({ store, clock }, '1', 5 * MINUTE)]
  const next = credential({ clock }, '1', 20 * MINUTE)
  await credentials.succeed('BUSINESS', '1', old.id, next, clock.now() + MINUTE)
  await credentials.rewrite('BUSINESS', used.id, 'text', 'new')
  await credentials.used('BUSINESS', used.id, 1)
  await credentials.add('BUSINESS', credential({ clock }), 1)
  const of = (id: string): string => `svc:auth:BUSINESS:key:${id}`
  const lifetimes: Record<string, number> = {
    [of(old.id)]: 1,
    [of(used.id)]: 5,
    [of(next.id)]: 20,
    [`svc:auth:BUSINESS:key-used:${used.id}`]: 5,
    [OWNERS_LIST]: 21,
    'svc:auth:BUSINESS:idx:keys': 20,
  }
  t.same((await keysOf(server)).sort(), Object.keys(lifetimes).sort())
  for (const [key, minutes] of Object.entries(lifetimes)) {
    const left = await leftOf(server, key)
    t.ok(left > (minutes - 1) * MINUTE && left <= minutes * MINUTE, `${key} has ${left} ms left`)
  }
  for (const key of (await server.cli('KEYS', '*')).split('\n')) t.not(await leftOf(server, key), -1, key)
  await credentials.removeAll('BUSINESS', '1')
  t.same(await keysOf(server), [], 'and nothing of them is left')
})

t.test('a credential that one gateway ends is refused by another', { skip: withoutRedis }, async t => {
  const { server, store: one } = await fixture(t, PATIENCE)
  const other = await openConnected({ url: server.url }, PATIENCE)
  t.teardown(() => other.close())
  for (let i = 0; i < 100; i++) {
    const [here, there] = i % 2 === 0 ? [one, other] : [other, one]
    const { id } = await added({ store: here, clock })
    if ((await there.credentials.find('BUSINESS', id)) === null) t.fail('a new one is not seen')
    await (i % 4 < 2 ? here.credentials.remove('BUSINESS', '1', id) : here.credentials.removeAll('BUSINESS', '1'))
    if ((await there.credentials.find('BUSINESS', id)) !== null) t.fail('an ended one is found')
  }
})

t.test('two gateways give no place twice, and let a credential be succeeded once', { skip: withoutRedis }, async t => {
  const { server, store: one } = await fixture(t, PATIENCE)
  const other = await openConnected({ url: server.url }, PATIENCE)
  t.teardown(() => other.close())
  const both = Array.from({ length: 64 }, (_, i) => (i % 2 === 0 ? one : other))
  const stored = await Promise.all(both.map(store => store.credentials.add('BUSINESS', credential({ clock }), 10)))
  t.equal(stored.filter(Boolean).length, 10)
  const { id } = (await one.credentials.of('BUSINESS', '1'))[0]!
  const until = clock.now() + MINUTE / 2
  const succeeded = await Promise.all(
    both.map(store => store.credentials.succeed('BUSINESS', '1', id, credential({ clock }), until)),
  )
  t.equal(succeeded.filter(Boolean).length, 1)
  t.equal((await one.credentials.of('BUSINESS', '1')).length, 11)
})

t.test(
  'a place that a dead gateway has left behind is free when its record is gone',
  { skip: withoutRedis },
  async t => {
    const { server, store } = await fixture(t, PATIENCE)
    const { credentials } = store
    const { id: live } = await added({ store, clock })
    const record = await server.cli('GET', `svc:auth:BUSINESS:key:${live}`)
    const dead = 'svc:auth:BUSINESS:key:dead'
    // As far as one comes that dies before its last step.
    await server.cli('SET', dead, record.replace(/^l/, 'p'), 'PX', String(MINUTE))
    await server.cli('ZADD', OWNERS_LIST, String(clock.now() + 10 * MINUTE), '+dead')
    t.equal(await credentials.find('BUSINESS', 'dead'), null)
    t.equal(await credentials.remove('BUSINESS', '1', 'dead'), false)
    t.same(
      (await credentials.of('BUSINESS', '1')).map(({ id }) => id),
      [live],
    )
    t.equal(await credentials.add('BUSINESS', credential({ clock }), 2), false, 'it may yet be stored')
    await server.cli('DEL', dead)
    t.equal(await credentials.add('BUSINESS', credential({ clock }), 2), true)
    t.equal(await credentials.add('BUSINESS', credential({ clock }), 2), false)
    t.equal(await server.cli('ZSCORE', OWNERS_LIST, '+dead'), '')
  },
)

/** What of a succession is there when its gateway dies: at which step, and the state of the record of the next one. */
const DEAD: [string, { isInList: boolean; next: 'p' | 'l' | null }][] = [
  ['before the list', { isInList: false, next: 'p' }],
  ['in the list', { isInList: true, next: 'p' }],
  ['in the list, long ago', { isInList: true, next: null }],
  ['before the end of the old one', { isInList: true, next: 'l' }],
]

t.test(
  'a credential can be succeeded, and lives as long as before, when a gateway has died at it',
  { skip: withoutRedis },
  async t => {
    for (const [name, { isInList, next }] of DEAD) {
      const { server, store } = await fixture(t, PATIENCE)
      const { credentials } = store
      const old = await added({ store, clock }, '1', 10 * MINUTE)
      await added({ store, clock })
      const key = `svc:auth:BUSINESS:key:${old.id}`
      const record = await server.cli('GET', key)
      const dead = next === null ? null : record.replace(/^l/, next)
      if (dead !== null) await server.cli('SET', 'svc:auth:BUSINESS:key:dead', dead, 'PX', String(MINUTE))
      await server.cli('SET', key, record.replace(/}$/, ',"by":"dead"}'), 'KEEPTTL')
      if (isInList) {
        await server.cli('ZREM', OWNERS_LIST, `+${old.id}`)
        const end = String(old.expiresAt)
        await server.cli('ZADD', OWNERS_LIST, end, `-${old.id}`, end, '+dead')
      }
      t.match(
        (await credentials.of('BUSINESS', '1')).find(({ id }) => id === old.id),
        { isSucceeded: false },
        name,
      )
      t.ok((await leftOf(server, key)) > 9 * MINUTE, name)
      t.equal(await credentials.add('BUSINESS', credential({ clock }), 2), false, 'no place is free')
      const until = clock.now() + MINUTE
      const after = credential({ clock }, '1', 20 * MINUTE)
      t.equal(await credentials.succeed('BUSINESS', '1', old.id, after, until), true, name)
      t.equal(await credentials.find('BUSINESS', 'dead'), null, name)
      t.ok((await leftOf(server, key)) <= MINUTE, 'the old one ends now')
      t.equal((await credentials.of('BUSINESS', '1')).length, 3, name)
      t.equal(await credentials.add('BUSINESS', credential({ clock }), 2), false, name)
    }
  },
)

t.test('a Redis that is full stores no credential, and ends those that it has', { skip: withoutRedis }, async t => {
  const { server, store } = await fixture(t, PATIENCE)
  const { credentials } = store
  const [one, two, three] = [
    await added({ store, clock }),
    await added({ store, clock }),
    await added({ store, clock }),
  ]
  await server.cli('CONFIG', 'SET', 'maxmemory', '1')
  const refused = credential({ clock })
  t.equal(await outcomeOf(() => credentials.add('BUSINESS', refused, 100)), UNAVAILABLE)
  t.equal(
    await outcomeOf(() => credentials.succeed('BUSINESS', '1', two.id, refused, clock.now() + MINUTE)),
    UNAVAILABLE,
  )
  t.equal(await credentials.remove('BUSINESS', '1', one.id), true)
  t.same(new Set(await credentials.removeAll('BUSINESS', '1')), new Set([two.id, three.id]))
  for (const { id } of [one, two, three, refused]) t.equal(await credentials.find('BUSINESS', id), null)
  await server.cli('CONFIG', 'SET', 'maxmemory', '0')
  t.same(await credentials.of('BUSINESS', '1'), [])
  t.equal(await credentials.add('BUSINESS', refused, 1), true)
})

t.test('what another program wrote under the key of a credential counts as absent', { skip: withoutRedis }, async t => {
  const { server, store } = await fixture(t, PATIENCE)
  for (const text of [
    '',
    'l',
    'l{}',
    'null',
    '{"owner":"1","text":"x"}',
    'l{"owner":1,"text":"x"}',
    'x{"owner":"1"}',
  ]) {
    await server.cli('SET', 'svc:auth:BUSINESS:key:odd', text, 'PX', String(MINUTE))
    t.equal(await store.credentials.find('BUSINESS', 'odd'), null, text)
    t.equal(await store.credentials.remove('BUSINESS', '1', 'odd'), false, text)
  }
})

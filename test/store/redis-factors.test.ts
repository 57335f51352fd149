import t from 'tap'
import { withoutRedis } from '../support/redis-server.ts'
import { PATIENCE } from '../support/until.ts'
import { fixture, openConnected, outcomeOf, UNAVAILABLE } from './redis-trial.ts'

const KEY = 'svc:auth:BUSINESS:second-factor:staff:1'

t.test('a second factor is under the key of its login id, and has no end', { skip: withoutRedis }, async t => {
  const { server, store } = await fixture(t, PATIENCE)
  t.equal(await store.factors.replace('BUSINESS', 'staff:1', null, 'text'), true)
  t.equal(await server.cli('GET', KEY), 'text')
  t.equal(await server.cli('TTL', KEY), '-1')
  t.equal(await store.factors.replace('BUSINESS', 'staff:1', 'text', 'other'), true)
  t.equal(await server.cli('GET', KEY), 'other')
})

t.test('of two gateways one stores a second factor, and the other reads it', { skip: withoutRedis }, async t => {
  const { server, store: one } = await fixture(t, PATIENCE)
  const other = await openConnected({ url: server.url }, PATIENCE)
  t.teardown(() => other.close())
  for (let i = 0; i < 20; i++) {
    const from = i === 0 ? null : await one.factors.read('BUSINESS', '1')
    const both = [one, other].map((store, j) => store.factors.replace('BUSINESS', '1', from, `text ${i} ${j}`))
    const stored = await Promise.all(both)
    t.equal(stored.filter(Boolean).length, 1)
    const text = `text ${i} ${stored.indexOf(true)}`
    for (const store of [one, other]) t.equal(await store.factors.read('BUSINESS', '1'), text)
  }
})

t.test(
  'a Redis that does not answer is unavailable, and not without second factors',
  { skip: withoutRedis },
  async t => {
    const { server, store } = await fixture(t)
    await store.factors.replace('BUSINESS', '1', null, 'text')
    server.pause()
    t.equal(await outcomeOf(() => store.factors.read('BUSINESS', '1')), UNAVAILABLE)
    t.equal(await outcomeOf(() => store.factors.replace('BUSINESS', '1', 'text', 'other')), UNAVAILABLE)
  },
)

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import bcrypt from 'bcrypt'
import t from 'tap'
import { createFailureCost } from '../../src/account/failure-cost.ts'
import { createFileAccounts } from '../../src/account/file/source.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import { clockOf } from '../support/clock.ts'
import { PATIENCE } from '../support/until.ts'

const DAY = 86_400_000
const of = (cost: number): string => bcrypt.hashSync('x', 4).replace('$04$', `$${String(cost).padStart(2, '0')}$`)

/** A source that sees one account at a time, with a clock that the test moves; `restart` begins anew on the same store. */
async function openMemory(folder: string) {
  const time = { now: Date.UTC(2025, 0, 31, 12) }
  const clock = clockOf(() => time.now)
  const store = await openEmbeddedStore(folder, clock, PATIENCE)
  const restart = (type: 'BUSINESS' | 'CONSUMER' = 'BUSINESS') =>
    createFailureCost({}, { type, memory: store.attempts, clock })
  return { time, store, restart, failureCost: restart() }
}

t.test('failed logins with an accounts file cost as much as its most expensive hash', async t => {
  const path = join(t.testdir(), 'accounts.yaml')
  const write = (...costs: number[]): void => {
    const entries = costs.map((cost, i) => `  - { id: "${i}", username: u${i}, password: "${of(cost)}" }\n`)
    writeFileSync(path, entries.length === 0 ? 'accounts: []' : `accounts:\n${entries.join('')}`)
  }
  const source = createFileAccounts({ kind: 'file', path }, { error: () => undefined, info: () => undefined })
  const store = await openEmbeddedStore(
    t.testdir(),
    clockOf(() => 0),
    PATIENCE,
  )
  t.teardown(() => store.close())
  const failureCost = createFailureCost(source, { type: 'BUSINESS', memory: store.attempts, clock: clockOf(() => 0) })
  const costs: number[] = []
  for (const written of [[10, 14, 12], [4], []]) {
    write(...written)
    const found = await source.find('u0')
    costs.push(await failureCost(found?.passwordHash ?? null))
  }
  t.same(costs, [14, 4, 10])
})

t.test(
  'if accounts are read one at a time, failed logins cost the highest cost seen so far, and at least 10',
  async t => {
    const { failureCost, store } = await openMemory(t.testdir())
    t.teardown(() => store.close())
    const costs: number[] = []
    for (const found of [null, of(4), of(12), null, of(10), of(14), of(12), null]) costs.push(await failureCost(found))
    t.same(costs, [10, 10, 12, 12, 12, 14, 14, 14])
  },
)

t.test('a cost that was seen is remembered after a restart, and only on its side', async t => {
  const { failureCost, restart, store } = await openMemory(t.testdir())
  t.teardown(() => store.close())
  await failureCost(of(13))
  t.equal(await restart()(null), 13)
  t.equal(await restart('CONSUMER')(null), 10)
})

t.test('a cost expires ninety days after it was last seen', async t => {
  const { failureCost, store, time } = await openMemory(t.testdir())
  t.teardown(() => store.close())
  await failureCost(of(13))
  for (let i = 0; i < 4; i++) {
    time.now += 60 * DAY
    t.equal(await failureCost(of(13)), 13)
  }
  time.now += 89 * DAY
  t.equal(await failureCost(of(11)), 13)
  time.now += DAY
  t.equal(await failureCost(null), 10)
})

t.test('a cost above 15 is ignored for failed logins', async t => {
  const { failureCost, store } = await openMemory(t.testdir())
  t.teardown(() => store.close())
  t.equal(await failureCost(of(16)), 10)
  t.equal(await failureCost(of(31)), 10)
})

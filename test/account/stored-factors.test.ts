import t from 'tap'
import type { Account } from '../../src/account/source.ts'
import { createStoredFactors, hasSecondFactor, resetSecondFactor } from '../../src/account/stored-factors.ts'
import { changeBetween, versionsOf } from '../../src/account/version.ts'
import { Unavailable } from '../../src/base/refusal.ts'
import { memoryOfFactors } from './factor-memory.ts'

const SEALED = 'nameofthe_12.sealed'
const OTHER = 'nameother_12.sealed'
const NOW = Date.UTC(2026, 0, 31, 12)
const HASH = 'stands for the password'
const nothingToEnd = async () => undefined

const jane = (): Account => ({ id: 'a:1', username: 'jane', status: 'ACTIVE', extra: { roles: ['operator'] } })

function open() {
  const place = memoryOfFactors()
  const side = { type: 'BUSINESS', place } as const
  const factors = createStoredFactors(side)
  const found = async (account = jane()): Promise<Account> => {
    await factors.complete(account, HASH)
    return account
  }
  return { place, side, factors, found }
}

t.test('an account without a stored second factor has none, and the versions of its password and rights', async t => {
  const { found } = open()
  const { extra } = jane()
  t.same(await found(), { ...jane(), ...versionsOf({ passwordHash: HASH, extra }) })
})

t.test('a second factor is found with its account, with the versions that were announced', async t => {
  const { factors, found, side } = open()
  const before = await found()
  const { version, credentialVersion, store } = factors.updates.secondFactor(before, SEALED)
  t.equal(await store(), true)
  const after = await found()
  t.match(after, { secondFactor: SEALED, version, credentialVersion })
  t.not(after.version, before.version)
  t.equal(after.credentialVersion, before.credentialVersion, 'no key ends with it')
  t.equal(changeBetween(before.version!, after.version!), null, 'nor does a session')
  t.equal(await hasSecondFactor(side, 'a:1'), true)
  t.equal(await hasSecondFactor({ ...side, type: 'CONSUMER' }, 'a:1'), false)

  t.equal(await factors.updates.secondFactor(after, OTHER).store(), true)
  const replaced = await found()
  t.equal(changeBetween(after.version!, replaced.version!), 'account-changed')
  t.equal(await factors.updates.secondFactor(replaced, null).store(), true)
  const removed = await found()
  t.notOk('secondFactor' in removed)
  t.equal(changeBetween(replaced.version!, removed.version!), 'account-changed')
  t.equal(await hasSecondFactor(side, 'a:1'), false)
})

t.test('a second factor that has changed since its account was found is not overwritten', async t => {
  const { factors, found } = open()
  const [one, other] = [await found(), await found()]
  t.equal(await factors.updates.secondFactor(one, SEALED).store(), true)
  t.equal(await factors.updates.secondFactor(other, OTHER).store(), false)
  t.equal((await found()).secondFactor, SEALED)
  const stale = await found()
  t.equal(await factors.updates.secondFactor(await found(), null).store(), true)
  t.equal(await factors.updates.secondFactor(stale, OTHER).store(), false)
  t.notOk('secondFactor' in (await found()))
})

t.test(
  'a reset ends sessions and keys, also those from before the second factor, and a later factor stays after it',
  async t => {
    const { factors, found, side } = open()
    const first = await found()
    t.equal(await resetSecondFactor(side, 'a:1', NOW, nothingToEnd), false, 'no factor is stored')
    t.same(await found(), first)
    await factors.updates.secondFactor(first, SEALED).store()
    const second = await found()
    t.equal(await resetSecondFactor(side, 'a:1', NOW, nothingToEnd), true)
    t.equal(await resetSecondFactor(side, 'a:1', NOW, nothingToEnd), false)
    const reset = await found()
    t.match(reset, { secondFactorResetAt: '2026-01-31T12:00:00.000Z' })
    t.notOk('secondFactor' in reset)
    for (const earlier of [first, second]) {
      t.equal(changeBetween(earlier.version!, reset.version!), 'account-changed')
      t.not(earlier.credentialVersion, reset.credentialVersion)
    }
    await factors.updates.secondFactor(reset, OTHER).store()
    t.match(await found(), { secondFactor: OTHER, secondFactorResetAt: reset.secondFactorResetAt! })
    t.equal((await found()).credentialVersion, reset.credentialVersion)
  },
)

t.test('a reset wins over a change at the same time', async t => {
  const { factors, found, side, place } = open()
  await factors.updates.secondFactor(await found(), SEALED).store()
  const user = factors.updates.secondFactor(await found(), OTHER)
  place.beforeReplace = async () => {
    place.beforeReplace = null
    t.equal(await user.store(), true)
  }
  t.equal(await resetSecondFactor(side, 'a:1', NOW, nothingToEnd), true)
  t.notOk('secondFactor' in (await found()))
})

t.test('a reset whose sessions have not ended is repeated until they have', async t => {
  const { factors, found, side, place } = open()
  await factors.updates.secondFactor(await found(), SEALED).store()
  let ended = 0
  const end = async () => void ended++
  const fault = new Unavailable('the store of this test')
  await t.rejects(
    resetSecondFactor(side, 'a:1', NOW, () => Promise.reject(fault)),
    fault,
  )
  const reset = await found()
  t.match(reset, { secondFactorResetAt: '2026-01-31T12:00:00.000Z' })
  t.notOk('secondFactor' in reset)
  t.equal(await hasSecondFactor(side, 'a:1'), false)
  place.beforeReplace = () => Promise.reject(fault)
  await t.rejects(resetSecondFactor(side, 'a:1', NOW + 1, end), fault)
  place.beforeReplace = null
  t.equal(await resetSecondFactor(side, 'a:1', NOW + 1, end), true)
  t.equal(ended, 2)
  t.equal((await found()).version, reset.version, 'what began after the reset has the present version')
  t.equal(await resetSecondFactor(side, 'a:1', NOW + 1, end), false)
})

t.test('a place that fails, or has something else, is unavailable and never "no second factor"', async t => {
  const { factors, found, side, place } = open()
  const known = await found()
  for (const text of ['', 'null', '[]', '{', '"x"', '{"second_factor":1}', '{"reset_at":null}']) {
    place.texts.set('BUSINESS a:1', text)
    await t.rejects(found(), Unavailable, text)
    await t.rejects(hasSecondFactor(side, 'a:1'), Unavailable, text)
    await t.rejects(resetSecondFactor(side, 'a:1', NOW, nothingToEnd), Unavailable, text)
  }
  place.isAway = true
  await t.rejects(found(), Unavailable)
  await t.rejects(factors.updates.secondFactor(known, SEALED).store(), Unavailable)
  await t.rejects(resetSecondFactor(side, 'a:1', NOW, nothingToEnd), Unavailable)
})

t.test('passwords are not stored, and an account of another source has nothing stored', async t => {
  const { factors, found } = open()
  t.same([...factors.updates.can], ['second-factor'])
  const update = { password: 'x', changedAt: 0, mustChange: false }
  await t.rejects(factors.updates.password(await found(), update), /stores no password/)
  t.throws(() => factors.updates.secondFactor(jane(), SEALED), /not of this source/)
})

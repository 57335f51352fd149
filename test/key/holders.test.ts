import t from 'tap'
import type { Account } from '../../src/account/source.ts'
import { Unavailable } from '../../src/base/refusal.ts'
import { createHolders } from '../../src/key/holders.ts'
import type { StoredKey } from '../../src/key/record.ts'
import { createTestClock } from '../support/clock.ts'

/* Owners in a source that reports no changes. */

const RECHECK = 60_000

function open(account: Account | null) {
  const clock = createTestClock(1_000_000)
  const source = { account, asked: 0, isAway: false }
  const find = async (username: string) => {
    source.asked += 1
    if (source.isAway) throw new Unavailable('the accounts')
    return source.account?.username === username ? source.account : null
  }
  return { clock, source, holderOf: createHolders({ accounts: { find }, recheck: RECHECK, clock }) }
}

const account = (fields: Partial<Account> = {}): Account => ({
  id: '1',
  username: 'ann',
  status: 'ACTIVE',
  extra: {},
  credentialVersion: 'a',
  ...fields,
})

const key = (fields: Partial<StoredKey> = {}): StoredKey =>
  ({ id: 'k', owner: '1', username: 'ann', versions: ['a'], createdAt: 0, ...fields }) as StoredKey

t.test('an owner is requested once, and again when the answer is too old', async t => {
  const { clock, source, holderOf } = open(account())
  t.match(await Promise.all([holderOf(key()), holderOf(key({ id: 'other' }))]), [{ id: '1' }, { id: '1' }])
  t.equal(source.asked, 1)
  source.account = account({ status: 'INACTIVE' })
  clock.time += RECHECK - 1
  t.match(await holderOf(key()), { id: '1' })
  clock.time += 1
  t.equal(await holderOf(key()), null)
  t.equal(source.asked, 2)
})

t.test('an answer is used for no longer where the clock is set back', async t => {
  const { clock, source, holderOf } = open(account())
  await holderOf(key())
  source.account = null
  clock.setBack = 3_600_000
  clock.time += RECHECK - 1
  t.match(await holderOf(key()), { id: '1' })
  clock.time += 1
  t.equal(await holderOf(key()), null)
})

t.test('a key is refused whose owner is another one, or has another password', async t => {
  t.equal(await open(null).holderOf(key()), null)
  t.equal(await open(account({ id: '2' })).holderOf(key()), null)
  t.equal(await open(account({ credentialVersion: 'b' })).holderOf(key()), null)
})

t.test('the keys of a renamed owner are judged each by its own name', async t => {
  const { clock, source, holderOf } = open(account())
  const [old, made] = [key(), key({ id: 'new', username: 'anne' })]
  source.account = account({ username: 'anne' })
  for (let round = 0; round < 3; round++) {
    t.equal(await holderOf(old), null)
    t.match(await holderOf(made), { id: '1' })
    clock.time += RECHECK / 2
  }
  t.equal(source.asked, 4)
})

t.test('a name that another account has taken over opens nothing for its former owner', async t => {
  const { source, holderOf } = open(account({ id: '2' }))
  t.match(await holderOf(key({ owner: '2' })), { id: '2' })
  t.equal(await holderOf(key()), null)
  t.equal(source.asked, 1)
})

t.test('a source that fails is no missing owner', async t => {
  const { source, holderOf } = open(account())
  source.isAway = true
  await t.rejects(Promise.resolve(holderOf(key())), Unavailable)
  source.isAway = false
  t.match(await holderOf(key()), { id: '1' })
})

t.test('a key that was made after a reset is not judged by the account from before', async t => {
  const { clock, source, holderOf } = open(account())
  await holderOf(key())
  clock.time += 1000
  source.account = account({ credentialVersion: 'b' })
  const made = key({ id: 'new', versions: ['b'], createdAt: clock.time })
  t.match(await holderOf(made), { id: '1' })
  t.equal(source.asked, 2)
  t.equal(await holderOf(key()), null, 'and the key from before has ended')
  t.equal(source.asked, 2)
})

t.test('nor by an answer that was under way when it was made', async t => {
  const clock = createTestClock(1_000_000)
  const answers: ((account: Account) => void)[] = []
  const find = () => new Promise<Account>(resolve => answers.push(resolve))
  const holderOf = createHolders({ accounts: { find }, recheck: RECHECK, clock })
  const before = holderOf(key())
  clock.time += 1000
  const made = holderOf(key({ id: 'new', versions: ['b'], createdAt: clock.time }))
  answers.shift()!(account())
  t.match(await before, { id: '1' })
  await new Promise(setImmediate)
  clock.time += 1000
  answers.shift()!(account({ credentialVersion: 'b' }))
  t.match(await made, { id: '1' })
  t.equal(answers.length, 0)
})

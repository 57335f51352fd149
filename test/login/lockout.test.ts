import t from 'tap'
import { DAY } from '../../src/base/clock.ts'
import { Unavailable } from '../../src/base/refusal.ts'
import { loginIdOf } from '../../src/login/identity/login-id.ts'
import { createLockout, withoutUnknownNames } from '../../src/login/protection/lockout.ts'
import type { LockoutOptions } from '../../src/login/protection/lockout-counters.ts'
import { account, openLoginFixture, PASSWORD, reasonOf, refusalOf, sourceOf } from '../support/login-fixture.ts'
import { until } from '../support/until.ts'

const NAMES = [
  ['that exists', 'admin'],
  ['without an account', 'unknown'],
] as const

for (const [which, name] of NAMES) {
  t.test(`a name ${which} is locked by five failures, in any case, for 300 seconds`, async t => {
    const fixture = await openLoginFixture()
    t.teardown(fixture.close)
    for (let i = 0; i < 5; i++) {
      t.equal(await fixture.attempt(i % 2 === 0 ? name : name.toUpperCase(), 'wrong'), 'WRONG_CREDENTIALS')
    }
    fixture.time.now += 100_000
    const before = { ...fixture.worked }
    const refusal = await refusalOf(fixture.login.login(await fixture.credentials(name, PASSWORD)))
    t.match(refusal, { reason: 'DISABLED', data: { disable_time: 200 } })
    t.same(fixture.worked, before, 'a locked name costs no arithmetic')
    fixture.time.now += 200_000
    t.equal(await fixture.attempt(name, 'wrong'), 'WRONG_CREDENTIALS')
  })

  t.test(`failures of a name ${which} expire after the window`, async t => {
    const fixture = await openLoginFixture()
    t.teardown(fixture.close)
    for (let i = 0; i < 4; i++) await fixture.attempt(name, 'wrong')
    fixture.time.now += 300_001
    for (let i = 0; i < 4; i++) t.equal(await fixture.attempt(name, 'wrong'), 'WRONG_CREDENTIALS')
    t.equal(await fixture.attempt(name, 'wrong'), 'WRONG_CREDENTIALS')
    t.equal(await fixture.attempt(name, 'wrong'), 'DISABLED')
  })
}

for (const [what, password] of [
  ['are no ciphertext', 'zz'],
  ['are empty', ''],
  ['are encrypted for another key', '04'.padEnd(220, 'a')],
] as const) {
  t.test(`passwords that ${what} lock a name and an address like wrong ones`, async t => {
    const fixture = await openLoginFixture({ lockout: { address_failures: 6 } })
    t.teardown(fixture.close)
    for (let i = 0; i < 5; i++) t.equal(await fixture.attempt('admin', '', { password }), 'WRONG_CREDENTIALS')
    t.equal(await fixture.attempt('admin', PASSWORD), 'DISABLED')
    t.equal(await fixture.attempt('unknown', '', { password }), 'WRONG_CREDENTIALS')
    t.equal(await fixture.attempt('other', PASSWORD), 'TOO_MANY_ATTEMPTS')
  })
}

t.test('a lockout disables the login id, and only that one', async t => {
  const fixture = await openLoginFixture({ accounts: [account('Admin'), account('other')] })
  t.teardown(fixture.close)
  for (let i = 0; i < 5; i++) await fixture.attempt('admin', 'wrong')
  t.equal(await fixture.side.getDisableTime('id-admin'), 300)
  t.notOk(await fixture.side.isDisable('id-other'))
  t.equal(await fixture.attempt('other', PASSWORD), 'granted')
})

t.test('a success deletes the failures of the name', async t => {
  const fixture = await openLoginFixture()
  t.teardown(fixture.close)
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 4; i++) t.equal(await fixture.attempt('admin', 'wrong'), 'WRONG_CREDENTIALS')
    t.equal(await fixture.attempt('admin', PASSWORD), 'granted')
  }
})

t.test('untying the id unlocks the name, with five attempts again', async t => {
  const fixture = await openLoginFixture()
  t.teardown(fixture.close)
  for (let i = 0; i < 5; i++) await fixture.attempt('admin', 'wrong')
  t.equal(await fixture.attempt('admin', PASSWORD), 'DISABLED')
  await fixture.side.untieDisable('id-admin', {})
  for (let i = 0; i < 4; i++) t.equal(await fixture.attempt('admin', 'wrong'), 'WRONG_CREDENTIALS')
  t.equal(await fixture.attempt('admin', PASSWORD), 'granted')
})

t.test('a lock that is to last longer than any disable lasts as long as the longest', async t => {
  const accounts = [account('ann'), account('Ann', { id: 'id-other' })]
  const find = async (name: string) => accounts.find(({ username }) => username === name) ?? null
  const source = { ...sourceOf(accounts), find }
  const fixture = await openLoginFixture({ source, lockout: { disable: 9999 * DAY } })
  t.teardown(fixture.close)
  for (let i = 0; i < 5; i++) t.equal(await fixture.attempt('ann', 'wrong'), 'WRONG_CREDENTIALS')
  for (const name of ['ann', 'Ann']) {
    const refusal = await refusalOf(fixture.login.login(await fixture.credentials(name, PASSWORD)))
    t.equal(refusal.reason, 'DISABLED', name)
  }
  t.equal(await fixture.side.getDisableTime('id-ann'), 3650 * 86_400)
})

t.test('untying one of two ids whose names differ in case alone leaves the other one locked', async t => {
  const accounts = [account('ann'), account('Ann', { id: 'id-other' })]
  const find = async (name: string) => accounts.find(({ username }) => username === name) ?? null
  for (const isTried of [false, true]) {
    const fixture = await openLoginFixture({ source: { ...sourceOf(accounts), find } })
    t.teardown(fixture.close)
    for (let i = 0; i < 5; i++) t.equal(await fixture.attempt('ann', 'wrong'), 'WRONG_CREDENTIALS')
    if (isTried) t.equal(await fixture.attempt('Ann', PASSWORD), 'DISABLED')
    await fixture.side.untieDisable('id-ann', {})
    for (let i = 0; i < 4; i++) t.equal(await fixture.attempt('ann', 'wrong'), 'WRONG_CREDENTIALS')
    t.equal(await fixture.attempt('ann', PASSWORD), 'granted')
    for (const password of ['wrong', PASSWORD]) t.equal(await fixture.attempt('Ann', password), 'DISABLED')
    await fixture.side.untieDisable('id-other', {})
    t.equal(await fixture.attempt('Ann', PASSWORD), 'granted')
    for (let i = 0; i < 5; i++) t.equal(await fixture.attempt('ann', 'wrong'), 'WRONG_CREDENTIALS')
    t.equal(await fixture.attempt('ann', PASSWORD), 'DISABLED', 'untied once, and locked again')
    fixture.time.now += 300_000
    for (const name of ['ann', 'Ann']) t.equal(await fixture.attempt(name, PASSWORD), 'granted')
  }
})

t.test("a lockout does not shorten an administrator's disable", async t => {
  const fixture = await openLoginFixture()
  t.teardown(fixture.close)
  await fixture.side.disable('id-admin', 86_400, {})
  for (let i = 0; i < 5; i++) await fixture.attempt('admin', 'wrong')
  t.equal(await fixture.side.getDisableTime('id-admin'), 86_400)
})

t.test('DISABLED is reported for an id that an administrator disabled only after the right password', async t => {
  const fixture = await openLoginFixture()
  t.teardown(fixture.close)
  await fixture.side.disable('id-admin', 60, {})
  t.equal(await fixture.attempt('admin', 'wrong'), 'WRONG_CREDENTIALS')
  const refusal = await refusalOf(fixture.login.login(await fixture.credentials('admin', PASSWORD)))
  t.match(refusal, { reason: 'DISABLED', data: { disable_time: 60 } })
})

t.test('of twenty simultaneous guesses only five are checked: a right one after them is refused', async t => {
  const fixture = await openLoginFixture()
  t.teardown(fixture.close)
  const guesses = await Promise.all(
    Array.from({ length: 20 }, (_, i) => fixture.credentials('admin', i === 19 ? PASSWORD : `guess ${i}`)),
  )
  const reasons = await Promise.all(guesses.map(guess => reasonOf(fixture.login.login(guess))))
  t.equal(reasons.filter(reason => reason === 'WRONG_CREDENTIALS').length, 5)
  t.equal(reasons.filter(reason => reason === 'DISABLED').length, 15)
  t.equal(fixture.worked.compared, 5)
})

t.test('simultaneous guesses in any number of workers are as few as in one', async t => {
  const fixture = await openLoginFixture()
  t.teardown(fixture.close)
  const workers = Array.from({ length: 8 }, fixture.openWorker)
  for (const [which, name] of NAMES) {
    fixture.worked.compared = 0
    const guesses = await Promise.all(Array.from({ length: 40 }, (_, i) => fixture.credentials(name, `guess ${i}`)))
    const reasons = await Promise.all(guesses.map((guess, i) => reasonOf(workers[i % 8]!.login(guess))))
    t.equal(fixture.worked.compared, 5, `a name ${which}`)
    t.equal(reasons.filter(reason => reason === 'WRONG_CREDENTIALS').length, 5)
    t.equal(reasons.filter(reason => reason === 'DISABLED').length, 35)
  }
})

t.test('simultaneous logins with the right password succeed in more workers than failures lock', async t => {
  const fixture = await openLoginFixture()
  t.teardown(fixture.close)
  for (let i = 0; i < 4; i++) await fixture.attempt('admin', 'wrong')
  const workers = Array.from({ length: 8 }, fixture.openWorker)
  const requests = await Promise.all(Array.from({ length: 24 }, () => fixture.credentials('admin', PASSWORD)))
  const reasons = await Promise.all(requests.map((request, i) => reasonOf(workers[i % 8]!.login(request))))
  t.same(new Set(reasons), new Set(['granted']))
  t.equal(await fixture.attempt('admin', 'wrong'), 'WRONG_CREDENTIALS')
  t.equal(await fixture.attempt('admin', PASSWORD), 'granted')
})

/** Milliseconds for which an attempt waits for others of its name, and a little more. */
const LONGER_THAN_A_WAIT = 5001

/** Whether an attempt has asked from now on if it may begin: then it knows how long it waits. */
function hasAsked({ store: { attempts } }: Awaited<ReturnType<typeof openLoginFixture>>): () => boolean {
  const begin = attempts.begin.bind(attempts)
  let asked = false
  attempts.begin = (...words) => {
    asked = true
    return begin(...words)
  }
  return () => asked
}

t.test('an attempt waits for those that could lock the name, for a limited time, and locks nothing by it', async t => {
  const fixture = await openLoginFixture({ lockout: { failures: 1 } })
  t.teardown(fixture.close)
  const requests = await Promise.all([1, 2].map(() => fixture.credentials('admin', PASSWORD)))
  let release = (): void => undefined
  fixture.faults.held = new Promise(resolve => {
    release = resolve
  })
  const first = reasonOf(fixture.openWorker().login(requests[0]!))
  while (fixture.worked.decrypted === 0) await new Promise(setImmediate)
  const isWaiting = hasAsked(fixture)
  const second = reasonOf(fixture.openWorker().login(requests[1]!))
  await until(isWaiting)
  fixture.time.now += LONGER_THAN_A_WAIT
  t.equal(await second, 'BUSY')
  t.equal(fixture.worked.decrypted, 1)
  release()
  t.equal(await first, 'granted')
  t.equal(await fixture.attempt('admin', PASSWORD), 'granted')
})

/** A login whose password waits in the middle of its verification, as in a worker that is about to be killed. */
async function heldLogin(fixture: Awaited<ReturnType<typeof openLoginFixture>>, password: string) {
  let release = (): void => undefined
  fixture.faults.held = new Promise(resolve => {
    release = resolve
  })
  const before = fixture.worked.decrypted
  const reason = reasonOf(fixture.openWorker().login(await fixture.credentials('admin', password)))
  while (fixture.worked.decrypted === before) await new Promise(setImmediate)
  fixture.faults.held = Promise.resolve()
  return { reason, release }
}

t.test('an attempt whose worker was killed counts for half a minute', async t => {
  const fixture = await openLoginFixture({ lockout: { failures: 2 } })
  t.teardown(fixture.close)
  const killed = [await heldLogin(fixture, 'guess'), await heldLogin(fixture, 'guess')]
  fixture.time.now += 30_000
  t.equal(await fixture.attempt('admin', 'wrong'), 'WRONG_CREDENTIALS')
  t.equal(await fixture.attempt('admin', PASSWORD), 'granted')
  for (const { release } of killed) release()
  await Promise.all(killed.map(({ reason }) => reason))
})

t.test('a verification that takes longer than others count it reveals nothing, and does not count', async t => {
  const fixture = await openLoginFixture({ lockout: { failures: 1 } })
  t.teardown(fixture.close)
  for (const password of ['wrong', PASSWORD]) {
    const { reason, release } = await heldLogin(fixture, password)
    fixture.time.now += 20_001
    release()
    t.equal(await reason, 'BUSY')
  }
  t.same(await fixture.store.sessions.tokens('BUSINESS', 'id-admin'), [])
  t.equal(await fixture.attempt('admin', PASSWORD), 'granted')
})

t.test('a name whose last failure could not lock it is locked by a later attempt', async t => {
  const fixture = await openLoginFixture({ lockout: { failures: 2 } })
  t.teardown(fixture.close)
  const { lockOut } = fixture.side
  fixture.side.lockOut = async () => {
    throw new Unavailable('the store')
  }
  t.equal(await fixture.attempt('admin', 'wrong'), 'WRONG_CREDENTIALS')
  t.equal(await fixture.attempt('admin', 'wrong'), 'UNAVAILABLE')
  fixture.side.lockOut = lockOut
  const request = await fixture.credentials('admin', PASSWORD)
  const isWaiting = hasAsked(fixture)
  const attempt = reasonOf(fixture.openWorker().login(request))
  await until(isWaiting)
  fixture.time.now += LONGER_THAN_A_WAIT
  t.equal(await attempt, 'DISABLED')
  t.ok(await fixture.side.isDisable('id-admin'))
  t.equal(await fixture.attempt('admin', PASSWORD), 'DISABLED')
})

t.test('a password that cannot be verified does not count', async t => {
  const fixture = await openLoginFixture({ accounts: [account('Admin'), account('other')], lockout: { failures: 1 } })
  t.teardown(fixture.close)
  fixture.faults.comparing = true
  for (let i = 0; i < 5; i++) t.equal(await fixture.attempt('admin', PASSWORD), 'UNAVAILABLE')
  fixture.faults.comparing = false
  t.equal(await fixture.attempt('admin', PASSWORD), 'granted')
})

t.test('many simultaneous logins of one name with the right password all succeed', async t => {
  const fixture = await openLoginFixture()
  t.teardown(fixture.close)
  const requests = await Promise.all(Array.from({ length: 20 }, () => fixture.credentials('admin', PASSWORD)))
  const reasons = await Promise.all(requests.map(request => reasonOf(fixture.login.login(request))))
  t.same(new Set(reasons), new Set(['granted']))
})

t.test('spellings of one account share one count', async t => {
  const found = account('Admin')
  const source = { find: async () => found, close: async () => {} }
  const fixture = await openLoginFixture({ source })
  t.teardown(fixture.close)
  for (const name of ['admin', 'ádmin', 'Admin ', 'admin@example.org', 'ADMIN']) await fixture.attempt(name, 'wrong')
  t.equal(await fixture.attempt('admín', PASSWORD), 'DISABLED')
})

t.test('events have the login ids of a provider that is named unknown, and none of unknown names', async t => {
  const published: (string | null)[] = []
  const publish = withoutUnknownNames(({ login_id }) => void published.push(login_id))
  const { subject } = createLockout({ side: { type: 'BUSINESS' } } as LockoutOptions)
  const ids = [loginIdOf('unknown', '7c1f'), loginIdOf('unknown', 'a'.repeat(32)), subject('a name', null).loginId]
  for (const login_id of ids) publish({ event: 'disable', type: 'BUSINESS', login_id })
  t.same(published, [...ids.slice(0, 2), null])
})

t.test('wrong captchas do not count as failures of a name', async t => {
  const fixture = await openLoginFixture()
  t.teardown(fixture.close)
  for (let i = 0; i < 10; i++) await fixture.attempt('admin', 'wrong', { captcha_value: 'no' })
  t.equal(await fixture.attempt('admin', PASSWORD), 'granted')
})

t.test('an address with thirty failures has to wait, whatever the names; others do not', async t => {
  const fixture = await openLoginFixture()
  t.teardown(fixture.close)
  for (let i = 0; i < 30; i++) t.equal(await fixture.attempt(`name ${i}`, 'wrong'), 'WRONG_CREDENTIALS')
  fixture.time.now += 60_000
  const request = await fixture.credentials('admin', PASSWORD)
  const refusal = await refusalOf(fixture.login.login(request))
  t.match(refusal, { reason: 'TOO_MANY_ATTEMPTS', params: { seconds: 840 }, retryAfter: 840 })
  t.equal(await fixture.attempt('admin', PASSWORD, { address: '192.0.2.2' }), 'granted')
  t.equal(await fixture.attempt('admin', PASSWORD, { address: '::ffff:192.0.2.1' }), 'TOO_MANY_ATTEMPTS')
  fixture.time.now += 840_000
  t.equal(await fixture.attempt('admin', PASSWORD), 'granted', 'and a success before did not count')
})

t.test('a success does not delete the failures of an address', async t => {
  const fixture = await openLoginFixture({ lockout: { address_failures: 3 } })
  t.teardown(fixture.close)
  for (let i = 0; i < 2; i++) await fixture.attempt(`name ${i}`, 'wrong')
  t.equal(await fixture.attempt('admin', PASSWORD), 'granted')
  await fixture.attempt('name 3', 'wrong')
  t.equal(await fixture.attempt('admin', PASSWORD), 'TOO_MANY_ATTEMPTS')
})

t.test('of simultaneous guesses from an address no more are answered than one after the other', async t => {
  const fixture = await openLoginFixture({ lockout: { address_failures: 3 } })
  t.teardown(fixture.close)
  const guesses = await Promise.all(Array.from({ length: 12 }, (_, i) => fixture.credentials(`name ${i}`, 'wrong')))
  const reasons = await Promise.all(guesses.map(guess => reasonOf(fixture.login.login(guess))))
  t.equal(reasons.filter(reason => reason === 'WRONG_CREDENTIALS').length, 3)
  t.equal(reasons.filter(reason => reason === 'TOO_MANY_ATTEMPTS').length, 9)
})

t.test('a right password is refused like a wrong one if its address reaches the limit meanwhile', async t => {
  const fixture = await openLoginFixture({ lockout: { address_failures: 3 } })
  t.teardown(fixture.close)
  const { reason, release } = await heldLogin(fixture, PASSWORD)
  for (let i = 0; i < 3; i++) t.equal(await fixture.attempt(`name ${i}`, 'wrong'), 'WRONG_CREDENTIALS')
  release()
  t.equal(await reason, 'TOO_MANY_ATTEMPTS')
  t.same(await fixture.store.sessions.tokens('BUSINESS', 'id-admin'), [])
})

t.test('the failures of an address are forgotten as soon where the clock is set back', async t => {
  const fixture = await openLoginFixture({ lockout: { address_failures: 3, address_window: 60_000 } })
  t.teardown(fixture.close)
  for (let i = 0; i < 3; i++) await fixture.attempt(`name-${i}`, 'wrong')
  t.equal(await fixture.attempt('admin', PASSWORD), 'TOO_MANY_ATTEMPTS')
  fixture.time.now -= 3_600_000
  t.equal(await fixture.attempt('admin', PASSWORD), 'granted')
  for (let i = 0; i < 3; i++) t.equal(await fixture.attempt(`name-${i}`, 'wrong'), 'WRONG_CREDENTIALS')
  t.equal(await fixture.attempt('admin', PASSWORD), 'TOO_MANY_ATTEMPTS')
})

for (const [which, name] of NAMES) {
  t.test(`a name ${which} stays locked no longer where the clock is set back`, async t => {
    const fixture = await openLoginFixture()
    t.teardown(fixture.close)
    for (let i = 0; i < 5; i++) await fixture.attempt(name, 'wrong')
    t.equal(await fixture.attempt(name, 'wrong'), 'DISABLED')
    fixture.time.now -= DAY
    t.equal(await fixture.side.getDisableTime('id-admin'), -1)
    for (let i = 0; i < 5; i++) t.equal(await fixture.attempt(name, 'wrong'), 'WRONG_CREDENTIALS')
    const { data } = await refusalOf(fixture.login.login(await fixture.credentials(name, PASSWORD)))
    t.match(data, { disable_time: 300 })
  })
}

t.test(
  'the second of two ids with one name is locked with it also where the clock was set back after its own lock',
  async t => {
    const source = sourceOf([account('Ann', { id: 'id-1' }), account('ann', { id: 'id-2' })])
    const find = source.find
    let id = 'id-1'
    const fixture = await openLoginFixture({
      source: { ...source, find: async name => ({ ...(await find(name))!, id }) },
    })
    t.teardown(fixture.close)
    for (let i = 0; i < 5; i++) await fixture.attempt('ann', 'wrong')
    fixture.time.now -= DAY
    id = 'id-2'
    for (let i = 0; i < 5; i++) t.equal(await fixture.attempt('ann', 'wrong'), 'WRONG_CREDENTIALS')
    id = 'id-1'
    t.equal(await fixture.attempt('ann', PASSWORD), 'DISABLED')
  },
)

t.test('failures of a name count no longer than their window where the clock is set back', async t => {
  const fixture = await openLoginFixture()
  t.teardown(fixture.close)
  for (let i = 0; i < 4; i++) await fixture.attempt('admin', 'wrong')
  fixture.time.now -= DAY
  for (let i = 0; i < 4; i++) t.equal(await fixture.attempt('admin', 'wrong'), 'WRONG_CREDENTIALS')
  t.equal(await fixture.attempt('admin', PASSWORD), 'granted')
})

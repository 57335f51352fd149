import t, { type Test } from 'tap'
import { readAccount } from '../../src/account/answered-account.ts'
import { Refusal } from '../../src/base/refusal.ts'
import { sealingKey } from '../../src/second-factor/sealed.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import { openRedisStore } from '../../src/store/redis/redis.ts'
import type { Store } from '../../src/store/store.ts'
import { clockOf } from '../support/clock.ts'
import { inFullWidth } from '../support/full-width.ts'
import { account } from '../support/login-fixture.ts'
import { startRedis, withoutRedis } from '../support/redis-server.ts'
import { PATIENCE } from '../support/until.ts'
import { codeAt, MINUTE, openFactorFixture, wrongCode } from './factor-fixture.ts'

type Fixture = Awaited<ReturnType<typeof openFactorFixture>>

/** `accepted`, or the reason of the refusal. */
async function outcomeOf(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt
    return 'accepted'
  } catch (fault) {
    if (fault instanceof Refusal) return fault.reason
    throw fault
  }
}

const verify = async ({ factors, find }: Pick<Fixture, 'factors' | 'find'>, code: string, name = 'ann') =>
  outcomeOf(factors.verify(await find(name), code))

t.test('nothing changes before a code proves that an app has the secret', async t => {
  const fixture = await openFactorFixture(t)
  const { factors, find, time } = fixture
  const ann = await find()
  const { secret, sealed, uri, qr } = await factors.create(ann)
  t.match(uri, `secret=${secret}`)
  t.match(qr, /^data:image\/png;base64,/)
  t.notOk(sealed.includes(secret))
  t.equal((await find()).secondFactor, undefined)
  t.equal(await outcomeOf(factors.confirm(ann, sealed, wrongCode(secret, time.now))), 'WRONG_CODE')
  t.equal(await outcomeOf(factors.confirm(ann, sealed, '')), 'WRONG_CODE')
  t.notOk(factors.isAsked(await find()))
  const { recoveryCodes, update } = await factors.confirm(ann, sealed, codeAt(secret, time.now))
  t.notOk(factors.isAsked(await find()), 'not before it is stored')
  t.ok(await update.store())
  const stored = await find()
  t.ok(factors.isAsked(stored))
  t.equal(stored.version, update.version)
  t.equal(recoveryCodes.length, 10)
  t.equal(factors.recoveryCodesLeft(stored), 10)
  t.equal(factors.recoveryCodesLeft(await find('bob')), null)
  t.equal(await verify(fixture, codeAt(secret, time.now)), 'WRONG_CODE', 'the code that confirmed is used')
  time.now += 30_000
  t.equal(await verify(fixture, codeAt(secret, time.now)), 'accepted')
})

t.test('a set-up is good for its account, and for the second factor that it had then', async t => {
  const { factors, find, time, enrol } = await openFactorFixture(t)
  const [ann, bob] = [await find(), await find('bob')]
  const { secret, sealed } = await factors.create(ann)
  t.equal(await outcomeOf(factors.confirm(bob, sealed, codeAt(secret, time.now))), 'SETUP_GONE')
  await enrol()
  t.equal(await outcomeOf(factors.confirm(await find(), sealed, codeAt(secret, time.now))), 'SETUP_GONE')
  const stale = await factors.confirm(ann, sealed, codeAt(secret, time.now))
  t.notOk(await stale.update.store(), 'what was read before is not replaced')
})

t.test('a code works once, also a neighbour of its step', async t => {
  const fixture = await openFactorFixture(t)
  const { time } = fixture
  const { secret } = await fixture.enrol()
  t.equal(await verify(fixture, codeAt(secret, time.now, 1)), 'accepted', 'the clock of the telephone is ahead')
  for (const steps of [1, 0, -1]) t.equal(await verify(fixture, codeAt(secret, time.now, steps)), 'WRONG_CODE')
  time.now += 60_000
  const code = codeAt(secret, time.now)
  t.equal(await verify(fixture, ` ${code.slice(0, 3)} ${code.slice(3)} `), 'accepted', 'in two groups, as apps show it')
  time.now += 60_000
  t.equal(await verify(fixture, inFullWidth(codeAt(secret, time.now))), 'accepted', 'in full width')
})

t.test('who is asked, and who must have one, is as the settings say', async t => {
  const rows = [
    { for: 'off', asked: false, required: [false, false] },
    { for: 'optional', asked: true, required: [false, false] },
    { for: 'all', asked: true, required: [true, true] },
    { for: ['SUPER_ADMIN', 'auditor'], asked: true, required: [true, false] },
  ] as const
  for (const row of rows) {
    const { factors, find, enrol, stored } = await openFactorFixture(t, { settings: { for: row.for } })
    stored.set('ann', account('ann', { extra: { roles: ['operator', 'auditor'], permissions: [] } }))
    t.strictSame([factors.isRequired(await find()), factors.isRequired(await find('bob'))], row.required)
    t.notOk(factors.isAsked(await find()))
    t.equal(factors.canSetUp, row.for !== 'off')
    await enrol()
    t.equal(factors.isAsked(await find()), row.asked, String(row.for))
  }
})

t.test('who has more roles than a session holds may have one that demands a second factor', async t => {
  const roles = ['auditor', ...Array.from({ length: 200 }, (_, i) => `a role with number ${i}`)]
  // What users write of themselves, until the roles are the largest column of all.
  const fields = { id: '1', username: 'ann', password: '', status: 'ACTIVE', roles, story: 'x'.repeat(4000) }
  const ann = readAccount(Object.entries(fields), 'http')
  t.same(ann.leftOut?.columns, ['roles'])
  for (const [wanted, isRequired] of [
    [['auditor'], true],
    ['optional', false],
  ] as const) {
    const { factors } = await openFactorFixture(t, { settings: { for: wanted } })
    t.equal(factors.isRequired(ann), isRequired, String(wanted))
  }
})

t.test('five wrong codes lock the step, whatever takes the code, and the right code does not help then', async t => {
  const fixture = await openFactorFixture(t)
  const { factors, find, time } = fixture
  const { secret, recoveryCodes } = await fixture.enrol()
  const wrong = wrongCode(secret, time.now)
  const attempts = [
    verify(fixture, wrong),
    verify(fixture, '0000-0000-0000-0000'),
    verify(fixture, 'no code at all'),
    outcomeOf(factors.remove(await find(), wrong)),
    outcomeOf(factors.renewRecoveryCodes(await find(), wrong)),
  ]
  for (const attempt of attempts) t.equal(await attempt, 'WRONG_CODE')
  const pending = await factors.create(await find())
  const right = codeAt(secret, time.now)
  t.equal(await verify(fixture, right), 'DISABLED')
  t.equal(await verify(fixture, recoveryCodes[0]!), 'DISABLED')
  t.equal(await outcomeOf(factors.remove(await find(), right)), 'DISABLED')
  t.equal(await outcomeOf(factors.renewRecoveryCodes(await find(), right)), 'DISABLED')
  t.equal(await outcomeOf(factors.confirm(await find(), pending.sealed, codeAt(pending.secret, time.now))), 'DISABLED')
  const refusal = await factors.verify(await find(), right).catch(fault => fault)
  t.strictSame(refusal.data, { disable_time: 300 })
  t.equal(factors.recoveryCodesLeft(await find()), 10, 'a code that was not checked is not used')
  t.equal(await verify(fixture, '000000', 'bob'), 'NO_SECOND_FACTOR', 'others are not concerned')
  time.now += 5 * MINUTE
  t.equal(await verify(fixture, recoveryCodes[0]!), 'accepted')
})

t.test('guessing does not resume when the lock ends: each further wrong code locks again', async t => {
  const fixture = await openFactorFixture(t)
  const { time } = fixture
  const { secret } = await fixture.enrol()
  for (let i = 0; i < 5; i++) t.equal(await verify(fixture, wrongCode(secret, time.now)), 'WRONG_CODE')
  // Twice as long each time, and a day at most.
  for (const minutes of [5, 10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440]) {
    t.equal(await verify(fixture, codeAt(secret, time.now)), 'DISABLED')
    time.now += minutes * MINUTE - 1000
    t.equal(await verify(fixture, codeAt(secret, time.now)), 'DISABLED', `${minutes} minutes`)
    time.now += 1000
    t.equal(await verify(fixture, wrongCode(secret, time.now)), 'WRONG_CODE')
  }
  time.now += 1440 * MINUTE
  const { wrongCodes } = await fixture.factors.verify(await fixture.find(), codeAt(secret, time.now))
  t.equal(wrongCodes, 16, 'each that was checked')
  for (let i = 0; i < 5; i++) t.equal(await verify(fixture, wrongCode(secret, time.now)), 'WRONG_CODE')
  time.now += 5 * MINUTE
  t.equal(await verify(fixture, codeAt(secret, time.now)), 'accepted', 'a right code has reset the time')
})

t.test(
  'the step stays locked no longer where the clock is set back, and the next wrong code locks it again',
  async t => {
    const fixture = await openFactorFixture(t)
    const { time } = fixture
    const { secret } = await fixture.enrol()
    for (let i = 0; i < 5; i++) await verify(fixture, wrongCode(secret, time.now))
    t.equal(await verify(fixture, wrongCode(secret, time.now)), 'DISABLED')
    time.now -= 1440 * MINUTE
    t.equal(await verify(fixture, wrongCode(secret, time.now)), 'WRONG_CODE')
    t.equal(await verify(fixture, wrongCode(secret, time.now)), 'DISABLED')
    time.now += 10 * MINUTE
    t.equal(await verify(fixture, wrongCode(secret, time.now)), 'WRONG_CODE')
  },
)

t.test('a recovery code works once, and the session of its user stays', async t => {
  const fixture = await openFactorFixture(t)
  const { factors, find } = fixture
  const { recoveryCodes } = await fixture.enrol()
  const before = await find()
  t.equal(await verify(fixture, recoveryCodes[3]!.toLowerCase().replaceAll('-', ' ')), 'accepted')
  const after = await find()
  t.not(after.secondFactor, before.secondFactor)
  t.equal(after.version, before.version)
  t.equal(factors.recoveryCodesLeft(after), 9)
  t.equal(await verify(fixture, recoveryCodes[3]!), 'WRONG_CODE')
  t.equal(
    await outcomeOf(factors.verify(before, recoveryCodes[3]!)),
    'WRONG_CODE',
    'nor for who read the account before',
  )
  t.equal(await outcomeOf(factors.verify(before, recoveryCodes[4]!)), 'accepted', 'what changed meanwhile is kept')
  t.equal(factors.recoveryCodesLeft(await find()), 8)
})

t.test('new recovery codes make the older ones void, and end no session', async t => {
  const fixture = await openFactorFixture(t)
  const { factors, find } = fixture
  const { recoveryCodes } = await fixture.enrol()
  const { version } = await find()
  const renewed = await factors.renewRecoveryCodes(await find(), recoveryCodes[0]!)
  t.ok(await renewed.update.store())
  t.equal((await find()).version, version)
  t.equal(factors.recoveryCodesLeft(await find()), 10)
  t.equal(await verify(fixture, recoveryCodes[1]!), 'WRONG_CODE')
  t.equal(await verify(fixture, renewed.recoveryCodes[1]!), 'accepted')
})

t.test('a login needs no code of a removed second factor, and none is removed where it is required', async t => {
  const fixture = await openFactorFixture(t)
  const { factors, find, time } = fixture
  const { secret } = await fixture.enrol()
  const { update } = await factors.remove(await find(), codeAt(secret, time.now))
  t.ok(await update.store())
  t.notOk(factors.isAsked(await find()))
  t.equal((await find()).version, update.version)

  const strict = await openFactorFixture(t, { settings: { for: 'all' } })
  const { secret: other } = await strict.enrol()
  t.equal(await outcomeOf(strict.factors.remove(await strict.find(), codeAt(other, time.now))), 'FACTOR_REQUIRED')
})

t.test(
  'a second factor with another key, or of another account, is refused and logged, and never counts as none',
  async t => {
    const fixture = await openFactorFixture(t)
    const { secret } = await fixture.enrol()
    const { time, stored } = fixture
    const others = fixture.worker({ key: sealingKey('ab'.repeat(32), '') })
    stored.set('bob', account('bob', { secondFactor: stored.get('ann')!.secondFactor! }))
    for (const [name, worker] of [
      ['ann', others],
      ['bob', fixture],
    ] as const) {
      const found = await worker.find(name)
      t.ok(worker.factors.isAsked(found))
      const code = codeAt(secret, time.now)
      t.equal(await outcomeOf(worker.factors.verify(found, code)), 'FACTOR_UNREADABLE')
      t.equal(await outcomeOf(worker.factors.remove(found, code)), 'FACTOR_UNREADABLE')
      t.equal(worker.factors.recoveryCodesLeft(found), null)
      t.match(fixture.logged.splice(0), [
        [{ type: 'BUSINESS', login_id: `id-${name}` }, /cannot be opened: login\.second_factor\.key/],
        [{ login_id: `id-${name}` }],
      ])
    }
  },
)

interface Kind {
  name: string
  skip: string | false
  open(t: Test): Promise<Store[]>
}

/** As that of the fixture: a store says in its time when a window ends. */
const clock = clockOf(() => Date.UTC(2026, 0, 31, 12))

/** Each opens the store as two workers do. */
const KINDS: readonly Kind[] = [
  {
    name: 'embedded',
    skip: false,
    async open(t) {
      const folder = t.testdir()
      const stores = await Promise.all([
        openEmbeddedStore(folder, clock, PATIENCE),
        openEmbeddedStore(folder, clock, PATIENCE),
      ])
      t.teardown(() => Promise.all(stores.map(store => store.close())))
      return stores
    },
  },
  {
    name: 'Redis',
    skip: withoutRedis,
    async open(t) {
      const redis = await startRedis()
      const settings = { kind: 'redis' as const, prefix: 'f', timeout: PATIENCE, redis: { url: redis.url } }
      const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
      const open = () => openRedisStore(settings as never, clock, log as never)
      const stores = await Promise.all([open(), open()])
      t.teardown(async () => {
        await Promise.all(stores.map(store => store.close()))
        await redis.stop()
      })
      return stores
    },
  },
]

for (const { name, skip, open } of KINDS) {
  t.test(`two workers, ${name}`, { skip }, async t => {
    const stores = await open(t)

    t.test('of 64 uses of one code at once, one succeeds', async t => {
      const fixture = await openFactorFixture(t, { stores })
      const { secret } = await fixture.enrol()
      const code = codeAt(secret, fixture.time.now)
      const uses = Array.from({ length: 64 }, (_, i) => verify(i % 2 === 0 ? fixture : fixture.second, code))
      const outcomes = await Promise.all(uses)
      t.equal(outcomes.filter(outcome => outcome === 'accepted').length, 1)
    })

    t.test('wrong codes of a factor that an administrator reset do not lock the next one', async t => {
      const fixture = await openFactorFixture(t, { stores })
      const { factors, find, stored, time } = fixture
      stored.set('eve', account('eve'))
      const { secret } = await fixture.enrol('eve')
      for (let i = 0; i < 5; i++) t.equal(await verify(fixture, wrongCode(secret, time.now), 'eve'), 'WRONG_CODE')
      const pending = await factors.create(await find('eve'))
      t.equal(await verify(fixture.second, codeAt(secret, time.now), 'eve'), 'DISABLED')
      const ofPending = codeAt(pending.secret, time.now)
      t.equal(await outcomeOf(factors.confirm(await find('eve'), pending.sealed, ofPending)), 'DISABLED')

      stored.set('eve', account('eve'))
      const next = await fixture.enrol('eve')
      t.equal(await verify(fixture.second, codeAt(next.secret, time.now), 'eve'), 'accepted')
      for (let i = 0; i < 5; i++) t.equal(await verify(fixture, wrongCode(next.secret, time.now), 'eve'), 'WRONG_CODE')
      t.equal(await verify(fixture.second, codeAt(next.secret, time.now, 1), 'eve'), 'DISABLED', 'its own do')
    })

    t.test('of 64 guesses at once no more than five are checked', async t => {
      const fixture = await openFactorFixture(t, { stores })
      await fixture.enrol('bob')
      const uses = Array.from({ length: 64 }, (_, i) => verify(i % 2 === 0 ? fixture : fixture.second, 'wrong', 'bob'))
      const outcomes = await Promise.all(uses)
      t.equal(outcomes.filter(outcome => outcome === 'WRONG_CODE').length, 5)
      t.equal(outcomes.filter(outcome => outcome === 'DISABLED').length, 59)
    })

    for (const compares of [true, false]) {
      const source = compares ? 'a source that compares' : 'a source that does not compare'
      t.test(`of 16 uses of one recovery code at once, one succeeds, with ${source}`, async t => {
        const fixture = await openFactorFixture(t, { stores, compares })
        const { factors, second, find, enrol, stored } = fixture
        // Another login id for each, because the attempts before have locked the other ones.
        stored.set('ann', account('ann', { id: `id-${source}` }))
        const { recoveryCodes } = await enrol()
        const ann = await find()
        const uses = Array.from({ length: 16 }, (_, i) => (i % 2 === 0 ? factors : second.factors))
        const outcomes = await Promise.all(uses.map(one => outcomeOf(one.verify(ann, recoveryCodes[0]!))))
        t.equal(outcomes.filter(outcome => outcome === 'accepted').length, 1)
        t.equal(factors.recoveryCodesLeft(await find()), 9)
      })
    }

    t.test('two recovery codes at once are both used up', async t => {
      const fixture = await openFactorFixture(t, { stores })
      const { factors, second, find, enrol, stored } = fixture
      stored.set('ann', account('ann', { id: 'id-two' }))
      const { recoveryCodes } = await enrol()
      const ann = await find()
      const uses = [factors.verify(ann, recoveryCodes[0]!), second.factors.verify(ann, recoveryCodes[1]!)]
      t.strictSame(await Promise.all(uses.map(outcomeOf)), ['accepted', 'accepted'])
      t.equal(factors.recoveryCodesLeft(await find()), 8)
    })
  })
}

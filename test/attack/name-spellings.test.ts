import t from 'tap'
import { account, openLoginFixture, PASSWORD, refusalOf } from '../support/login-fixture.ts'

/*
 * An attacker who guesses the password of `ann` where the source of the accounts distinguishes `ann` from `ANN`, as most databases
 * and backends do. Names count in any case, so the attacker tries to end the count or the lock of one spelling by another.
 */

/** `ANN` is the attacker's own account, if there is one. */
async function open(t: { teardown(close: () => Promise<void>): void }, others: string[] = []) {
  const accounts = ['ann', ...others].map(name => account(name, { id: `id-of-${name}` }))
  const find = async (name: string) => accounts.find(({ username }) => username === name) ?? null
  const fixture = await openLoginFixture({ source: { find, highestCost: () => 4, close: async () => {} } })
  t.teardown(fixture.close)
  const guess = async (name: string, times: number): Promise<string[]> => {
    const reasons: string[] = []
    for (let i = 0; i < times; i++) reasons.push(await fixture.attempt(name, 'a guess'))
    return reasons
  }
  return { ...fixture, guess }
}

const WRONG = 'WRONG_CREDENTIALS'

t.test('a failure of another spelling does not give back the guesses of an account', async t => {
  const fixture = await open(t)
  t.same(await fixture.guess('ann', 4), Array(4).fill(WRONG))
  t.same(await fixture.guess('ANN', 1), [WRONG])
  t.same(await fixture.guess('ann', 2), ['DISABLED', 'DISABLED'])
  t.equal(fixture.worked.compared, 5)
  t.equal(await fixture.attempt('ann', PASSWORD), 'DISABLED')
})

t.test('an attempt with another spelling does not end the lock of an account', async t => {
  const fixture = await open(t)
  await fixture.guess('ann', 5)
  fixture.time.now += 100_000
  t.same(await fixture.guess('ANN', 3), Array(3).fill('DISABLED'))
  t.same(await fixture.guess('Ann', 3), Array(3).fill('DISABLED'))
  t.same(await fixture.guess('ann', 3), Array(3).fill('DISABLED'))
  t.equal(fixture.worked.compared, 5)
  fixture.time.now += 200_000
  t.equal(await fixture.attempt('ann', PASSWORD), 'granted', 'nor does it make the lock longer')
})

t.test('a login with an account of the attacker’s own does not give back the guesses of another account', async t => {
  const fixture = await open(t, ['ANN'])
  t.same(await fixture.guess('ann', 4), Array(4).fill(WRONG))
  t.equal(await fixture.attempt('ANN', PASSWORD), 'granted')
  t.same(await fixture.guess('ann', 2), [WRONG, 'DISABLED'])
  t.equal(await fixture.attempt('ann', PASSWORD), 'DISABLED')
})

t.test('the answers do not tell which spelling has an account', async t => {
  const fixture = await open(t)
  for (const names of [
    ['ann', 'ANN'],
    ['unknown', 'UNKNOWN'],
  ]) {
    const answers: unknown[] = []
    for (let i = 0; i < 8; i++) {
      const { reason, data, params } = await refusalOf(
        fixture.login.login(await fixture.credentials(names[i % 2]!, 'a guess')),
      )
      answers.push({ reason, data, params })
    }
    const locked = { reason: 'DISABLED', data: { disable_time: 300 }, params: { minutes: 5 } }
    t.match(answers, [...Array(5).fill({ reason: WRONG }), locked, locked, locked], names.join())
  }
})

t.test(
  'the answers do not tell which name has an account where the source ignores case, accents and spaces',
  async t => {
    const ann = account('Ann')
    const isAnn = (name: string) => ['ann', 'ánn'].includes(name.trim().normalize('NFKC').toLowerCase())
    const find = async (name: string) => (isAnn(name) ? ann : null)
    const fixture = await openLoginFixture({ source: { find, highestCost: () => 4, close: async () => {} } })
    t.teardown(fixture.close)
    for (const names of [
      ['ann', 'ANN ', 'Ánn', 'a\u0301nn', '\uff41nn', 'ann'],
      ['foo', 'FOO ', 'Fóo', 'fo\u0301o', '\uff46oo', 'foo'],
    ]) {
      const reasons: string[] = []
      for (const name of names) reasons.push(await fixture.attempt(name, 'a guess'))
      t.same(reasons, [...Array(5).fill(WRONG), 'DISABLED'], names[0]!)
    }
  },
)

/** Spellings that sources equate: letters as collations of MariaDB do, and spaces as directories do. */
const EQUATED: readonly (readonly [name: string, ...spellings: string[]])[] = [
  ['weiss', 'weiß', 'WEIẞ', 'we\u200biss', 'we\u00adiss', 'we\u0591iss'],
  ['aeoe', 'æœ', 'ǢŒ', 'ＡＥoe', 'æoe', 'aeœ'],
  ['boll', 'bołl', 'bøłŁ', 'BØLL', 'boŀl', 'bǿll'],
  ['didi', 'đidı', 'ðidi', 'ĐİDI', 'dıdı', 'd\ufe0fidi'],
  ['ann lee', 'ann  lee', 'ANN   LEE', 'ann\u00a0lee', 'ann \u3000lee ', 'ann\u2003 lee'],
  ['thhug1', 'þhug1', 'thħug1', 'thhug１', 'thhug१', 'Þĥug١'],
]

t.test('the answers do not tell which name has an account where the source equates letters or spaces', async t => {
  for (const [name, ...spellings] of EQUATED) {
    const known = account(name, { id: 'id-of-one' })
    for (const isKnown of [true, false]) {
      const find = async (typed: string) => (isKnown && [name, ...spellings].includes(typed) ? known : null)
      const fixture = await openLoginFixture({ source: { find, highestCost: () => 4, close: async () => {} } })
      t.teardown(fixture.close)
      const reasons: string[] = []
      for (const typed of [...spellings, name]) reasons.push(await fixture.attempt(typed, 'a guess'))
      t.same(reasons, [...Array(5).fill(WRONG), 'DISABLED'], `${name}, ${isKnown ? 'with' : 'without'} an account`)
    }
  }
})

t.test('accounts whose names are other words in ASCII, or in a script of its own, do not share a lock', async t => {
  for (const [one, other] of [
    ['weis', 'weiss'],
    ['bob', 'b-ob'],
    ['bob', 'b ob'],
    ['राम', 'रमा'],
    ['王伟', '王芳'],
  ] as const) {
    const accounts = [account(one, { id: 'one' }), account(other, { id: 'other' })]
    const find = async (name: string) => accounts.find(({ username }) => username === name) ?? null
    const fixture = await openLoginFixture({ source: { find, highestCost: () => 4, close: async () => {} } })
    t.teardown(fixture.close)
    for (let i = 0; i < 5; i++) t.equal(await fixture.attempt(one, 'a guess'), WRONG)
    t.equal(await fixture.attempt(one, PASSWORD), 'DISABLED', one)
    t.equal(await fixture.attempt(other, PASSWORD), 'granted', other)
  }
})

t.test('an administrator ends the lock of an account that was locked by another spelling', async t => {
  const fixture = await open(t)
  await fixture.guess('ANN', 5)
  t.same(await fixture.guess('ann', 1), ['DISABLED'])
  t.equal(await fixture.side.getDisableTime('id-of-ann'), 300)
  await fixture.side.untieDisable('id-of-ann', {})
  t.equal(await fixture.attempt('ann', PASSWORD), 'granted')
})

import t from 'tap'
import type { SessionRecord } from '../../src/session/record.ts'
import type { Assertion } from '../../src/token/assertion.ts'
import type { Token } from '../../src/token/bearer.ts'
import { createAssertions } from '../../src/upstream/assertions.ts'
import { createTestClock } from '../support/clock.ts'

const RECORD: SessionRecord = {
  user_id: '7',
  type: 'BUSINESS',
  created_at: '',
  extra: { username: 'admin', roles: ['ops', 5], secret: 'x' },
}
const SESSION = { token: 'a.b.c' as Token, record: RECORD }
const START = 1_700_000_000_400

function open(lifetime = 60_000) {
  const clock = createTestClock(START)
  const signed: [assertion: Assertion, issuedAt: number, lifetime: number][] = []
  const signer = {
    keys: { keys: [] },
    fault: null as Error | null,
    async sign(...asked: (typeof signed)[number]): Promise<string> {
      signed.push(asked)
      await new Promise(setImmediate)
      if (signer.fault !== null) throw signer.fault
      return `signed ${signed.length}`
    },
  }
  const settings = { header: 'X-Login-Assertion', lifetime }
  return { clock, signed, signer, assertions: createAssertions(settings, 'orders', signer, clock) }
}

t.test('an assertion is signed once for half of its lifetime, whoever asks at the same time', async t => {
  const { clock, signed, assertions } = open()
  const [first, second] = [assertions.of(SESSION), assertions.of(SESSION)]
  t.equal(await first, 'signed 1')
  t.equal(await second, 'signed 1')
  t.same(signed, [
    [{ sub: '7', aud: 'orders', login_type: 'BUSINESS', username: 'admin', roles: ['ops'] }, 1_700_000_000, 60],
  ])
  clock.time = START + 29_999
  t.equal(assertions.of(SESSION), 'signed 1', 'then at once, without a promise')
  clock.time = START + 30_000
  t.equal(await assertions.of(SESSION), 'signed 2')
  t.equal(signed[1]![1], 1_700_000_030)
})

t.test('each session has its own, and another one when its record says something else', async t => {
  const { assertions } = open()
  t.equal(await assertions.of(SESSION), 'signed 1')
  t.equal(await assertions.of({ ...SESSION, token: 'd.e.f' as Token }), 'signed 2')
  t.equal(assertions.of({ ...SESSION, record: structuredClone(RECORD) }), 'signed 1', 'a record that was read anew')
  const other = { ...RECORD, extra: { ...RECORD.extra, roles: [] } }
  t.equal(await assertions.of({ ...SESSION, record: other }), 'signed 3')
  t.equal(assertions.of({ ...SESSION, record: structuredClone(other) }), 'signed 3')
})

t.test('a clock that was set back does not keep an assertion', async t => {
  const { clock, assertions } = open()
  await assertions.of(SESSION)
  clock.setBack = 3_600_000
  t.equal(await assertions.of(SESSION), 'signed 2')
  clock.setBack += 10_000
  t.equal(await assertions.of(SESSION), 'signed 3', 'a service with the same time would not accept the other yet')
})

t.test('one that could not be signed is not kept', async t => {
  const { signer, assertions } = open()
  signer.fault = new Error('no entropy')
  await t.rejects(Promise.resolve(assertions.of(SESSION)), { message: 'no entropy' })
  signer.fault = null
  t.equal(await assertions.of(SESSION), 'signed 2')
})

t.test('a user without a name and without roles has an assertion, too', async t => {
  const { signed, assertions } = open()
  await assertions.of({ ...SESSION, record: { ...RECORD, type: 'CONSUMER', extra: {} } })
  t.same(signed[0]![0], { sub: '7', aud: 'orders', login_type: 'CONSUMER', roles: [] })
})

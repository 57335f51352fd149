import t, { type Test } from 'tap'
import { type Fixture, openFixture } from '../support/gateway-fixture.ts'
import { withoutRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'
import { eventually, isoInShanghai, isoInUtc, type OtherProgram, otherProgram } from './other-program.ts'

/* The gateway finds sessions of another program by itself: without a command, and without a request for their users. */

// Each has a gateway and a Redis of its own, and mostly waits for the gateway's sweeps.
if (process.env.REDIS_URL === undefined) t.jobs = 6

const HOUR = 3_600_000

async function open(t: Test): Promise<{ fixture: Fixture; other: OtherProgram; admin: string }> {
  const fixture = await openFixture(t, { store: 'redis', config: { timezone: 'Asia/Shanghai' } })
  return {
    fixture,
    other: otherProgram(fixture.redis!, fixture.settings.jwt.secret_key),
    admin: await fixture.signIn(),
  }
}

const BASES = { BUSINESS: '/api/v1/sys/session', CONSUMER: '/api/v1/client/session' } as const
type Side = keyof typeof BASES

const upkeepOf = (side: Side): string => `svc:auth:${side}:idx:upkeep:{svc:auth:${side}:idx:online}`
const UPKEEP = { BUSINESS: upkeepOf('BUSINESS'), CONSUMER: upkeepOf('CONSUMER') }

/** Resolves when another round over the session sets has begun: for the gateway the last one began long ago. */
async function nextRound({ redis }: Fixture, side: Side): Promise<void> {
  await redis!.cli('HSET', UPKEEP[side], 'sets-began', '0')
  await until(async () => (await redis!.cli('HGET', UPKEEP[side], 'sets-began')) !== '0')
}

/** What the session administration shows of a side, through the gateway itself. */
async function shown(fixture: Fixture, admin: string, side: Side, keyword = '') {
  const ask = async (path: string) => (await fixture.get(`${BASES[side]}/${path}`, admin)).json().data
  const page = await ask(`page?size=100&keyword=${keyword}`)
  const { online_user_count, one_hour_newly_added, total_count } = await ask('analysis')
  return {
    users: page.records.map((user: { user_id: string }) => user.user_id).filter((id: string) => id !== '1'),
    online: online_user_count,
    tokens: total_count,
    lastHour: one_hour_newly_added,
  }
}

for (const side of ['BUSINESS', 'CONSUMER'] as const) {
  // The administrator has a session on the B side.
  const own = side === 'BUSINESS' ? 1 : 0

  t.test(
    `${side}: a session that never passed this gateway is found and counted once`,
    { skip: withoutRedis },
    async t => {
      const { fixture, other, admin } = await open(t)
      await other.signIn('theirs', { type: side, form: isoInUtc, extra: { username: 'Grace' } })
      await other.signIn('earlier', { type: side, form: isoInShanghai, at: Date.now() - 2 * HOUR })
      const users = ['theirs', 'earlier']
      const listed = await eventually(async () => (await shown(fixture, admin, side)).users, users)
      t.same(listed, users, 'listed, the newest first')
      t.same((await shown(fixture, admin, side, 'grace')).users, ['theirs'], 'found by name')
      const { online, tokens, lastHour } = await shown(fixture, admin, side)
      t.same(
        { online, tokens, lastHour },
        { online: 2 + own, tokens: 3, lastHour: 2 },
        'counted; the administrator is one',
      )
      for (let round = 0; round < 2; round++) await nextRound(fixture, side)
      t.same((await shown(fixture, admin, side)).lastHour, 2, 'rounds later nothing has been counted again')
    },
  )

  t.test(
    `${side}: a session that another program ends disappears from lists and counts`,
    { skip: withoutRedis },
    async t => {
      const { fixture, other, admin } = await open(t)
      const [first, second] = [await other.signIn('a', { type: side }), await other.signIn('b', { type: side })]
      const third = await other.signIn('b', { type: side })
      const online = async () => (await shown(fixture, admin, side)).online
      const tokens = async () => (await shown(fixture, admin, side)).tokens
      t.equal(await eventually(tokens, 4), 4)
      await other.signOut('a', first, side)
      t.equal(await eventually(online, 1 + own), 1 + own)
      await fixture.redis!.cli('DEL', `svc:auth:${side}:token:${second}`, `svc:auth:${side}:token:${third}`)
      t.equal(await eventually(tokens, 1), 1, 'also where only the records were deleted')
    },
  )
}

t.test('a session that passes the gate is found without a scan', { skip: withoutRedis }, async t => {
  const { fixture, other } = await open(t)
  const { online } = fixture.store
  for (const key of Object.values(UPKEEP)) await fixture.redis!.cli('SET', key, 'no round can begin')
  const token = await other.signIn('passing', { extra: { username: 'Ada' } })
  t.equal((await fixture.get('/api/v1/b/x', token)).status, 200)
  const found = await eventually(
    async () => (await online.page('BUSINESS', { offset: 0, limit: 10, keyword: 'ada' })).userIds,
    ['passing'],
  )
  t.same(found, ['passing'])
  t.equal(await online.loginsSince('BUSINESS', Date.now() - HOUR), 2, 'the administrator, and this one once')
})

t.test('a key that is not a set does not prevent others from being found', { skip: withoutRedis }, async t => {
  const { fixture, other, admin } = await open(t)
  await fixture.redis!.cli('SET', 'svc:auth:CONSUMER:session:odd', 'a text')
  await other.signIn('theirs', { type: 'CONSUMER' })
  t.same(await eventually(async () => (await shown(fixture, admin, 'CONSUMER')).users, ['theirs']), ['theirs'])
})

t.test(
  'a session whose user has a key that is no set stops no round, nor a new index',
  { skip: withoutRedis },
  async t => {
    const { fixture, other } = await open(t)
    // First of all: a round may come at any time, and would list a user with a set.
    await fixture.redis!.cli('SET', 'svc:auth:BUSINESS:session:odd', 'a text')
    const token = await other.signIn('odd', { isInSet: false })
    await other.signIn('even')
    t.equal((await fixture.get('/api/v1/b/x', token)).status, 200)
    t.match(
      await fixture.store.sessions.find('BUSINESS', token),
      { user_id: 'odd' },
      'passes both stores that go rounds',
    )
    for (let round = 0; round < 3; round++) await nextRound(fixture, 'BUSINESS')
    const { online } = fixture.store
    t.equal(await online.reindex('BUSINESS', () => undefined), 2, 'the administrator, and the other user')
    t.same((await online.page('BUSINESS', { offset: 0, limit: 10 })).userIds.toSorted(), ['1', 'even'])
  },
)

t.test(
  'a session that cannot be read here stays in its set, and ends with the others',
  { skip: withoutRedis },
  async t => {
    const { fixture } = await open(t)
    const { sessions } = fixture.store
    const cli = (...words: string[]) => fixture.redis!.cli(...words)
    const [set, theirs] = ['svc:auth:CONSUMER:session:7', 'svc:auth:CONSUMER:token:theirs']
    await cli('SET', theirs, JSON.stringify({ user_id: 7, type: 'CONSUMER' }), 'EX', '3600')
    await cli('SADD', set, 'theirs', 'gone')
    t.same(await sessions.tokens('CONSUMER', '7'), [])
    for (let round = 0; round < 2; round++) await nextRound(fixture, 'CONSUMER')
    t.equal(await cli('SMEMBERS', set), 'theirs', 'the other program can still end it')
    await sessions.removeAll('CONSUMER', '7')
    t.equal(await cli('EXISTS', set, theirs), '0')
  },
)

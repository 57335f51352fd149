import t, { type Test } from 'tap'
import type { Refusal } from '../../src/base/refusal.ts'
import { type Fixture, openFixture } from '../support/gateway-fixture.ts'
import { startCluster } from '../support/redis-cluster.ts'
import { withoutRedis, withoutRedisServer } from '../support/redis-server.ts'
import { PATIENCE } from '../support/until.ts'

/* Administrators page through online users while sessions begin and end. */

/** How often each administrator pages through all users. A longer run: `PAGINGS=100 npx tap test/administration/under-load.test.ts`. */
const PAGINGS = Number(process.env.PAGINGS ?? 3)
/** Seconds; sessions are renewed for one up to so many. */
const LONGEST_RENEWAL = 2
const ADMINISTRATORS = 20
const LOGINS_PER_SECOND = 100
const STABLE = 200
const PAGE = 50
/** The test checks what they see, not how fast. */
const TIMEOUT = `${PATIENCE}ms`

async function underLoad(t: Test, fixture: Fixture): Promise<void> {
  const { business, consumer } = fixture.gateway.sides
  const admin = await fixture.signIn()
  const stable = new Set<string>()
  for (let i = 0; i < STABLE; i++) {
    const user = `stable${i}`
    stable.add(user)
    await consumer.login(undefined, user, { username: `stable-${i}` })
    await business.login(undefined, user)
  }
  stable.add('1')
  let paging = true
  const seen = { pagings: 0, logins: 0, kickouts: 0, wrong: [] as string[] }

  /** Pages through all users whose sessions stay, and finds each exactly once. */
  async function page(base: string, keyword: string, expected: number): Promise<void> {
    for (let i = 0; i < PAGINGS; i++) {
      const found: string[] = []
      for (let current = 1; current <= Math.ceil(expected / PAGE); current++) {
        const path = `/api/v1/${base}/session/page?size=${PAGE}&current=${current}&keyword=${keyword}`
        const { data, message } = (await fixture.get(path, admin)).json()
        if (data === null) seen.wrong.push(message)
        else found.push(...data.records.map(({ user_id }: { user_id: string }) => user_id))
      }
      const once = new Set(found)
      if (once.size !== found.length) seen.wrong.push(`${found.length - once.size} shown twice`)
      if (once.size !== expected) seen.wrong.push(`${once.size} of ${expected} shown`)
      seen.pagings++
    }
  }

  const users = (i: number): string => `guest${i % 500}`
  /** A login that overlaps a kickout of the same user may be refused (store/store.ts: `add`). */
  const logIn = (userId: string): Promise<string | null> =>
    consumer.login(undefined, userId).catch((refusal: Refusal) => {
      if (refusal.reason === 'NOT_LOGGED_IN') return null
      throw refusal
    })

  async function comeAndGo(): Promise<void> {
    for (let i = 0; paging; i++) {
      const began = Date.now()
      const token = await logIn(users(i * 7))
      if (token !== null) seen.logins++
      if (token !== null && i % 3 === 0)
        await consumer.renewTimeout({ headers: { authorization: token } }, 1 + (i % LONGEST_RENEWAL))
      if (i % 5 === 0) {
        await consumer.kickout(users(i * 11))
        seen.kickouts++
      }
      await new Promise(resolve => setTimeout(resolve, Math.max(0, 10_000 / LOGINS_PER_SECOND - (Date.now() - began))))
    }
  }

  const others = Promise.all(Array.from({ length: 10 }, comeAndGo))
  const pagings = Promise.all([
    ...Array.from({ length: ADMINISTRATORS / 2 }, () => page('client', 'stable-', STABLE)),
    ...Array.from({ length: ADMINISTRATORS / 2 }, () => page('sys', '', stable.size)),
  ])
  await Promise.race([pagings, others])
  paging = false
  await Promise.all([pagings, others])
  t.same([...new Set(seen.wrong)], [])
  t.ok(seen.logins > 0 && seen.kickouts > 0, JSON.stringify(seen))

  // Short lives have ended, also where their end was just now.
  await new Promise(resolve => setTimeout(resolve, (LONGEST_RENEWAL + 1) * 1000))
  let tokens = 0
  let online = 0
  for (let i = 0; i < 500; i++) {
    const live = await fixture.store.sessions.tokens('CONSUMER', users(i))
    tokens += live.length
    if (live.length > 0) online++
  }
  const read = async (what: string) => (await fixture.get(`/api/v1/client/session/${what}`, admin)).json().data
  const analysis = await read('analysis')
  t.equal(analysis.online_user_count, STABLE + online, 'users online are those with live keys')
  t.equal(analysis.proportion_of_b_and_c, `${stable.size}/${STABLE + tokens}`, 'and so are tokens')
  // Of all days shown: a day may have ended meanwhile.
  const ofDays: number[] = (await read('chart-data')).bar_chart.series[1].data
  const logins = ofDays.reduce((sum, count) => sum + count)
  t.equal(logins, STABLE + seen.logins, 'every login was counted')
}

t.test('embedded store', async t => {
  const fixture = await openFixture(t, { config: { store: { timeout: TIMEOUT } } })
  await underLoad(t, fixture)
})

t.test('Redis', { skip: withoutRedis }, async t => {
  const fixture = await openFixture(t, { store: 'redis', environment: { STORE__TIMEOUT: TIMEOUT } })
  await underLoad(t, fixture)
})

t.test('Cluster of three masters', { skip: withoutRedisServer }, async t => {
  const cluster = await startCluster(PATIENCE)
  t.teardown(() => cluster.stop())
  const fixture = await openFixture(t, {
    config: { store: { kind: 'redis', timeout: TIMEOUT, redis: { cluster: cluster.nodes } } },
  })
  await underLoad(t, fixture)
})

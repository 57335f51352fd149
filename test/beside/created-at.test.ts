import t, { type Test } from 'tap'
import { createTimestampFormat } from '../../src/base/timestamp.ts'
import { type Fixture, openFixture } from '../support/gateway-fixture.ts'
import { withoutRedis } from '../support/redis-server.ts'
import { isoInShanghai, isoInUtc, isoWithZ, type OtherProgram, otherProgram } from './other-program.ts'

/* Records of another program name their creation in other forms and zones than ours; they are as old as they are. */

const HOUR = 3_600_000
const FORMS = { isoInUtc, isoInShanghai, isoWithZ }

async function open(t: Test, config: Record<string, unknown> = {}): Promise<{ fixture: Fixture; other: OtherProgram }> {
  const fixture = await openFixture(t, { store: 'redis', config })
  return { fixture, other: otherProgram(fixture.redis!, fixture.settings.jwt.secret_key) }
}

for (const timezone of ['UTC', 'Asia/Shanghai', 'America/Los_Angeles']) {
  t.test(`in the zone ${timezone}`, { skip: withoutRedis }, async t => {
    const format = createTimestampFormat(timezone)
    const { fixture, other } = await open(t, { timezone, sessions: { business: { max_tokens_per_user: 2 } } })
    const { business } = fixture.gateway.sides
    const isLive = (token: string) => business.isLogin({ headers: { authorization: token } })

    for (const [name, form] of Object.entries(FORMS)) {
      t.test(`max_tokens_per_user ends the oldest session, also beside one written ${name}`, async t => {
        const user = `limited-${name}`
        const old = await other.signIn(user, { at: Date.now() - 2 * HOUR, form })
        const theirs = await other.signIn(user, { at: Date.now() - 60_000, form })
        const ours = await business.login(undefined, user)
        t.same(await Promise.all([old, theirs, ours].map(isLive)), [false, true, true])
      })

      t.test(`a session written ${name} is listed by its age, counts for its day, and shows its time`, async t => {
        const { online, sessions } = fixture.store
        const [before, between, after] = [Date.now() - 3 * HOUR, Date.now() - 2 * HOUR, Date.now() - HOUR]
        const day = format.day(between)
        const [counted = 0] = await online.loginsOn('CONSUMER', [day])
        await other.signIn(`${name}-old`, { type: 'CONSUMER', at: before, form: at => format.write(at) })
        await other.signIn(`${name}-theirs`, { type: 'CONSUMER', at: between, form })
        await other.signIn(`${name}-new`, { type: 'CONSUMER', at: after, form: at => format.write(at) })
        for (const who of ['old', 'theirs', 'new']) await sessions.tokens('CONSUMER', `${name}-${who}`)
        const { userIds } = await online.page('CONSUMER', { offset: 0, limit: 100 })
        const order = userIds.filter(id => id.startsWith(name))
        t.same(order, [`${name}-new`, `${name}-theirs`, `${name}-old`])
        const ofDay = [before, between, after].filter(at => format.day(at) === day).length
        t.same(await online.loginsOn('CONSUMER', [day]), [counted + ofDay])

        const token = await fixture.signIn()
        const page = (await fixture.get('/api/v1/client/session/page?size=100', token)).json().data.records
        const shown = page.find((user: { user_id: string }) => user.user_id === `${name}-theirs`)
        t.equal(shown.last_login_time, format.write(between))
      })
    }
  })
}

t.test('sessions of one second are ordered by the `iat` of their tokens', { skip: withoutRedis }, async t => {
  const { fixture, other } = await open(t)
  const second = Math.floor(Date.now() / 1000) * 1000 - HOUR
  const form = () => isoWithZ(second)
  const tokens = []
  for (const late of [3, 1, 2]) tokens.push(await other.signIn('a', { at: second + late * 1000, form }))
  const found = (await fixture.store.sessions.tokens('BUSINESS', 'a')).map(({ token }) => token)
  t.same(found, [tokens[1], tokens[2], tokens[0]])
})

t.test('where `created_at` cannot be read, the `iat` of the token is the age', { skip: withoutRedis }, async t => {
  const { fixture, other } = await open(t)
  const now = Date.now()
  const odd = await other.signIn('a', { at: now - 2 * HOUR, form: () => 'yesterday' })
  const old = await other.signIn('a', { at: now - 3 * HOUR })
  const fresh = await other.signIn('a', { at: now - HOUR })
  const found = (await fixture.store.sessions.tokens('BUSINESS', 'a')).map(({ token }) => token)
  t.same(found, [old, odd, fresh])
})

t.test('a session of another program counts in the minute of its creation', { skip: withoutRedis }, async t => {
  const { fixture, other } = await open(t, { timezone: 'Asia/Shanghai' })
  const { online, sessions } = fixture.store
  await other.signIn('recent', { at: Date.now() - HOUR / 2 })
  await other.signIn('earlier', { at: Date.now() - 3 * HOUR })
  await other.signIn('long-ago', { at: Date.now() - 48 * HOUR })
  for (const user of ['recent', 'earlier', 'long-ago']) await sessions.tokens('BUSINESS', user)
  t.equal(await online.loginsSince('BUSINESS', Date.now() - HOUR), 1)
  t.equal(await online.loginsSince('BUSINESS', Date.now() - 23 * HOUR), 2)
})

t.test('a record that is written anew keeps what else its program has written', { skip: withoutRedis }, async t => {
  const { fixture, other } = await open(t, { sessions: { idle_timeout: '20m' } })
  const token = await other.signIn('theirs')
  const key = `svc:auth:BUSINESS:token:${token}`
  const record = { user_id: 'theirs', type: 'BUSINESS', created_at: 1767225600, extra: { note: 1 }, scope: ['a'] }
  await fixture.redis!.cli('SET', key, JSON.stringify(record), 'KEEPTTL')
  t.ok(await fixture.gateway.sides.business.renewTimeout({ headers: { authorization: token } }, 600))
  const written = JSON.parse(await fixture.redis!.cli('GET', key))
  t.match(written.extra, { note: 1, session_renewed_end: Number })
  t.same({ ...written, extra: record.extra }, record)
})

import t from 'tap'
import { type Fixture, openFixture, someone, withEveryStore } from '../support/gateway-fixture.ts'

/* Users see and end their own sessions, each side below its own section. */

const SIDES = [
  ['business', 'b'],
  ['consumer', 'c'],
] as const

const BOTH = { config: { own_sessions: { consumer: true } } }

const UNKNOWN = { code: 400, success: false, data: null }

withEveryStore(
  t,
  async (t, fixture) => {
    for (const [side, section] of SIDES) {
      const operations = fixture.gateway.sides[side]
      const base = `/api/v1/${section}/session`
      const isLive = async (token: string) => (await operations.getLoginIdByToken(token)) !== ''
      const handlesOf = async (token: string): Promise<string[]> =>
        (await fixture.get(`${base}/tokens`, token)).json().data.map((one: { token: string }) => one.token)

      t.test(`GET ${base}/tokens: the user's own sessions by their handles, the newest first, key by key`, async t => {
        const user = someone()
        const extra = { login_ip: '10.1.2.3', device_type: 'Chrome', device_id: 'WEB_PC' }
        const first = await operations.login(undefined, user, extra)
        const second = await operations.login(undefined, user)
        await operations.login(undefined, someone())
        const answer = await fixture.get(`${base}/tokens`, first)
        const { data } = answer.json()
        t.equal(data.length, 2)
        t.same(Object.keys(data[0]), [
          'token',
          'created_at',
          'timeout',
          'timeout_seconds',
          'device_type',
          'device_id',
          'login_ip',
          'provider',
          'current',
        ])
        t.match(data, [
          { device_type: null, device_id: null, login_ip: null, provider: null, current: false },
          { ...extra, current: true, created_at: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/, timeout: /left$/ },
        ])
        t.ok(data[1].timeout_seconds > 2_591_000 && data[1].timeout_seconds <= 2_592_000)
        for (const token of [first, second]) t.notMatch(answer.text, token, 'never a token')
        t.same(
          (await fixture.get(`${base}/tokens`, second)).json().data.map(({ current }: { current: boolean }) => current),
          [true, false],
        )
      })

      t.test(`POST ${base}/exit-token: ends one session of one's own by its handle`, async t => {
        const user = someone()
        const [asking, other, third] = await Promise.all([1, 2, 3].map(() => operations.login(undefined, user)))
        const listed = (await fixture.get(`${base}/tokens`, asking)).json().data
        const mine = listed.find(({ current }: { current: boolean }) => current).token
        const others: string[] = (await handlesOf(asking!)).filter(handle => handle !== mine)
        t.match((await fixture.post(`${base}/exit-token`, { token: others[0] }, asking)).json(), {
          code: 200,
          data: null,
        })
        t.equal([await isLive(other!), await isLive(third!)].filter(live => live).length, 1)
        t.match(
          (await fixture.post(`${base}/exit-token`, { token: others[0] }, asking)).json(),
          UNKNOWN,
          'a second time',
        )
        t.match((await fixture.post(`${base}/exit-token`, { token: mine }, asking)).json(), { code: 200 })
        t.match((await fixture.get(`${base}/tokens`, asking)).json(), { code: 401 }, 'also the session that asks')
      })

      t.test(`POST ${base}/exit-token: the handle of another user answers exactly as an unknown one`, async t => {
        const token = await operations.login(undefined, someone())
        const stranger = await operations.login(undefined, someone())
        const across = await fixture.gateway.sides[side === 'business' ? 'consumer' : 'business'].login(
          undefined,
          someone(),
        )
        const otherBase = `/api/v1/${section === 'b' ? 'c' : 'b'}/session`
        const [foreign] = await handlesOf(stranger)
        const [ofOtherSide] = (await fixture.get(`${otherBase}/tokens`, across)).json().data
        const answers = []
        for (const handle of [
          '6Zb1xw0cS2mPq1c9oV4y7g',
          foreign,
          ofOtherSide.token,
          stranger,
          token,
          '*',
          '__proto__',
        ]) {
          const { status, headers, json } = await fixture.post(`${base}/exit-token`, { token: handle }, token)
          const { trace_id: _, ...body } = json()
          answers.push({ status, names: Object.keys(headers).sort(), length: headers['content-length'], body })
        }
        t.match(answers[0]!.body, UNKNOWN)
        for (const answer of answers) t.same(answer, answers[0])
        for (const live of [token, stranger]) t.equal(await isLive(live), true)
      })

      t.test(`POST ${base}/exit-others: ends every other session, and spares the one that asks`, async t => {
        const user = someone()
        const tokens = await Promise.all(Array.from({ length: 4 }, () => operations.login(undefined, user)))
        const neighbour = await operations.login(undefined, someone())
        const asking = tokens[1]!
        t.match((await fixture.post(`${base}/exit-others`, {}, asking)).json(), { code: 200, data: { ended: 3 } })
        for (const token of tokens) t.equal(await isLive(token), token === asking)
        t.equal(await isLive(neighbour), true)
        t.match((await fixture.post(`${base}/exit-others`, undefined, asking)).json(), { data: { ended: 0 } })
      })

      t.test(
        `POST ${base}/exit-others: the session that asks lives, also when logins run at the same time`,
        async t => {
          const user = someone()
          const asking = await operations.login(undefined, user)
          for (let round = 0; round < 15; round++) {
            const before = await operations.login(undefined, user)
            const [answer] = await Promise.all([
              fixture.post(`${base}/exit-others`, {}, asking),
              operations.login(undefined, user).catch(() => null),
            ])
            t.equal(answer.json().success, true)
            t.equal(await isLive(asking), true)
            t.equal(await isLive(before), false)
          }
        },
      )

      t.test(`${base}: only a live session of this side is served, and never another's`, async t => {
        const other = await fixture.gateway.sides[side === 'business' ? 'consumer' : 'business'].login(
          undefined,
          someone(),
        )
        for (const token of [undefined, other, 'a.b.c']) {
          t.match((await fixture.get(`${base}/tokens`, token)).json(), { code: 401 })
          t.match((await fixture.post(`${base}/exit-token`, { token: 'x' }, token)).json(), { code: 401 })
          t.match((await fixture.post(`${base}/exit-others`, {}, token)).json(), { code: 401 })
        }
      })

      t.test(`${base}: forms of other pages and bodies that are no handle end no session`, async t => {
        const user = someone()
        const [token, other] = [await operations.login(undefined, user), await operations.login(undefined, user)]
        const [handle] = await handlesOf(token)
        const path = `${base}/exit-token`
        const BODIES = [{}, [], [handle], { token: '' }, { token: 7 }, { token: [handle] }, { token: null }]
        const HANDLES = ['x'.repeat(257), '*', `${handle}*`, handle!.toUpperCase(), ` ${handle}`]
        for (const body of [
          ...BODIES,
          ...HANDLES.map(token => ({ token, user_id: user })),
          `{"__proto__":{"token":"${handle}"}}`,
        ]) {
          t.match((await fixture.post(path, body, token)).json(), { code: 400 }, JSON.stringify(body))
        }
        for (const [type, body] of [
          ['application/x-www-form-urlencoded', `token=${handle}`],
          ['text/plain', `{"token":"${handle}"}`],
        ] as const) {
          const headers = { 'content-type': type }
          t.match((await fixture.call({ method: 'POST', path, token, headers, body })).json(), { code: 400 }, type)
        }
        for (const live of [token, other]) t.equal(await isLive(live), true)
      })
    }
  },
  BOTH,
)

t.test('own sessions are served for the B side, and for the C side only where it is set', async t => {
  const asked = async (fixture: Fixture, side: 'business' | 'consumer', section: string) =>
    await fixture.get(`/api/v1/${section}/session/tokens`, await fixture.gateway.sides[side].login(undefined, '7'))
  const fixture = await openFixture(t)
  t.match((await asked(fixture, 'business', 'b')).json(), { code: 200, data: [{ current: true }] })
  t.match((await asked(fixture, 'consumer', 'c')).json(), { ok: true }, 'the upstream answers')
  const turned = await openFixture(t, { config: { own_sessions: { business: false, consumer: true } } })
  t.match((await asked(turned, 'business', 'b')).json(), { ok: true }, 'the upstream answers')
  t.match((await asked(turned, 'consumer', 'c')).json(), { code: 200, data: [{ current: true }] })
})

t.test('an end of own sessions is published with who requested it', async t => {
  const fixture = await openFixture(t)
  const login = () => fixture.gateway.sides.business.login(undefined, 'u7')
  const [asking] = [await login(), await login(), await login()]
  const [newest] = (await fixture.get('/api/v1/b/session/tokens', asking)).json().data
  await fixture.post('/api/v1/b/session/exit-token', { token: newest.token }, asking)
  const { json } = await fixture.post('/api/v1/b/session/exit-others', {}, asking)
  const events = fixture.log.map(line => JSON.parse(line)).filter(({ event }) => event?.startsWith('kickout'))
  t.match(events, [
    { event: 'kickout-token', type: 'BUSINESS', login_id: 'u7', jti: newest.token, by: 'u7' },
    { event: 'kickout', type: 'BUSINESS', login_id: 'u7', ended: 1, by: 'u7', trace_id: json().trace_id },
  ])
})

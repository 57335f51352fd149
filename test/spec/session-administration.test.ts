import t from 'tap'
import { type Fixture, openFixture, someone, startFixture, withEveryStore } from '../support/gateway-fixture.ts'
import { inOneDay, until } from '../support/until.ts'

/* The endpoints of both sides, in the forms that the clients in use send and read; ours beside them. */

const MINE = { config: { session_administration: true } }
const TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/

const LIFETIME = /^(30 days 0|29 days 23) hours left$/

const SIDES = [
  ['business', 'BUSINESS', '/api/v1/sys/session'],
  ['consumer', 'CONSUMER', '/api/v1/client/session'],
] as const

const secondOf = (timestamp: number): number => Math.floor(timestamp / 1000)

/** A B-side session with these permissions. */
const officer = (fixture: Fixture, ...permissions: string[]) =>
  fixture.gateway.sides.business.login(undefined, someone(), { permissions })

withEveryStore(
  t,
  async (t, fixture) => {
    const admin = await fixture.signIn()

    for (const [side, type, base] of SIDES) {
      const operations = fixture.gateway.sides[side]
      const other = fixture.gateway.sides[side === 'business' ? 'consumer' : 'business']

      t.test(`GET ${base}/page: a page of online users, the newest login first, key by key`, async t => {
        // Logins are in the order of their seconds. A timer may end before its second.
        const began = secondOf(Date.now())
        await until(() => secondOf(Date.now()) > began)
        const name = `Name${someone()}`
        const user = someone()
        const extra = {
          username: name,
          nickname: '昵称',
          avatar: 'a.png',
          status: 'ACTIVE',
          login_ip: '10.1.2.3',
          device_type: 'Chrome',
          device_id: 'WEB_PC',
        }
        await operations.login(undefined, user, extra)
        const second = await operations.login(undefined, user, extra)
        const { data } = (await fixture.get(`${base}/page?current=1&size=10&keyword=`, admin)).json()
        t.same(Object.keys(data), ['records', 'total', 'page', 'size', 'pages'])
        t.match(data, { page: 1, size: 10 })
        t.equal(data.pages, Math.ceil(data.total / 10))
        const [record] = data.records
        t.match(record, {
          user_id: user,
          username: name,
          nickname: '昵称',
          avatar: 'a.png',
          status: 'ACTIVE',
          last_login_ip: '10.1.2.3',
          last_login_address: null,
          last_login_time: TIME,
          session_create_time: TIME,
          session_timeout: LIFETIME,
          token_count: 2,
        })
        t.ok(record.session_timeout_seconds > 2_591_000 && record.session_timeout_seconds <= 2_592_000)
        t.equal(Object.keys(record).length, 12)
        await operations.kickoutToken(user, second)
        const [after] = (await fixture.get(`${base}/page?size=1`, admin)).json().data.records
        t.match(after, { user_id: user, token_count: 1 }, 'live tokens are counted')
        await operations.kickout(user)
        t.notMatch((await fixture.get(`${base}/page`, admin)).text, user)
      })

      t.test(`GET ${base}/page: keyword finds a user id exactly, or part of a username or nickname`, async t => {
        const mark = someone()
        const user = `id.${mark}`
        await operations.login(undefined, user, { username: `Anna-${mark}-X`, nickname: `小${mark}明` })
        const find = async (keyword: string) =>
          (await fixture.get(`${base}/page?keyword=${encodeURIComponent(keyword)}`, admin))
            .json()
            .data.records.map((record: { user_id: string }) => record.user_id)
        for (const keyword of [user, `anna-${mark}`, `${mark}-x`.toUpperCase(), `小${mark}`, `${mark}明`]) {
          t.same(await find(keyword), [user], keyword)
        }
        t.same(await find(`id.${mark.slice(0, -1)}`), [], 'a part of an id does not match')
        t.same(await find(`nobody${mark}`), [])
      })

      t.test(`GET ${base}/page: pages follow one another, page is an alias of current`, async t => {
        const mark = someone()
        for (let i = 0; i < 5; i++) await operations.login(undefined, `${mark}${i}`, { username: `${mark}-${i}` })
        const page = async (query: string) =>
          (await fixture.get(`${base}/page?keyword=${mark}&${query}`, admin)).json().data
        t.match(await page('current=1&size=2'), { total: 5, pages: 3, page: 1, size: 2, records: { length: 2 } })
        t.match(await page('page=3&size=2'), { total: 5, pages: 3, page: 3, records: { length: 1 } })
        const all = [
          ...(await page('current=1&size=2')).records,
          ...(await page('current=2&size=2')).records,
          ...(await page('current=3&size=2')).records,
        ]
        t.equal(new Set(all.map((record: { user_id: string }) => record.user_id)).size, 5)
        t.match(await page('current=9&size=2'), { total: 5, records: { length: 0 } })
        for (const query of ['current=0', 'current=x', 'size=101', 'size=0', 'size=-1', 'size=1.5', 'size=1&size=2']) {
          t.match((await fixture.get(`${base}/page?${query}`, admin)).json(), { code: 400, success: false }, query)
        }
      })

      t.test(`GET ${base}/analysis: counts that follow what happens`, async t => {
        await inOneDay()
        const analysis = async () => (await fixture.get(`${base}/analysis`, admin)).json().data
        const before = await analysis()
        t.same(Object.keys(before), [
          'total_count',
          'max_token_count',
          'one_hour_newly_added',
          'proportion_of_b_and_c',
          'online_user_count',
          'today_login_count',
        ])
        const user = someone()
        for (let i = 0; i < 9; i++) await operations.login(undefined, user)
        await other.login(undefined, someone())
        const during = await analysis()
        t.equal(during.total_count, before.total_count + 10)
        t.equal(during.max_token_count, 9)
        t.equal(during.one_hour_newly_added, before.one_hour_newly_added + 10)
        t.equal(during.online_user_count, before.online_user_count + 1)
        t.equal(during.today_login_count, before.today_login_count + 9)
        const [b, c] = before.proportion_of_b_and_c.split('/').map(Number)
        t.equal(during.proportion_of_b_and_c, type === 'BUSINESS' ? `${b + 9}/${c + 1}` : `${b + 1}/${c + 9}`)
        await operations.kickout(user)
        const after = await analysis()
        t.equal(after.total_count, before.total_count + 1)
        t.equal(after.online_user_count, before.online_user_count)
        t.equal(after.today_login_count, during.today_login_count, 'a login stays in history')
      })

      t.test(`GET ${base}/chart-data: logins of seven days and live tokens of both sides`, async t => {
        await inOneDay()
        await operations.login(undefined, someone())
        const { data } = (await fixture.get(`${base}/chart-data`, admin)).json()
        const { days, series } = data.bar_chart
        t.equal(days.length, 7)
        t.equal(days.at(-1), new Date().toISOString().slice(0, 10))
        t.same(days, [...days].sort())
        t.same(
          series.map(({ name }: { name: string }) => name),
          ['BUSINESS', 'CONSUMER'],
        )
        for (const one of series) t.equal(one.data.length, 7)
        t.ok(series[type === 'BUSINESS' ? 0 : 1].data[6] > 0)
        const { data: pie } = data.pie_chart
        t.same(
          pie.map(({ category }: { category: string }) => category),
          ['BUSINESS', 'CONSUMER'],
        )
        const proportion = (await fixture.get(`${base}/analysis`, admin)).json().data.proportion_of_b_and_c
        t.equal(pie.map(({ total }: { total: number }) => total).join('/'), proportion)
      })

      t.test(`POST ${base}/exit: forces a user offline, on this side only`, async t => {
        const user = someone()
        const tokens = [await operations.login(undefined, user), await operations.login(undefined, user)]
        const elsewhere = await other.login(undefined, user)
        t.match((await fixture.post(`${base}/exit`, { user_id: user }, admin)).json(), {
          code: 200,
          success: true,
          data: null,
        })
        for (const token of tokens) t.equal(await operations.getLoginIdByToken(token), '')
        t.equal(await other.getLoginIdByToken(elsewhere), user)
        for (const body of [{}, { user_id: 12 }, { user_id: '' }, [], 'x']) {
          t.match((await fixture.post(`${base}/exit`, body, admin)).json(), { code: 400, success: false })
        }
      })

      t.test(`GET ${base}/tokens: a user's tokens, complete for authorized users`, async t => {
        const user = someone()
        const first = await operations.login(undefined, user, {
          device_type: 'Chrome',
          device_id: 'WEB_PC',
          login_ip: '10.1.2.3',
        })
        const { data } = (await fixture.get(`${base}/tokens?user_id=${user}`, admin)).json()
        t.equal(data.length, 1)
        t.same(Object.keys(data[0]), [
          'token',
          'created_at',
          'timeout',
          'timeout_seconds',
          'device_type',
          'device_id',
          'login_ip',
          'provider',
        ])
        t.match(data[0], {
          token: first,
          created_at: TIME,
          timeout: LIFETIME,
          device_type: 'Chrome',
          device_id: 'WEB_PC',
          login_ip: '10.1.2.3',
          provider: null,
        })
        t.ok(data[0].timeout_seconds > 2_591_000)
        t.same((await fixture.get(`${base}/tokens?user_id=${someone()}`, admin)).json().data, [])
        t.match((await fixture.get(`${base}/tokens`, admin)).json(), { code: 400, message: /^user_id: / })
      })

      t.test(`GET ${base}/tokens: a handle for other users, and exit-token accepts both`, async t => {
        const user = someone()
        const first = await operations.login(undefined, user)
        const second = await operations.login(undefined, user)
        const clerk = await officer(fixture, 'sys:session:page', 'sys:session:exit')
        const seen = await fixture.get(`${base}/tokens?user_id=${user}`, clerk)
        t.notMatch(seen.text, first)
        const [handle] = seen.json().data.map(({ token }: { token: string }) => token)
        t.equal((await fixture.get('/api/v1/b/x', handle)).json().code, 401, 'a handle is no token')
        t.match((await fixture.post(`${base}/exit-token`, { user_id: user, token: handle }, clerk)).json(), {
          code: 200,
          data: null,
        })
        t.match((await fixture.post(`${base}/exit-token`, { user_id: user, token: first }, clerk)).json(), {
          code: 200,
        })
        for (const token of [first, second]) t.equal(await operations.getLoginIdByToken(token), '')
      })

      t.test(`POST ${base}/exit-token: with a token of another user changes nothing and fails`, async t => {
        const token = await operations.login(undefined, someone())
        const refused = { code: 400, success: false, message: 'Not a live token of this user' }
        t.match((await fixture.post(`${base}/exit-token`, { user_id: someone(), token }, admin)).json(), refused)
        t.not(await operations.getLoginIdByToken(token), '')
      })

      t.test(`POST ${base}/disable and untie-disable: disable a login id for a time, and enable it again`, async t => {
        const user = someone()
        const token = await operations.login(undefined, user)
        const state = async () => (await fixture.get(`${base}/disabled?user_id=${user}`, admin)).json().data
        t.same(await state(), { is_disable: false, disable_time: -1 })
        const done = { code: 200, success: true, data: null }
        t.match((await fixture.post(`${base}/disable`, { user_id: user, seconds: 600 }, admin)).json(), done)
        const disabled = await state()
        t.same(Object.keys(disabled), ['is_disable', 'disable_time'])
        t.equal(disabled.is_disable, true)
        t.ok(disabled.disable_time > 500 && disabled.disable_time <= 600)
        t.equal(await operations.login(undefined, user).catch(({ reason }) => reason), 'DISABLED')
        t.equal(await operations.getLoginIdByToken(token), user, 'sessions that exist stay')
        t.ok(await other.login(undefined, user), 'the other side knows nothing of it')
        for (let twice = 0; twice < 2; twice++)
          t.match((await fixture.post(`${base}/untie-disable`, { user_id: user }, admin)).json(), done)
        t.same(await state(), { is_disable: false, disable_time: -1 })
        t.ok(await operations.login(undefined, user))
      })

      t.test(
        `GET ${base}/disabled-page: the disabled login ids of the side, those first that are enabled next`,
        async t => {
          const side = base.includes('/sys/') ? 'BUSINESS' : 'CONSUMER'
          const users = [someone(), someone(), someone()]
          for (const [i, user] of users.entries()) await operations.disable(user, 3600 - 600 * i)
          await other.disable(someone(), 60)
          const page = async (query = '') => (await fixture.get(`${base}/disabled-page${query}`, admin)).json()
          const listed = async () =>
            (await page('?size=100')).data.records.filter(({ user_id }: { user_id: string }) => users.includes(user_id))
          const records = await listed()
          t.same(
            records.map(({ user_id }: { user_id: string }) => user_id),
            users.toReversed(),
          )
          for (const record of records) t.same(Object.keys(record), ['user_id', 'type', 'until', 'disable_time'])
          t.match(records[2], { type: side, until: TIME })
          t.ok(records[2].disable_time > 3500 && records[2].disable_time <= 3600)
          const { data } = await page('?size=2&current=2')
          t.match(data, { page: 2, size: 2, pages: Math.ceil(data.total / 2) })
          t.ok(data.total >= 3)
          t.match((await page()).data, { page: 1, size: 10 })
          await fixture.post(`${base}/untie-disable`, { user_id: users[1] }, admin)
          t.same(
            (await listed()).map(({ user_id }: { user_id: string }) => user_id),
            [users[2], users[0]],
          )
          for (const [query, field] of [
            ['?size=101', 'size'],
            ['?size=0', 'size'],
            ['?current=0', 'current'],
            ['?current=x', 'current'],
          ] as const)
            t.match(await page(query), { code: 400, message: new RegExp(`^${field}: `) })
        },
      )

      t.test(`POST ${base}/disable: invalid input is refused`, async t => {
        const user_id = someone()
        for (const [body, field] of [
          [{ user_id }, 'seconds'],
          [{ user_id, seconds: '60' }, 'seconds'],
          [{ user_id, seconds: 0 }, 'seconds'],
          [{ user_id, seconds: 1.5 }, 'seconds'],
          [{ user_id, seconds: 1e12 }, 'seconds'],
          [{ seconds: 60 }, 'user_id'],
          [{ user_id: 'a b', seconds: 60 }, 'user_id'],
          [[], 'body'],
        ] as const) {
          const answer = await fixture.post(`${base}/disable`, body, admin)
          t.match(answer.json(), { code: 400, message: new RegExp(`^${field}: `) }, JSON.stringify(body))
        }
        t.match((await fixture.post(`${base}/untie-disable`, {}, admin)).json(), { code: 400, message: /^user_id: / })
        t.match((await fixture.get(`${base}/disabled`, admin)).json(), { code: 400, message: /^user_id: / })
      })

      t.test(`${base}: the permissions of each call`, async t => {
        const user = someone()
        const [page, exit, disable] = ['sys:session:page', 'sys:session:exit', 'sys:session:disable'] as const
        const calls: [needed: string, method: string, path: string, body?: unknown][] = [
          [page, 'GET', 'analysis'],
          [page, 'GET', 'page'],
          [page, 'GET', `tokens?user_id=${user}`],
          [page, 'GET', 'chart-data'],
          [exit, 'POST', 'exit', { user_id: user }],
          [exit, 'POST', 'exit-token', { user_id: user, token: 'aa.bb.cc' }],
          [disable, 'POST', 'disable', { user_id: user, seconds: 1 }],
          [disable, 'POST', 'untie-disable', { user_id: user }],
          [disable, 'GET', `disabled?user_id=${user}`],
          [disable, 'GET', 'disabled-page'],
        ]
        const unprivileged = await officer(fixture)
        const watcher = await officer(fixture, page)
        const warden = await officer(fixture, disable)
        const operator = await fixture.gateway.sides.business.login(undefined, someone(), { roles: ['operator'] })
        const consumer = await fixture.gateway.sides.consumer.login(undefined, someone(), { roles: ['SUPER_ADMIN'] })
        for (const [needed, method, path, body] of calls) {
          const ask = (token?: string) =>
            fixture.call({ method, path: `${base}/${path}`, body, ...(token !== undefined && { token }) })
          const refused = await ask(unprivileged)
          t.equal(refused.status, 403, path)
          t.match(refused.json(), { code: 403, success: false, message: `Missing permission: ['${needed}']` })
          t.equal((await ask(watcher)).status === 403, needed !== page, path)
          t.equal((await ask(operator)).status === 403, needed !== page, path)
          t.equal((await ask(warden)).status === 403, needed !== disable, path)
          t.equal((await ask(consumer)).json().code, 401, 'a C session never passes')
          t.equal((await ask()).json().code, 401)
        }
      })
    }

    t.test(
      'GET /api/v1/sys/session/current: the client’s own session, and which of these permissions it has',
      async t => {
        const current = '/api/v1/sys/session/current'
        const all = ['sys:session:page', 'sys:session:exit', 'sys:session:disable', 'sys:session:token']
        t.match((await fixture.get(current, admin)).json().data, {
          user_id: '1',
          username: 'admin',
          nickname: 'Admin',
          permissions: all,
        })
        const user_id = someone()
        const clerk = await fixture.gateway.sides.business.login(undefined, user_id, { roles: ['operator'] })
        t.same((await fixture.get(current, clerk)).json().data, {
          user_id,
          username: null,
          nickname: null,
          permissions: ['sys:session:page'],
        })
        t.same((await fixture.get(current, await officer(fixture))).json().data.permissions, [])
        const consumer = await fixture.gateway.sides.consumer.login(undefined, someone(), { roles: ['SUPER_ADMIN'] })
        t.equal((await fixture.get(current, consumer)).json().code, 401)
        t.equal((await fixture.get(current)).json().code, 401)
      },
    )
  },
  MINE,
)

t.test('profile 1 serves session administration, profile 2 when it is switched on', async t => {
  for (const [profile, setting, served] of [
    [1, undefined, true],
    [1, false, false],
    [2, undefined, false],
    [2, 'on', true],
  ] as const) {
    const fixture = await startFixture({
      profile,
      config: setting === undefined ? {} : { session_administration: setting },
    })
    const answer = await fixture.get('/api/v1/sys/session/page', await fixture.signIn())
    t.equal(answer.json().data?.records !== undefined, served, `profile ${profile}, ${setting}`)
    await fixture.close()
  }
})

t.test('with any administration a session reads its permissions for what is served, and the journal', async t => {
  const sessions = ['sys:session:page', 'sys:session:exit', 'sys:session:disable', 'sys:session:token']
  const accounts = ['sys:account:page', 'sys:account:edit']
  const keys = ['sys:key:page', 'sys:key:edit']
  for (const [config, permissions] of [
    [{ session_administration: false }, [...accounts, ...keys, 'sys:journal:page']],
    [{ session_administration: false, journal: 'off', keys: { business: 'off' } }, accounts],
    [{ account_administration: false }, [...sessions, ...keys, 'sys:journal:page']],
    [{ session_administration: false, account_administration: false }, null],
  ] as const) {
    const fixture = await startFixture({ config })
    const admin = await fixture.signIn()
    const current = await fixture.get('/api/v1/sys/session/current', admin)
    t.same(current.json().data?.permissions ?? null, permissions, JSON.stringify(config))
    const journal = await fixture.get('/api/v1/sys/journal/page', admin)
    t.equal(journal.json().data?.records !== undefined, permissions?.includes('sys:journal:page') ?? false)
    if (permissions === null) t.equal(fixture.upstream.requests.length, 2, 'the paths are those of a backend')
    await fixture.close()
  }
})

t.test('in zh-CN the timeouts read as the clients expect', async t => {
  const fixture = await openFixture(t, { config: { locale: 'zh-CN' } })
  const admin = await fixture.signIn()
  const [record] = (await fixture.get('/api/v1/sys/session/page', admin)).json().data.records
  t.match(record.session_timeout, /^剩余 (30天 0|29天 23)小时$/)
})

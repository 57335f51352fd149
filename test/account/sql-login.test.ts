import bcrypt from 'bcrypt'
import t from 'tap'
import { codeAt } from '../second-factor/factor-fixture.ts'
import { missingDatabase, startDatabase } from '../support/database-server.ts'
import { openFixture } from '../support/gateway-fixture.ts'

const PASSWORD = 'correct horse 2'
const hash = bcrypt.hashSync(PASSWORD, 4)
const USERS: [id: string, username: string, password: string, status: string][] = [
  ['9007199254740993', 'anna', hash.replace('$2b$', '$2a$'), 'ACTIVE'],
  ['9007199254740994', '管理员', hash, 'ACTIVE'],
  ['9007199254740995', 'carla', hash.replace('$2b$', '$2y$'), 'ACTIVE'],
  ['9007199254740996', 'left', hash, 'INACTIVE'],
]

for (const kind of ['postgres', 'mysql'] as const) {
  t.test(`accounts in ${kind}`, { skip: missingDatabase(kind) }, async t => {
    const server = await startDatabase(kind)
    t.teardown(() => server.stop())
    const table = `dualgate_staff_${process.pid}`
    const charset = kind === 'mysql' ? ' CHARACTER SET utf8mb4' : ''
    await server.run(
      `CREATE TABLE ${table} (id bigint PRIMARY KEY, login varchar(64), hash varchar(80), state varchar(10), roles text, factor text)${charset}`,
    )
    if (server.own === null) t.teardown(() => server.run(`DROP TABLE ${table}`))
    for (const [id, username, password, status] of USERS) {
      const text = Buffer.from(username).toString('hex')
      const name = kind === 'mysql' ? `CONVERT(X'${text}' USING utf8mb4)` : `convert_from('\\x${text}', 'UTF8')`
      await server.run(
        `INSERT INTO ${table} VALUES (${id}, ${name}, '${password}', '${status}', 'operator,auditor', NULL)`,
      )
    }
    const query = `SELECT id, login AS username, hash AS password, state AS status, roles, factor AS second_factor FROM ${table} WHERE login = :username`
    const update = {
      password: `UPDATE ${table} SET hash = :password WHERE id = :id`,
      second_factor: `UPDATE ${table} SET factor = :second_factor WHERE id = :id`,
    }
    const accounts = { kind: 'sql', url: server.url, query, update, timeout: '20s' }
    const fixture = await openFixture(t, { config: { accounts } })
    const signIn = async (username: string, password = PASSWORD) =>
      fixture.post('/api/v1/public/b/login', await fixture.credentials(username, password))

    await t.test('their users sign in at the real endpoint, with every form of bcrypt hash', async t => {
      for (const [id, username, , status] of USERS) {
        if (status !== 'ACTIVE') continue
        const token = await fixture.signIn(username, PASSWORD)
        const { data } = await fixture.operate('business', 'get-login-id-by-token', { token })
        t.equal(data.user_id, id)
      }
    })

    await t.test('the columns of a user are stored in the session', async t => {
      const token = await fixture.signIn('管理员', PASSWORD)
      const found = await fixture.store.sessions.find('BUSINESS', token)
      t.match(found?.extra, { username: '管理员', status: 'ACTIVE', roles: ['operator', 'auditor'] })
      t.notMatch(JSON.stringify(found), hash.slice(7))
    })

    await t.test(
      'a wrong password and an unknown name get the same answer, an inactive user gets its status',
      async t => {
        const wrong = (await signIn('anna', 'wrong horse')).json()
        const unknown = (await signIn(`anna' OR '1'='1`)).json()
        t.equal(wrong.code, 400)
        t.equal(wrong.message, 'Wrong username or password')
        t.same({ ...unknown, trace_id: '' }, { ...wrong, trace_id: '' })
        t.equal((await signIn('left')).json().message, 'Account inactive')
      },
    )

    await t.test('a second factor is stored encrypted in the table, needed at the login, and removed', async t => {
      const own = await fixture.signIn('anna', PASSWORD)
      const other = await fixture.signIn('anna', PASSWORD)
      const { password: current_password } = await fixture.credentials('anna', PASSWORD)
      const post = async (name: string, body: object) =>
        (await fixture.post(`/api/v1/b/account/second-factor/${name}`, body, own)).json()
      const factorOf = async () => (await server.run(`SELECT factor FROM ${table} WHERE login = 'anna'`))[0]!.factor

      const { secret } = (await post('setup', { current_password })).data
      t.equal(await factorOf(), null)
      const { recovery_codes } = (await post('confirm', { code: codeAt(secret, fixture.now()) })).data
      t.match(await factorOf(), /^[\w-]{12}\.[\w-]{100,}$/)
      t.ok(await fixture.store.sessions.find('BUSINESS', other), 'to gain one ends no session')

      const step = async (ticket: string, code: string) =>
        (await fixture.post('/api/v1/public/b/login/second-factor', { ticket, code })).json()
      const { data } = (await signIn('anna')).json()
      t.match(data, { required: 'second-factor' })
      t.match(await step(data.ticket, recovery_codes[0]), { code: 200, data: { token: /./ } })
      t.match(await step((await signIn('anna')).json().data.ticket, recovery_codes[0]), { code: 400 })

      t.match(await post('remove', { current_password, code: recovery_codes[1] }), { code: 200, data: null })
      t.equal(await factorOf(), null)
      t.ok(await fixture.store.sessions.find('BUSINESS', own))
      t.equal(await fixture.store.sessions.find('BUSINESS', other), null)
    })

    await t.test('a user changes the own password in the table, and only the session of the request stays', async t => {
      const [own, other] = [await fixture.signIn('carla', PASSWORD), await fixture.signIn('carla', PASSWORD)]
      const { password: current_password } = await fixture.credentials('carla', PASSWORD)
      const { password: new_password } = await fixture.credentials('carla', 'battery staple 7')
      t.match((await fixture.get('/api/v1/b/account', own)).json().data, {
        user_id: '9007199254740995',
        username: 'carla',
        second_factor: false,
        password_changed_at: null,
        can: ['password', 'second-factor'],
      })
      const changed = await fixture.post('/api/v1/b/account/password', { current_password, new_password }, own)
      t.match(changed.json(), { code: 200, data: { ended: 2 } }, 'with that of an earlier test')
      t.match(await fixture.store.sessions.find('BUSINESS', own), { user_id: '9007199254740995' })
      t.equal(await fixture.store.sessions.find('BUSINESS', other), null)
      t.equal((await signIn('carla')).json().code, 400, 'the old one')
      t.ok(await fixture.signIn('carla', 'battery staple 7'))
    })

    const shared = server.own === null && 'LEFT OUT: the server is not the test’s own'
    await t.test(
      'without the database a login is answered with 503, and sessions live on',
      { skip: shared },
      async t => {
        const token = await fixture.signIn('anna', PASSWORD)
        await server.own!.kill()
        for (const password of [PASSWORD, 'wrong horse']) {
          const answer = await signIn('anna', password)
          t.equal(answer.status, 503)
          t.match(answer.json(), { code: 503, success: false, data: null })
        }
        t.equal((await fixture.get('/api/v1/orders', token)).status, 200)
        const log = fixture.log.join('\n')
        t.match(log, 'the database of the accounts')
        for (const secret of [server.url, decodeURIComponent(new URL(server.url).password), hash.slice(7)])
          t.notMatch(log, secret)
        await server.own!.restart()
        t.ok(await fixture.signIn('anna', PASSWORD))
      },
    )
  })
}

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { AccountsReader } from '../../src/account/file/accounts-reader.ts'
import { fileUpdates } from '../../src/account/file/gateway-edits.ts'
import { readAccounts } from '../../src/account/file/source.ts'
import { Writability } from '../../src/account/file/writability.ts'
import { versionOf } from '../../src/account/version.ts'
import { type Fixture, openFixture, someone, startFixture, withEveryStore } from '../support/gateway-fixture.ts'
import { addUser, makeOwnKey, PASSWORD } from '../support/keys.ts'

/* Accounts that administrators manage: what each call answers, and whom it obeys. */

const CONFIG = { account_administration: true, login: { consumer: { kind: 'file', path: 'consumers.yaml' } } }
const TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/
const SIDES = [
  ['business', '/api/v1/sys/account', 'accounts.yaml'],
  ['consumer', '/api/v1/client/account', 'consumers.yaml'],
] as const

/** One of each class that YAML does not have in a text: C0, C1, halves of characters, two noncharacters. */
const UNPRINTABLE = ['\0', '\n', '\u0007', '\u007f', '\u0085', '\u009f', '\ud800', '\udfff', '\ufffe', '\uffff']
/** Their neighbours, and what editors like to hide. */
const PRINTABLE = 'x\u00a0\u00ad\u200b\u2028\ud7ff\ue000\ufeff\ufffd\u{10000}\u{1fffe}\u{10ffff}x'

type Rights = { roles?: string[]; permissions?: string[] }

/** What administrators do, in short. */
function administer(fixture: Fixture, base: string, token: string) {
  const get = async (path: string) => (await fixture.get(`${base}/${path}`, token)).json()
  const post = async (path: string, body: object) => (await fixture.post(`${base}/${path}`, body, token)).json()
  return {
    get,
    post,
    add: async (rights: Rights & { username?: string; password?: string } = {}): Promise<string> => {
      const { data, ...answer } = await post('add', { username: someone(), ...rights })
      if (answer.success !== true) throw new Error(JSON.stringify(answer))
      return data.id
    },
    detail: async (id: string) => (await get(`detail?id=${id}`)).data,
  }
}

/** A session of an account, with the version that a login gives it. */
const sessionOf = async (fixture: Fixture, side: 'business' | 'consumer', id: string): Promise<string> =>
  fixture.gateway.sides[side].login(undefined, id, await extraOf(fixture, side, id))

/** What a login of an account writes into a session. */
async function extraOf(fixture: Fixture, side: 'business' | 'consumer', id: string) {
  const file = side === 'business' ? 'accounts.yaml' : 'consumers.yaml'
  const account = (await readAccounts(join(fixture.folder, file))).byId.get(id)!
  return { ...account.extra, account_version: versionOf(account) }
}

withEveryStore(
  t,
  async (t, fixture) => {
    const admin = await fixture.signIn()
    const chief = administer(fixture, '/api/v1/sys/account', admin)

    for (const [side, base, file] of SIDES) {
      const { get, post, add, detail } = administer(fixture, base, admin)
      const isLive = async (token: string): Promise<boolean> => {
        const path = side === 'business' ? '/api/v1/b/x' : '/api/v1/c/x'
        return (await fixture.get(path, token)).json().code !== 401
      }

      t.test(`${base}: an account is added with a password that is made and shown once`, async t => {
        const username = `N${someone()}`
        const added = await post('add', { username, nickname: '新人', roles: ['operator'], permissions: ['a:b'] })
        t.match(added, { success: true, data: { id: /^\d{19}$/, password: /^\S{24,}$/ } })
        const { id, password } = added.data
        const { revision, ...shown } = await detail(id)
        t.match(revision, /^\S{8,}$/)
        t.same(shown, {
          id,
          username,
          nickname: '新人',
          status: 'ACTIVE',
          service: false,
          roles: ['operator'],
          permissions: ['a:b'],
          second_factor: false,
          must_change_password: true,
          password_changed_at: (await detail(id)).password_changed_at,
          last_login_time: null,
          editable: true,
        })
        t.match((await detail(id)).password_changed_at, TIME)
        t.notMatch(readFileSync(join(fixture.folder, file), 'utf8'), password)
        t.notMatch(fixture.log.join(''), password)
        t.match((await post('add', { username: username.toLowerCase() })).message, /^username: is taken$/)
      })

      t.test(`${base}: the known roles are listed, and which of them the administrator may grant`, async t => {
        t.same(
          (await get('roles')).data.map(({ name, grantable }: { name: string; grantable: boolean }) => [
            name,
            grantable,
          ]),
          [
            ['SUPER_ADMIN', true],
            ['operator', true],
          ],
        )
        const operator = await chief.add({ roles: ['operator'], permissions: ['sys:account:page'] })
        const asOperator = administer(fixture, base, await sessionOf(fixture, 'business', operator))
        t.match(await asOperator.get('roles'), {
          success: true,
          data: [
            { name: 'SUPER_ADMIN', permissions: ['**'], grantable: false },
            { name: 'operator', permissions: ['sys:session:page'], grantable: true },
          ],
        })
        const unprivileged = await fixture.gateway.sides.business.login(undefined, someone())
        t.match((await fixture.get(`${base}/roles`, unprivileged)).json(), { code: 403 })
      })

      t.test(`${base}: a password that is sent follows the policy, and is not shown`, async t => {
        const encrypted = async (password: string) => (await fixture.credentials('x', password)).password
        const username = someone()
        const short = await post('add', { username, password: await encrypted('short') })
        t.match(short, { code: 400, data: { faults: ['min_length'] } })
        t.match(await post('add', { username, password: 'plain text' }), { code: 400, message: /^password: / })
        const fields = { username, password: await encrypted('a good one 7'), must_change_password: false }
        const { data } = await post('add', fields)
        t.same(Object.keys(data), ['id'])
        t.match(await detail(data.id), { must_change_password: false })
        t.match(await post('reset-password', { id: data.id, password: await encrypted(username) }), {
          data: { faults: ['username'] },
        })
        t.same((await post('reset-password', { id: data.id, password: await encrypted('another one 7') })).data, {})
        t.match(await detail(data.id), { must_change_password: true })
      })

      t.test(`${base}: a service account is added without a password, and is edited and removed as others`, async t => {
        const from = fixture.log.length
        const { data } = await post('add', { username: someone(), service: true, roles: ['operator'] })
        t.same(Object.keys(data), ['id'])
        const { id } = data
        const shown = { service: true, roles: ['operator'], second_factor: false, must_change_password: false }
        t.match(await detail(id), { ...shown, password_changed_at: null, editable: true })
        t.match((await get(`page?keyword=${id}`)).data.records, [shown])
        const entry = parse(readFileSync(join(fixture.folder, file), 'utf8')).accounts.find(
          (account: { id: string }) => account.id === id,
        )
        t.match(entry, { service: true, added: /^\d{4}-\d\d-\d\dT/ })
        t.notOk('password' in entry)
        const fields = { nickname: 'Robot', roles: [], permissions: ['a:b'], status: 'LOCKED' }
        t.match(await post('edit', { id, ...fields }), { success: true })
        t.match(await detail(id), { ...fields, service: true })
        t.match(await post('remove', { id }), { success: true })
        const events = fixture.log.slice(from).map(line => JSON.parse(line))
        t.same(
          events.filter(({ msg, login_id }) => msg === 'event' && login_id === id).map(({ event }) => event),
          ['account-added', 'account-edited', 'account-removed'],
        )
      })

      t.test(`${base}: a service account gets no password and no second factor, and is not added with one`, async t => {
        const { password } = await fixture.credentials('x', 'a good one 7')
        for (const [field, value] of Object.entries({ password, must_change_password: true }))
          t.match(await post('add', { username: someone(), service: true, [field]: value }), {
            code: 400,
            message: `${field}: must be left out: a service account has no password`,
          })
        t.match(await post('add', { username: someone(), service: 'yes' }), { code: 400, message: /^service: / })
        for (const service of [false, null])
          t.match((await post('add', { username: someone(), service })).data, { id: String, password: String })

        const { id } = (await post('add', { username: someone(), service: true })).data
        const before = readFileSync(join(fixture.folder, file), 'utf8')
        const from = fixture.log.length
        const short = (await fixture.credentials('x', 'short')).password
        for (const [path, body] of [
          ['reset-password', {}],
          ['reset-password', { password: short }],
          ['reset-second-factor', {}],
        ] as const) {
          t.match(await post(path, { id, ...body }), {
            code: 400,
            message: 'id: belongs to a service account, which has no password and no second factor',
          })
        }
        t.equal(readFileSync(join(fixture.folder, file), 'utf8'), before)
        t.notMatch(fixture.log.slice(from).join(), /"event":"(password|second-factor)-/)
      })

      t.test(`${base}: pages follow the order of the file, by keyword and status`, async t => {
        const mark = someone()
        const ids: string[] = []
        for (const n of [1, 2, 3]) ids.push(await add({ username: `${mark}-${n}` }))
        await post('edit', { id: ids[1], status: 'LOCKED', nickname: `${mark} Zoë` })
        const found = async (query: string) => {
          const { data } = await get(`page?${query}`)
          return data.records.map((record: { id: string }) => record.id)
        }
        t.same(await found(`keyword=${mark.toUpperCase()}`), ids)
        t.same(await found(`keyword=${mark}&size=2&current=2`), [ids[2]])
        t.same(await found(`keyword=${encodeURIComponent('ZOË')}`), [ids[1]])
        t.same(await found(`keyword=${ids[0]}`), [ids[0]])
        t.same(await found(`keyword=${ids[0]!.slice(1)}`), [])
        t.same(await found(`keyword=${mark}&status=LOCKED`), [ids[1]])
        t.same(await found(`keyword=${mark}&status=`), ids)
        t.match((await get(`page?keyword=${mark}&size=2`)).data, { total: 3, page: 1, size: 2, pages: 2 })
        for (const query of ['size=101', 'size=0', 'current=0', 'status=locked', 'size=x']) {
          t.match(await get(`page?${query}`), { code: 400 }, query)
        }
      })

      t.test(`${base}: the last login is shown of users who are online`, async t => {
        const id = await add()
        await sessionOf(fixture, side, id)
        t.match(await detail(id), { last_login_time: TIME })
        await fixture.gateway.sides[side].kickout(id)
        t.match(await detail(id), { last_login_time: null })
      })

      t.test(
        `${base}: what takes rights away has ended the sessions when it answers, and a nickname ends none`,
        async t => {
          const changes: [path: string, body: object, ends: boolean][] = [
            ['edit', { nickname: 'Other' }, false],
            ['edit', { roles: ['operator'], status: 'ACTIVE' }, false],
            ['edit', { roles: [] }, true],
            ['edit', { permissions: ['a'] }, true],
            ['edit', { status: 'INACTIVE' }, true],
            ['reset-password', {}, true],
            ['reset-second-factor', {}, false],
            ['remove', {}, true],
          ]
          for (const [path, body, ends] of changes) {
            const id = await add({ roles: ['operator'] })
            const tokens = [await sessionOf(fixture, side, id), await fixture.gateway.sides[side].login(undefined, id)]
            t.match(await post(path, { id, ...body }), { success: true }, path)
            const live = await Promise.all(tokens.map(isLive))
            t.same(live, ends ? [false, false] : [true, true], `${path} ${JSON.stringify(body)}`)
          }
        },
      )

      t.test(`${base}: a lost second factor is removed, and ends the sessions`, async t => {
        const id = await add()
        const older = await sessionOf(fixture, side, id)
        await withSecondFactor(join(fixture.folder, file), id)
        t.match(await post('reset-password', { id }), { success: true })
        t.match(await detail(id), { second_factor: true }, 'who gets another password still needs it')
        const token = await sessionOf(fixture, side, id)
        t.match(await post('reset-second-factor', { id }), { success: true, data: null })
        t.same([await isLive(token), await isLive(older)], [false, false], 'also one from before its set-up')
        t.match(await detail(id), { second_factor: false })
        t.equal(await isLive(await sessionOf(fixture, side, id)), true)
      })

      t.test(`${base}: a repeated change ends the sessions that the first one could not end`, async t => {
        const changes: [path: string, body: object, answer: object][] = [
          ['edit', { roles: [] }, { success: true }],
          ['edit', { status: 'LOCKED' }, { success: true }],
          ['reset-second-factor', {}, { success: true }],
          ['remove', {}, { code: 400, message: 'No such account' }],
        ]
        for (const [path, body, answer] of changes) {
          const id = await add({ roles: ['operator'] })
          await withSecondFactor(join(fixture.folder, file), id)
          const before = await extraOf(fixture, side, id)
          t.match(await post(path, { id, ...body }), { success: true }, path)
          const left = await fixture.gateway.sides[side].login(undefined, id, before)
          const from = fixture.log.length
          t.match(await post(path, { id, ...body }), answer, path)
          t.equal(await isLive(left), false, path)
          t.notMatch(fixture.log.slice(from).join(), /"event":"(account-|second-factor-)/, 'nothing else happened')
        }
      })

      t.test(`${base}: an edit with a revision does not undo what has changed since`, async t => {
        const id = await add({ roles: ['operator', 'auditor'] })
        const { revision } = await detail(id)
        const refused = { code: 400, success: false, message: 'The account has changed meanwhile: load it again' }
        const page = await get(`page?keyword=${id}`)
        t.match(page.data.records, [{ revision }])

        t.match(await post('edit', { id, revision, roles: ['auditor'] }), { success: true })
        t.match(await post('edit', { id, revision, roles: ['auditor'] }), { success: true }, 'the answer was lost')
        t.match(await post('edit', { id, revision, roles: ['operator', 'auditor', 'x'], nickname: 'Other' }), refused)
        t.match(
          await detail(id),
          { roles: ['auditor'], nickname: page.data.records[0].nickname },
          'nothing has changed',
        )
        t.match(
          await post('edit', { id, revision, permissions: ['a'] }),
          { success: true },
          'no other has changed these',
        )
        t.match(await post('edit', { id, revision: 'x', nickname: 'Other' }), refused)

        const now = (await detail(id)).revision
        t.not(now, revision)
        const edits = [1, 2, 3, 4].map(n => post('edit', { id, revision: now, roles: [`role-${n}`] }))
        const answers = await Promise.all(edits)
        t.equal(answers.filter(({ success }) => success).length, 1, 'of several at once one has changed it')
        t.match(await post('edit', { id, revision: null, roles: [] }), { success: true }, 'as without one')
        t.match(await post('edit', { id, revision: 'x'.repeat(129) }), { code: 400, message: /revision/ })
      })

      t.test(`${base}: unknown accounts and invalid fields are refused with 400`, async t => {
        const id = await add()
        for (const path of ['edit', 'reset-password', 'reset-second-factor', 'remove']) {
          t.match(await post(path, { id: 'nobody' }), { code: 400, message: 'No such account' })
        }
        t.match(await get('detail?id=nobody'), { code: 400, message: 'No such account' })
        const invalid: object[] = [
          { roles: 'SUPER_ADMIN' },
          { roles: [''] },
          { roles: [1] },
          { permissions: [null] },
          { roles: Array.from({ length: 257 }, () => 'a') },
          { permissions: ['x'.repeat(129)] },
          { nickname: 'x'.repeat(129) },
          { nickname: 'a\nb' },
          ...UNPRINTABLE.flatMap(text => [{ nickname: text }, { roles: [`a${text}`] }, { permissions: [`${text}a`] }]),
          { status: 'active' },
          { permissions: Array.from({ length: 60 }, (_, i) => `${'x'.repeat(120)}${i}`) },
        ]
        for (const fields of invalid) {
          t.match(
            await post('edit', { id, ...fields }),
            { code: 400, success: false },
            JSON.stringify(fields).slice(0, 80),
          )
          t.match(await post('add', { username: someone(), ...fields }), { code: 400, success: false })
        }
        for (const username of ['', ' a', ...UNPRINTABLE.map(text => `a${text}b`), 'x'.repeat(129), 7, null]) {
          t.match(await post('add', { username }), { code: 400, success: false })
        }
        t.match(await post('add', { username: someone(), must_change_password: 'no' }), { code: 400 })
        t.match(await detail(id), { roles: [], permissions: [] })
        t.match(await post('edit', { id, nickname: PRINTABLE }), { success: true })
        t.match(await detail(id), { nickname: PRINTABLE })
      })

      t.test(`${base}: further fields of a request change nothing`, async t => {
        const id = await add()
        const before = await detail(id)
        const hash = '$2b$04$'.padEnd(60, 'a')
        for (const fields of [
          { username: 'other', avatar: 'x', must_change_password: false },
          { password: { hash, changedAt: 0, mustChange: false } },
          { password: hash, second_factor: 'abcdefghijkl.x', secondFactor: null, password_changed_at: null },
          { set: { roles: ['SUPER_ADMIN'] }, remove: true, add: {}, ['__proto__']: { roles: ['x'] } },
        ]) {
          t.match(await post('edit', { id, ...fields }), { success: true })
        }
        t.same(await detail(id), before)
        t.notMatch(readFileSync(join(fixture.folder, file), 'utf8'), hash)
      })

      t.test(`${base}: every change is an event with who made it`, async t => {
        const from = fixture.log.length
        const id = await add()
        await post('edit', { id, nickname: 'Other' })
        await post('reset-password', { id })
        await withSecondFactor(join(fixture.folder, file), id)
        await post('reset-second-factor', { id })
        await post('remove', { id })
        const events = fixture.log
          .slice(from)
          .map(line => JSON.parse(line))
          .filter(({ msg, login_id }) => msg === 'event' && login_id === id)
        t.same(
          events.map(({ event }) => event),
          ['account-added', 'account-edited', 'password-reset', 'second-factor-reset', 'account-removed'],
        )
        for (const event of events) t.match(event, { by: '1', trace_id: String, type: side.toUpperCase() })
      })
    }

    t.test('a service account does not sign in, and its answer and event are those of an unknown name', async t => {
      const [robot, unknown] = [someone(), someone()]
      t.match(await chief.post('add', { username: robot, service: true }), { success: true })
      const traces = []
      for (const name of [robot, unknown]) {
        const from = fixture.log.length
        const sent = await fixture.credentials(name, 'any password 1')
        const { code, success, message, data } = (await fixture.post('/api/v1/public/b/login', sent)).json()
        const events = fixture.log.slice(from).map(line => JSON.parse(line))
        const [{ event, type, login_id, reason, username }] = events.filter(({ msg }) => msg === 'event')
        traces.push({ code, success, message, data, event, type, login_id, reason, username })
      }
      t.same(traces[0], traces[1])
      const expected = {
        code: 400,
        message: 'Wrong username or password',
        data: null,
        event: 'login-failed',
        login_id: null,
      }
      t.match(traces[0], { ...expected, username: undefined })
    })

    t.test('a list shows which accounts hold more than the administrator who reads it', async t => {
      const lesser = await chief.add({ permissions: ['sys:account:*', 'orders:read'] })
      const equal = await chief.add({ permissions: ['orders:read'] })
      const more = await chief.add({ permissions: ['orders:*'] })
      const { detail, get, post } = administer(
        fixture,
        '/api/v1/sys/account',
        await sessionOf(fixture, 'business', lesser),
      )
      t.match(await detail(equal), { editable: true })
      t.match(await detail(more), { editable: false })
      t.match(await post('edit', { id: equal, nickname: 'Equal' }), { success: true })
      t.match(await post('edit', { id: more, nickname: 'More' }), { code: 403 })
      t.match((await get(`page?keyword=${more}`)).data.records, [{ id: more, editable: false }])
      t.match(await chief.detail(more), { editable: true })
    })

    t.test('each call needs its permission, and the own session lists those that it has', async t => {
      const rights = { permissions: ['sys:account:page'] }
      const id = await chief.add(rights)
      const reader = administer(fixture, '/api/v1/sys/account', await sessionOf(fixture, 'business', id))
      t.match(await reader.get('page'), { success: true })
      t.match(await reader.get(`detail?id=${id}`), { success: true })
      for (const path of ['add', 'edit', 'reset-password', 'reset-second-factor', 'remove']) {
        t.match(await reader.post(path, { id, username: 'x' }), { code: 403, message: /sys:account:edit/ })
      }
      const none = administer(fixture, '/api/v1/sys/account', await sessionOf(fixture, 'business', await chief.add()))
      t.match(await none.get('page'), { code: 403, message: /sys:account:page/ })
    })
  },
  { config: CONFIG },
)

/** Writes a second factor as the gateway seals one. */
async function withSecondFactor(path: string, id: string): Promise<void> {
  const writability = new Writability(path, { error() {}, info() {} })
  await fileUpdates({ path, reader: new AccountsReader(path), writability }).setSecondFactor(
    id,
    'abcdefghijkl.sealed',
    null,
  )
}

t.test('a reset of a second factor ends keys from before it, and none where there is no factor', async t => {
  const fixture = await openFixture(t, { config: CONFIG })
  const admin = await fixture.signIn()
  const { id, token } = await addUser(fixture)
  const reset = () => fixture.post('/api/v1/sys/account/reset-second-factor', { id }, admin)
  const isLive = async (key: string) => (await fixture.get('/api/v1/b/x', key)).json().code !== 401
  const { key } = await makeOwnKey(fixture, token, {}, PASSWORD)
  t.match((await reset()).json(), { success: true })
  t.equal(await isLive(key), true, 'nothing was reset')
  await withSecondFactor(join(fixture.folder, 'accounts.yaml'), id)
  t.match((await reset()).json(), { success: true })
  t.equal(await isLive(key), false)
  const again = await fixture.gateway.sides.business.login(undefined, id, { username: id })
  const next = await makeOwnKey(fixture, again, {}, PASSWORD)
  t.match((await reset()).json(), { success: true }, 'a repeated call')
  t.equal(await isLive(next.key), true)
})

t.test('only accounts in a file are administered, in profile 2 where it is set', async t => {
  for (const [options, served] of [
    [{ profile: 1 }, true],
    [{ profile: 1, config: { account_administration: false } }, false],
    [{ profile: 2 }, false],
    [{ profile: 2, config: { account_administration: true } }, true],
  ] as const) {
    const fixture = await startFixture(options)
    const admin = await fixture.signIn()
    const answer = await fixture.get('/api/v1/sys/account/page', admin)
    t.equal(fixture.upstream.requests.length, served ? 0 : 1)
    t.equal(answer.text.includes('"username":"admin"'), served)
    await fixture.close()
  }
})

t.test('a faulty file leaves the accounts as they were, and no change replaces it', async t => {
  const fixture = await openFixture(t)
  const { get, post, add } = administer(fixture, '/api/v1/sys/account', await fixture.signIn())
  const id = await add({ username: 'ann' })
  t.match((await get('page?keyword=ann')).data, { total: 1 })
  const path = join(fixture.folder, 'accounts.yaml')
  const sound = readFileSync(path, 'utf8')
  const faulty = `${sound}  - id: 7\n`
  writeFileSync(path, faulty)
  t.match((await get('page?keyword=ann')).data, { total: 1 })
  t.match(await post('edit', { id, nickname: 'Other' }), { code: 503 })
  t.match(await post('add', { username: 'ben' }), { code: 503 })
  t.equal(readFileSync(path, 'utf8'), faulty)
  t.match(fixture.log.join('\n'), /the accounts file has faults; the accounts of its last valid version stay/)

  // What an editor saves is kept by the next change, with its comments.
  writeFileSync(path, `# by hand\n${sound}`)
  t.match(await post('edit', { id, nickname: 'Other' }), { success: true })
  t.match(readFileSync(path, 'utf8'), /^# by hand\n/)
  t.match((await get(`detail?id=${id}`)).data, { nickname: 'Other' })
})

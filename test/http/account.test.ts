import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import bcrypt from 'bcrypt'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { createLog } from '../../src/base/log/log.ts'
import { createGateway } from '../../src/gateway/gateway.ts'
import { type Answer, call } from '../support/client.ts'
import { type Fixture, openFixture, sm2KeyPath, startFixture } from '../support/gateway-fixture.ts'
import { encrypt, loginWork } from '../support/login-work.ts'
import { withoutRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'

/* The own account of a user, as pages use it. */

const PASSWORD = 'correct horse 2'
const HASH = bcrypt.hashSync(PASSWORD, 4)
const NEXT = 'battery staple 7'
const CONSUMERS = { login: { consumer: { kind: 'file', path: 'consumers.yaml' } } }
const FILES = { b: 'accounts.yaml', c: 'consumers.yaml' } as const
const JANE = { id: 'u-jane', username: 'Jane', password: HASH, nickname: 'Jane D', roles: ['operator'] }

type Section = keyof typeof FILES

const entriesOf = (fixture: Fixture, section: Section = 'b'): Record<string, unknown>[] =>
  parse(readFileSync(join(fixture.folder, FILES[section]), 'utf8')).accounts

/** Writes an account, in the place of an earlier one with its id. */
function write(fixture: Fixture, account: { id: string; username: string }, section: Section = 'b'): void {
  const others = section === 'b' ? entriesOf(fixture).filter(({ id }) => id !== account.id) : []
  writeFileSync(join(fixture.folder, FILES[section]), stringify({ accounts: [...others, account] }))
}

const keys = new WeakMap<Fixture, string>()
async function encrypted(fixture: Fixture, text: string): Promise<string> {
  const key = keys.get(fixture) ?? (await fixture.get(sm2KeyPath(fixture.profile))).json().data
  keys.set(fixture, key)
  return encrypt(text, key)
}

async function signIn(fixture: Fixture, password = PASSWORD, section: Section = 'b', username = 'jane') {
  const { id, answer } = await fixture.captcha(section)
  const body = {
    captcha_id: id,
    captcha_value: answer,
    username,
    password: await encrypted(fixture, password),
  }
  const answered = (await fixture.post(`/api/v1/public/${section}/login`, body)).json()
  if (answered.success !== true) throw new Error(answered.message)
  return answered.data.token as string
}

async function change(fixture: Fixture, token: string, from: string, to: string, section: Section = 'b', url = '') {
  const body = {
    current_password: await encrypted(fixture, from),
    new_password: await encrypted(fixture, to),
  }
  const path = `/api/v1/${section}/account/password`
  return call(url === '' ? fixture.url : url, { method: 'POST', path, body, token })
}

const lives = async (fixture: Fixture, token: string, section: Section = 'b'): Promise<boolean> =>
  isLive(await fixture.get(`/api/v1/${section}/x`, token))

/** How often a gateway has noticed that an account has changed. */
const readAgain = (log: readonly string[]): number =>
  log.map(line => JSON.parse(line)).filter(({ msg, changed }) => /read again/.test(msg) && changed > 0).length

const isLive = ({ text }: Answer): boolean => !text.includes('"code":401')

for (const [profile, store] of [
  [1, 'embedded'],
  [2, 'redis'],
] as const) {
  const skip = store === 'redis' && withoutRedis
  t.test(`profile ${profile}, ${store} store`, { skip }, async t => {
    const fixture = await openFixture(t, { profile, store, config: CONSUMERS })
    // Another worker with the same accounts.
    const lines: string[] = []
    const log = createLog('info', { write: line => void lines.push(line) })
    const another = await createGateway(fixture.settings, { log, helpers: loginWork })
    const { public: there } = await another.listen()
    t.teardown(() => another.close())

    for (const section of ['b', 'c'] as const) {
      t.test(`a user changes the own password, and only the session of the request stays: side ${section}`, async t => {
        write(fixture, JANE, section)
        const own = await signIn(fixture, PASSWORD, section)
        // A worker notices a change of accounts that it has read before.
        const shown = await call(there, { path: `/api/v1/${section}/account`, token: own })
        t.match(shown.json(), { data: { nickname: 'Jane D' } })
        const side = section === 'b' ? 'business' : 'consumer'
        let [from, to] = [PASSWORD, NEXT]
        const noticed = () => [fixture.log, lines].map(readAgain)
        for (const url of ['', there]) {
          const before = noticed()
          const begun = await Promise.all([1, 2].map(() => fixture.operate(side, 'login', { user_id: JANE.id })))
          const others = begun.map(({ data }) => data.token)
          const answer = (await change(fixture, own, from, to, section, url)).json()
          t.match(answer, { code: 200, success: true, data: { ended: 2 } })
          for (const other of others) t.equal(await lives(fixture, other, section), false)
          ;[from, to] = [to, 'another staple 9']
          t.ok(await until(() => noticed().every((count, i) => count > before[i]!)), 'both workers have noticed')
        }
        t.ok(await signIn(fixture, from, section))
        t.equal(await lives(fixture, own, section), true)
        t.equal(isLive(await call(there, { path: `/api/v1/${section}/x`, token: own })), true)
        t.match(entriesOf(fixture, section).at(-1), { id: JANE.id, password_changed_at: /^20\d\d-/ })
      })
    }

    t.test(
      'a user who was renamed meanwhile keeps the own account, and another one who got the name has it not',
      async t => {
        const renamed = { ...JANE, id: 'u-renamed', username: 'before' }
        write(fixture, renamed)
        const token = await signIn(fixture, PASSWORD, 'b', 'before')
        write(fixture, { ...renamed, username: 'after' })
        write(fixture, { ...JANE, id: 'u-heir', username: 'before' })
        const shown = async () => (await fixture.get('/api/v1/b/account', token)).json().data
        t.ok(await until(async () => (await shown()).username === 'after'))
        t.match(await shown(), { user_id: 'u-renamed', nickname: 'Jane D', can: ['password', 'second-factor'] })
        t.match((await change(fixture, token, PASSWORD, NEXT)).json(), { code: 200, data: { ended: 0 } })
        t.ok(await signIn(fixture, NEXT, 'b', 'after'))
        t.ok(await signIn(fixture, PASSWORD, 'b', 'before'))
      },
    )

    t.test(
      'a wrong current password is refused in the words of the login, and locks the name at the login',
      async t => {
        write(fixture, { ...JANE, id: 'u-guessed', username: 'guessed' })
        const token = await signIn(fixture, PASSWORD, 'b', 'guessed')
        const wrong = (await change(fixture, token, 'wrong', NEXT)).json()
        const login = (
          await fixture.post('/api/v1/public/b/login', await fixture.credentials('guessed', 'wrong'))
        ).json()
        t.match(wrong, { code: 400, message: login.message, data: null })
        const body = {
          current_password: await encrypted(fixture, 'wrong'),
          new_password: await encrypted(fixture, NEXT),
        }
        const path = '/api/v1/b/account/password'
        const guesses = await Promise.all(
          Array.from({ length: 12 }, (_, i) =>
            call(i % 2 === 0 ? there : fixture.url, { method: 'POST', path, body, token }),
          ),
        )
        t.equal(guesses.filter(guess => guess.json().code === 400).length, 3, 'five with the two before')
        const locked = (await change(fixture, token, PASSWORD, NEXT)).json()
        t.match(locked, { code: 403, data: { disable_time: Number } })
        const refused = await fixture.post('/api/v1/public/b/login', await fixture.credentials('guessed', PASSWORD))
        t.equal(refused.json().message, locked.message)
        t.equal(refused.json().code, 403)
      },
    )

    t.test('all faults of a new password come at once', async t => {
      write(fixture, { ...JANE, id: 'u-faults', username: 'faults' })
      const token = await signIn(fixture, PASSWORD, 'b', 'faults')
      const { code, data, message } = (await change(fixture, token, PASSWORD, 'abc123')).json()
      t.match({ code, data }, { code: 400, data: { faults: ['min_length', 'common'] } })
      t.match(message, /at least 10 characters.*common/)
      t.match((await change(fixture, token, PASSWORD, PASSWORD)).json().data, { faults: ['same'] })
      t.equal(await lives(fixture, token), true)
    })

    t.test('the own account is shown as its source has it, and that of no other user', async t => {
      write(fixture, { ...JANE, id: 'u-shown', username: 'Shown', avatar: '/a.png' } as never)
      const token = await signIn(fixture, PASSWORD, 'b', 'shown')
      const account = {
        user_id: 'u-shown',
        username: 'Shown',
        nickname: 'Jane D',
        avatar: '/a.png',
        roles: ['operator'],
        permissions: ['sys:session:page'],
        second_factor: false,
        second_factor_required: false,
        recovery_codes_left: null,
        password_changed_at: null,
      }
      const shown = await fixture.get('/api/v1/b/account', token)
      t.match(shown.json().data, account)
      t.ok(shown.json().data.can.includes('password'))
      t.equal(shown.headers['cache-control'], 'no-store')
      t.notMatch(shown.text, /\$2b\$/)
      await change(fixture, token, PASSWORD, NEXT)
      const { password_changed_at } = (await fixture.get('/api/v1/b/account', token)).json().data
      t.match(password_changed_at, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
      for (const path of ['/api/v1/b/account', '/api/v1/c/account']) {
        t.equal((await fixture.get(path)).json().code, 401)
      }
      t.equal((await fixture.get('/api/v1/c/account', token)).json().code, 401, 'of the other side')
      t.equal((await change(fixture, token, NEXT, PASSWORD, 'c')).json().code, 401)
    })

    t.test('a session that a backend began has no account here, and changes none', async t => {
      const { token } = (await fixture.operate('business', 'login', { user_id: 'u-guest', extra: { nickname: 'G' } }))
        .data
      const { data } = (await fixture.get('/api/v1/b/account', token)).json()
      t.match(data, {
        user_id: 'u-guest',
        username: null,
        nickname: 'G',
        roles: null,
        permissions: null,
        second_factor: null,
        can: [],
      })
      t.equal((await change(fixture, token, PASSWORD, NEXT)).json().code, 400)
    })
  })
}

t.test('a source that stores no passwords has no route for them, and its users read that they cannot', async t => {
  const sql = { kind: 'sql', url: 'mysql://u:p@127.0.0.1:9/d', query: 'SELECT * FROM t WHERE name = :username' }
  const fixture = await openFixture(t, { config: { accounts: sql } })
  const { token } = (await fixture.operate('business', 'login', { user_id: 'u-1' })).data
  t.match((await fixture.get('/api/v1/b/account', token)).json().data, { user_id: 'u-1', can: [] })
  await fixture.post('/api/v1/b/account/password', {}, token)
  t.match(fixture.upstream.requests.at(-1), { method: 'POST', url: '/api/v1/b/account/password' })
  const document = (await fixture.get('/openapi.json')).json()
  t.notOk(Object.hasOwn(document.paths, '/api/v1/b/account/password'))
  t.ok(Object.hasOwn(document.paths, '/api/v1/b/account'))
  t.notOk(Object.hasOwn(document.paths, '/api/v1/c/account'))
})

t.test('what a source of accounts cannot do has no route and no place in the document', async t => {
  const url = 'mysql://u:p@127.0.0.1:9/d'
  const query = 'SELECT * FROM t WHERE name = :username'
  const password = 'UPDATE t SET hash = :password WHERE id = :id'
  const second_factor = 'UPDATE t SET factor = :second_factor WHERE id = :id'
  const ofPasswords = ['b/account/password', 'public/b/login/password']
  const ofFactors = ['setup', 'confirm', 'recovery-codes', 'remove'].map(name => `b/account/second-factor/${name}`)
  const inLogin = ['public/b/login/second-factor', 'public/b/login/second-factor/setup']
  const ofAccounts = ['sys/account/add', 'sys/account/edit']
  const all = [...ofPasswords, ...ofFactors, ...inLogin, ...ofAccounts]
  for (const [update, served] of [
    [{}, []],
    [{ password }, ofPasswords],
    [{ second_factor }, [...ofFactors, ...inLogin]],
  ] as const) {
    const accounts = { kind: 'sql', url, query, ...(Object.keys(update).length > 0 && { update }) }
    const fixture = await startFixture({ config: { accounts } })
    const { paths } = (await fixture.get('/openapi.json')).json()
    const { token } = (await fixture.operate('business', 'login', { user_id: 'u-1' })).data
    for (const route of all) {
      const isServed = (served as readonly string[]).includes(route)
      t.equal(Object.hasOwn(paths, `/api/v1/${route}`), isServed, route)
      const before = fixture.upstream.requests.length
      await fixture.post(`/api/v1/${route}`, {}, token)
      t.equal(fixture.upstream.requests.length, before + (isServed ? 0 : 1), route)
    }
    await fixture.close()
  }
})

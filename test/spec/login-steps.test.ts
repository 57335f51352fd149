import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import bcrypt from 'bcrypt'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { codeAt } from '../second-factor/factor-fixture.ts'
import { type Fixture, openFixture, withEveryStore } from '../support/gateway-fixture.ts'

const LOGIN = '/api/v1/public/b/login'
const FIRST = 'given by another'
const CHOSEN = 'chosen by the user'
const HASH = bcrypt.hashSync(FIRST, 4)

/** Adds accounts to a file of the gateway, as an editor does. */
function write({ folder }: Fixture, file: string, ...added: Record<string, unknown>[]): void {
  const path = join(folder, file)
  const { accounts } = parse(readFileSync(path, 'utf8'))
  const whole = added.map(one => ({ username: one.id, password: HASH, ...one }))
  writeFileSync(path, stringify({ accounts: [...accounts, ...whole] }))
}

const encrypted = async (fixture: Fixture, password: string) => (await fixture.credentials('any', password)).password!

/** Signs in on a side, and answers what the gateway answers. */
async function signIn(fixture: Fixture, username: string, password: string, section: 'b' | 'c' = 'b') {
  const { id, answer } = await fixture.captcha(section)
  const body = { captcha_id: id, captcha_value: answer, username, password: await encrypted(fixture, password) }
  return fixture.post(LOGIN.replace('/b/', `/${section}/`), body)
}

withEveryStore(
  t,
  async (t, fixture) => {
    t.test('POST login/password: a login that needs a new password ends with a token all the same', async t => {
      write(fixture, 'accounts.yaml', { id: 'ann', must_change_password: true })
      const demanded = await signIn(fixture, 'ann', FIRST)
      t.equal(demanded.status, 200, 'existing clients show the message of a 200')
      t.match(demanded.json(), {
        code: 403,
        success: false,
        message: 'Signing in needs one more step',
        data: { ticket: /^[\w-]{32}$/, required: 'password', expires_in: 300 },
      })
      t.match(demanded.headers, { 'cache-control': 'no-store' })
      t.equal(demanded.headers['www-authenticate'], undefined)
      const { ticket } = demanded.json().data

      for (const path of ['/api/v1/b/x', '/api/v1/c/x', '/api/v1/sys/session/page', '/api/v1/b/logout']) {
        t.equal((await fixture.get(path, ticket)).json().code, 401, `the ticket does not open ${path}`)
      }
      const short = await fixture.post(`${LOGIN}/password`, { ticket, new_password: await encrypted(fixture, 'short') })
      t.match(short.json(), { code: 400, data: { faults: ['min_length'] } })

      const body = { ticket, new_password: await encrypted(fixture, CHOSEN) }
      const done = await fixture.post(`${LOGIN}/password`, body)
      t.equal(done.headers['cache-control'], 'no-store')
      const { data } = done.json()
      t.match(data, { token: /^[\w-]+\.[\w-]+\.[\w-]+$/, token_name: 'Authorization', expires_in: 2592000 })
      t.equal((await fixture.get('/api/v1/b/x', data.token)).status, 200)
      t.match((await fixture.post(`${LOGIN}/password`, body)).json(), {
        code: 400,
        data: { required: 'login' },
        message: 'This sign-in has expired, sign in again',
      })
      t.equal((await signIn(fixture, 'ann', FIRST)).json().code, 400)
      t.equal((await signIn(fixture, 'ann', CHOSEN)).json().code, 200)
      t.equal((await fixture.get('/api/v1/b/x', data.token)).status, 200, 'the session stays')
    })

    t.test('a login in all its steps: set-up of a second factor, then a new password', async t => {
      write(fixture, 'accounts.yaml', { id: 'eve', roles: ['guarded'], must_change_password: true })
      const post = async (path: string, body: object) => (await fixture.post(LOGIN + path, body)).json()
      const first = (await signIn(fixture, 'eve', FIRST)).json()
      t.match(first, { code: 403, data: { required: 'second-factor-setup' } })
      const { ticket } = first.data
      const { data } = await post('/second-factor/setup', { ticket })
      t.match(data.qr, /^data:image\/png;base64,/)
      t.match(await post('/second-factor', { ticket, code: '12' }), { code: 400, message: 'Wrong code', data: null })
      const code = codeAt(data.secret, fixture.now())
      const second = await post('/second-factor', { ticket, code })
      t.match(second, {
        code: 403,
        success: false,
        data: { required: 'password', recovery_codes: Array(10).fill(/./) },
      })
      const new_password = await encrypted(fixture, CHOSEN)
      t.match(await post('/second-factor', { ticket, code }), { code: 400 }, 'the first ticket is used')
      const done = await post('/password', { ticket: second.data.ticket, new_password })
      t.equal((await fixture.get('/api/v1/b/x', done.data.token)).status, 200)

      const again = (await signIn(fixture, 'eve', CHOSEN)).json()
      t.match(again, { code: 403, data: { required: 'second-factor' } })
      t.match(await post('/second-factor', { ticket: again.data.ticket, code }), { code: 400 }, 'the code is used')
      const recovery = { ticket: again.data.ticket, code: second.data.recovery_codes[3] }
      t.match(await post('/second-factor', recovery), { code: 200, data: { token: /./, expires_in: 2592000 } })
      t.match(await post('/second-factor', recovery), { code: 400 })
      for (const line of fixture.log) {
        for (const secret of [ticket, second.data.ticket, data.secret, CHOSEN, ...second.data.recovery_codes]) {
          if (line.includes(secret)) t.fail(`a secret is in the log: ${line}`)
        }
      }
    })

    t.test('fields of a step that are missing or not text are refused with their names', async t => {
      for (const [body, message] of [
        [{}, 'ticket: is missing'],
        [{ ticket: 'x' }, 'new_password: is missing'],
        [{ ticket: 1, new_password: 'x' }, 'ticket: must be a string'],
        [{ ticket: 'x'.repeat(129), new_password: 'x' }, 'ticket: must be at most 128 characters'],
      ] as const) {
        t.match((await fixture.post(`${LOGIN}/password`, body)).json(), { code: 400, message })
      }
    })
  },
  { config: { login: { second_factor: { for: ['guarded'] } } } },
)

t.test('with native statuses a login that needs a step answers 403, never 401', async t => {
  const fixture = await openFixture(t, { config: { errors: { http_status: 'native' } } })
  write(fixture, 'accounts.yaml', { id: 'ann', must_change_password: true })
  const demanded = await signIn(fixture, 'ann', FIRST)
  t.equal(demanded.status, 403)
  t.match(demanded.json(), { code: 403, data: { required: 'password' } })
  const body = { ticket: 'unknown', new_password: await encrypted(fixture, CHOSEN) }
  t.equal((await fixture.post(`${LOGIN}/password`, body)).status, 400)
})

t.test('the C side has the same steps, and a ticket of one side is worth nothing on the other', async t => {
  const config = { login: { consumer: { kind: 'file', path: 'consumers.yaml' } } }
  const fixture = await openFixture(t, { config })
  writeFileSync(join(fixture.folder, 'consumers.yaml'), 'accounts: []\n')
  for (const file of ['accounts.yaml', 'consumers.yaml'])
    write(fixture, file, { id: 'ann', must_change_password: true })
  const { ticket } = (await signIn(fixture, 'ann', FIRST, 'c')).json().data
  const body = { ticket, new_password: await encrypted(fixture, CHOSEN) }
  t.match((await fixture.post(`${LOGIN}/password`, body)).json(), { code: 400, success: false })
  const done = await fixture.post(`${LOGIN.replace('/b/', '/c/')}/password`, body)
  const { token } = done.json().data
  t.equal((await fixture.get('/api/v1/c/x', token)).status, 200)
  t.equal((await fixture.get('/api/v1/b/x', token)).json().code, 401)
  t.equal((await signIn(fixture, 'ann', FIRST)).json().code, 403, 'the account of the B side is as it was')
})

t.test('with passwords.max_age, an account in the file whose password has no date needs a new one', async t => {
  const fixture = await openFixture(t, { config: { passwords: { max_age: '90d' } } })
  const password_changed_at = new Date().toISOString()
  write(fixture, 'accounts.yaml', { id: 'old' }, { id: 'new', password_changed_at })
  t.equal((await signIn(fixture, 'new', FIRST)).json().code, 200)
  const { ticket, required } = (await signIn(fixture, 'old', FIRST)).json().data
  t.equal(required, 'password')
  const body = { ticket, new_password: await encrypted(fixture, CHOSEN) }
  t.equal((await fixture.post(`${LOGIN}/password`, body)).json().code, 200)
  t.equal((await signIn(fixture, 'old', CHOSEN)).json().code, 200)
})

t.test('accounts from a backend without update_url have no such step', async t => {
  const secret = 'a secret of sixteen'
  const fixture = await openFixture(t, { config: { accounts: { kind: 'http', url: 'http://127.0.0.1:9/', secret } } })
  const { paths } = (await fixture.get('/openapi.json')).json()
  t.same(
    Object.keys(paths).filter(path => path.startsWith(`${LOGIN}/`)),
    [],
  )
})

import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import sm from 'sm-crypto'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { addAccount } from '../src/account/file/source.ts'
import { withoutUnchecked } from '../src/event/event.ts'
import { sealingKey } from '../src/second-factor/sealed.ts'
import { codeAt } from './second-factor/factor-fixture.ts'
import { folderWith } from './settings/folder.ts'
import { type Answer, call, callRaw } from './support/client.ts'
import { run } from './support/command-line.ts'
import {
  ADMIN,
  type Fixture,
  type FixtureOptions,
  openFixture,
  someone,
  startFixture,
} from './support/gateway-fixture.ts'
import { freePort } from './support/ports.ts'
import { newcomerFolder, startGateway } from './support/process.ts'
import { withoutRedis } from './support/redis-server.ts'
import { expectSecrecy } from './support/secrecy.ts'
import { until } from './support/until.ts'

/*
 * Whatever happens, nothing that is secret has a text form: not in a log line at any level, not in an answer that
 * refuses something, not in what is counted, documented or printed.
 */

/** Secrets by what they are, and everything that was said to others. */
class Listener {
  readonly #secrets = new Map<string, string>()
  readonly #heard: [where: string, text: string][] = []

  /** Registers a secret; earlier output is searched too. */
  knows(what: string, secret: string): string {
    if (secret.length < 4) throw new Error(`${what} is too short to be looked for`)
    this.#secrets.set(secret, what)
    return secret
  }

  /** A token is as good as its signature: the rest of it says nothing secret. */
  knowsToken(token: string): string {
    this.knows('a token', token.split('.').at(-1)!)
    return token
  }

  search(where: string, text: string): void {
    this.#heard.push([where, text])
  }

  /** Searches a refused answer. */
  refused(answer: Answer): Answer {
    this.search('an answer', JSON.stringify(answer.rawHeaders) + answer.text)
    return answer
  }

  /** The secrets that were found. */
  get leaks(): string[] {
    const found: string[] = []
    for (const [secret, what] of this.#secrets) {
      for (const form of new Set([secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])) {
        for (const [where, text] of this.#heard) {
          const at = text.indexOf(form)
          if (at !== -1) found.push(`${what} in ${where}: …${text.slice(Math.max(0, at - 80), at + 20)}…`)
        }
      }
    }
    return found
  }
}

const LOGIN = '/api/v1/public/b/login'

async function openHeard(t: Test, options: FixtureOptions): Promise<{ fixture: Fixture; listener: Listener }> {
  const listener = new Listener()
  const fixture = await openFixture(t, options)
  listener.knows('the key of the tokens', fixture.settings.jwt.secret_key)
  listener.knows('the internal secret', fixture.settings.internal.secret)
  listener.knows('the SM2 key', fixture.settings.login.sm2.private_key)
  return { fixture, listener }
}

/** Everything that was logged, and that the open paths serve. */
async function listenToAll(fixture: Fixture, listener: Listener): Promise<void> {
  for (const line of fixture.log) listener.search('the log', line)
  for (const path of ['/openapi.json', '/docs', '/redoc', '/favicon.ico']) listener.refused(await fixture.get(path))
  for (const path of ['/livez', '/readyz', '/metrics', '/openapi.json', '/']) {
    listener.refused(await call(fixture.internal, { path }))
  }
}

/** Everything that was published, as the journal keeps it. */
async function listenToJournal(t: Test, fixture: Fixture, listener: Listener): Promise<void> {
  const kept: unknown[] = []
  const keep = withoutUnchecked(event => void (event.event !== 'renew' && kept.push(event)))
  for (const line of fixture.log.map(line => JSON.parse(line))) if (line.msg === 'event') keep(line)
  const read = async () => (await fixture.store.journal.page({ size: 1000 })).entries
  t.ok(await until(async () => (await read()).length === kept.length))
  listener.search('the journal', JSON.stringify(await read()))
}

/** The body of a login request, with its secrets known. */
async function knownCredentials(
  fixture: Fixture,
  listener: Listener,
  password: string,
): Promise<Record<string, string>> {
  let body = await fixture.credentials(ADMIN.username, password)
  // Four hexadecimal digits can stand in a trace id by chance.
  while (/^[\da-f]+$/i.test(body.captcha_value!)) body = await fixture.credentials(ADMIN.username, password)
  listener.knows('an answer to a captcha', body.captcha_value!)
  listener.knows('an encrypted password', body.password!)
  listener.knows('a password', password)
  return body
}

async function logInGoodAndBad(fixture: Fixture, listener: Listener): Promise<string> {
  const good = await knownCredentials(fixture, listener, ADMIN.password)
  const token = listener.knowsToken((await fixture.post(LOGIN, good)).json().data.token)
  const reused = await fixture.post(LOGIN, good)
  const wrong = await fixture.post(LOGIN, await knownCredentials(fixture, listener, 'Tr0ub4dor&3 "quoted" \\ ü'))
  const blind = await knownCredentials(fixture, listener, 'never decrypted 7')
  const undecryptable = await fixture.post(LOGIN, { ...blind, password: `ff${blind.password!.slice(2)}` })
  const mistaken = await knownCredentials(fixture, listener, 'never checked 8')
  const wrongCaptcha = await fixture.post(LOGIN, {
    ...mistaken,
    captcha_value: listener.knows('a wrong answer', 'QZQZQ'),
  })
  const plain = {
    ...(await knownCredentials(fixture, listener, 'sent in the clear 9')),
    password: 'sent in the clear 9',
  }
  const cut = JSON.stringify(plain).slice(0, -3)
  for (const body of [plain, cut, { ...plain, password: [plain.password] }, { ...plain, username: null }]) {
    listener.refused(await fixture.post(LOGIN, body))
  }
  for (const answer of [reused, wrong, undecryptable, wrongCaptcha]) listener.refused(answer)
  const hash = /\$2[aby]\$\S+/.exec(readFileSync(join(fixture.folder, 'accounts.yaml'), 'utf8'))
  listener.knows('a hash of a password', hash![0].replace(/['"]$/, ''))
  return token
}

/** Tokens in every place where clients put them, rightly or wrongly. */
async function carryTokens(fixture: Fixture, listener: Listener, live: string): Promise<void> {
  const dead = listener.knowsToken(await fixture.gateway.sides.business.login(undefined, someone()))
  await fixture.gateway.sides.business.logout({ headers: { authorization: dead } })
  const forged = listener.knowsToken(`${live.slice(0, -6)}AAAAAA`)
  for (const token of [live, dead, forged]) {
    for (const path of [
      '/api/v1/b/x',
      '/api/v1/c/x',
      `/api/v1/b/x?token=${token}`,
      `/api/v1/public/b/x?token=${token}`,
    ]) {
      await fixture.call({
        path,
        token,
        headers: { cookie: `t=${token}`, referer: `http://x/?t=${token}`, 'x-api-key': token },
      })
    }
    listener.refused(await fixture.get('/api/v1/c/x', token))
    listener.refused(await fixture.get(`/api/v1/c//${token}`, token))
    listener.refused(await fixture.get(`/nothing/${token.slice(0, 4)}?t=${token}`, token))
    for (const path of ['/api/v1/sys/session/exit-token', '/api/v1/client/session/exit-token']) {
      listener.refused(await fixture.post(path, { user_id: 'nobody', token }, live))
      listener.refused(await fixture.post(path, `{"token":"${token}"`, live))
    }
    for (const section of ['b', 'c']) {
      listener.refused(await fixture.get(`/api/v1/${section}/session/tokens`, token))
      for (const body of [{ token }, { token: dead }, `{"token":"${token}"`]) {
        listener.refused(await fixture.post(`/api/v1/${section}/session/exit-token`, body, token))
      }
      listener.refused(await fixture.post(`/api/v1/${section}/session/exit-others`, { token }, token))
    }
    for (const operation of ['renew-timeout', 'kickout-token', 'get-extra', 'logout', 'no-such-operation']) {
      if (operation === 'logout' && token === live) continue
      listener.search(
        'an operation',
        JSON.stringify(await fixture.operate('consumer', operation, { token, user_id: 'x', seconds: 0 })),
      )
    }
    const twice = `GET /api/v1/b/x HTTP/1.1\r\nHost: x\r\nAuthorization: ${token}\r\nAuthorization: ${token}\r\nConnection: close\r\n\r\n`
    listener.search('a raw answer', await callRaw(fixture.url, twice))
    listener.search('a raw answer', await callRaw(fixture.url, twice.replace('GET ', 'GET').replace('Host', 'Ho st')))
  }
}

t.test('logins, tokens, operations and a webhook that fails', async t => {
  const secret = 'a key of webhooks that is long enough'
  const url = `http://127.0.0.1:${await freePort()}/hook`
  const { fixture, listener } = await openHeard(t, {
    profile: 2,
    config: {
      session_administration: true,
      own_sessions: { consumer: true },
      sessions: { tell_end: '1h' },
      events: { webhooks: [{ url, secret }] },
      errors: { http_status: 'native' },
    },
  })
  listener.knows('the key of a webhook', secret)
  const token = await logInGoodAndBad(fixture, listener)
  await carryTokens(fixture, listener, token)
  for (let i = 0; i < 6; i++) {
    listener.refused(await fixture.post(LOGIN, await knownCredentials(fixture, listener, `wrong password no. ${i}`)))
  }
  await fixture.operate('business', 'disable', { user_id: 'x', seconds: 60 })
  for (const wrong of ['a secret that is wrong', `${fixture.settings.internal.secret}0`]) {
    listener.knows('a wrong internal secret', wrong)
    listener.refused(
      await call(fixture.internal, { method: 'POST', path: '/operations/v1/business/login', token: wrong, body: {} }),
    )
  }
  t.ok(await until(() => fixture.log.some(line => line.includes('webhook not delivered'))))
  fixture.upstream.answer = (_request, response) => response.socket?.destroy()
  listener.refused(await fixture.get(`/api/v1/b/x?t=${token}`, token))
  await listenToAll(fixture, listener)
  await listenToJournal(t, fixture, listener)
  t.ok(fixture.log.length > 50, 'much was logged')
  t.same(listener.leaks, [])

  for (const file of readdirSync(fixture.settings.data)) {
    const { mode } = statSync(join(fixture.settings.data, file))
    t.equal((mode & 0o077).toString(8), '0', `${file} is for its owner only`)
  }
  const accounts = join(fixture.folder, 'more.yaml')
  await addAccount(accounts, { ...ADMIN, id: '2' })
  t.equal(statSync(accounts).mode & 0o077, 0, 'and so are the accounts')
})

t.test('the steps of a login', async t => {
  const config = { login: { second_factor: { for: 'all' } }, passwords: { max_age: '90d' }, log: { level: 'trace' } }
  const { fixture, listener } = await openHeard(t, { config })
  const post = (step: string, body: object) => fixture.post(LOGIN + step, body)
  const ticketOf = (answer: Answer): string => listener.knows('a ticket', answer.json().data.ticket)
  const signIn = async (password: string) => post('', await knownCredentials(fixture, listener, password))

  const ticket = ticketOf(await signIn(ADMIN.password))
  const shown = (await post('/second-factor/setup', { ticket })).json().data
  for (const name of ['secret', 'uri', 'qr']) listener.knows(`the ${name} of a second factor`, shown[name])
  listener.refused(await post('/second-factor', { ticket, code: listener.knows('a wrong code', 'ABCD-0815') }))
  const code = codeAt(shown.secret, fixture.now())
  const next = await post('/second-factor', { ticket, code })
  for (const one of next.json().data.recovery_codes) listener.knows('a recovery code', one)
  listener.refused(await post('/second-factor', { ticket, code }))

  const second = ticketOf(next)
  const chosen = await knownCredentials(fixture, listener, 'chosen by the user 1')
  const short = await knownCredentials(fixture, listener, 'short 1')
  for (const new_password of [short.password, 'plain text of a password', `ff${chosen.password!.slice(2)}`]) {
    listener.refused(await post('/password', { ticket: second, new_password }))
  }
  listener.knows('a password in the clear', 'plain text of a password')
  listener.refused(await post('/password', { ticket, new_password: chosen.password }))
  const done = await post('/password', { ticket: second, new_password: chosen.password })
  listener.knowsToken(done.json().data.token)
  listener.refused(await post('/password', { ticket: second, new_password: chosen.password }))
  for (const path of ['/api/v1/b/x', `/api/v1/b/x?token=${second}`]) listener.refused(await fixture.get(path, second))
  const cut = JSON.stringify({ ticket: second, code }).slice(0, -2)
  listener.refused(await fixture.post(`${LOGIN}/second-factor`, cut))
  await listenToAll(fixture, listener)
  await listenToJournal(t, fixture, listener)
  t.ok(fixture.log.some(line => line.includes('"step":"password"')))
  t.same(listener.leaks, [])
})

t.test('changes of the own password', async t => {
  const { fixture, listener } = await openHeard(t, { config: { log: { level: 'trace' } } })
  const { data } = (await fixture.post(LOGIN, await knownCredentials(fixture, listener, ADMIN.password))).json()
  const token = listener.knowsToken(data.token)
  const encrypted = async (password: string) => (await knownCredentials(fixture, listener, password)).password!
  const [present, wrong, short] = await Promise.all([ADMIN.password, 'never right 1', 'shorty 7'].map(encrypted))
  const chosen = await encrypted('chosen by the user 2')
  const change = (body: unknown) => fixture.post('/api/v1/b/account/password', body, token)
  for (const body of [
    { current_password: wrong, new_password: chosen },
    { current_password: present, new_password: short },
    { current_password: present, new_password: present },
    { current_password: present, new_password: listener.knows('a password in the clear', 'sent in the clear 4') },
    { current_password: [present], new_password: chosen },
    JSON.stringify({ current_password: present, new_password: chosen }).slice(0, -2),
  ]) {
    listener.refused(await change(body))
  }
  t.equal((await change({ current_password: present, new_password: chosen })).json().code, 200)
  listener.search('the own account', (await fixture.get('/api/v1/b/account', token)).text)
  await listenToAll(fixture, listener)
  t.ok(fixture.log.some(line => line.includes('"event":"password-changed"')))
  t.same(listener.leaks, [])
})

t.test('every other test searches the output of its gateway for secrets, and would find them', async t => {
  const fixture = await startFixture()
  const token = await fixture.signIn()
  const { password } = await fixture.credentials()
  const hash = /\$2[aby]\$[^\s'"]+/.exec(readFileSync(join(fixture.folder, 'accounts.yaml'), 'utf8'))![0]
  for (const secret of [token, password!, hash]) {
    t.throws(() => expectSecrecy([`{"msg":"it was ${secret}"}`]), /was told/)
  }
  t.throws(() => expectSecrecy(['it was a word'], { 'a secret': 'a word' }), /a secret was told/)
  expectSecrecy(fixture.log)
  fixture.log.push(`{"msg":"signed in with ${token}"}`)
  await t.rejects(fixture.close(), /a token was told/)
})

t.test('sources of accounts that fail', async t => {
  const port = await freePort()
  const password = 'pa55:of the database'
  const sources = {
    postgres: {
      kind: 'sql',
      url: `postgres://reader:${encodeURIComponent(password)}@127.0.0.1:${port}/db`,
      query: 'SELECT * FROM people WHERE name = :username',
    },
    mysql: {
      kind: 'sql',
      url: `mysql://reader:${encodeURIComponent(password)}@127.0.0.1:${port}/db`,
      query: 'SELECT * FROM people WHERE name = :username',
    },
    http: { kind: 'http', url: `http://127.0.0.1:${port}/accounts`, secret: 'a secret of the accounts' },
  }
  for (const [name, accounts] of Object.entries(sources)) {
    await t.test(name, async t => {
      const { fixture, listener } = await openHeard(t, { config: { accounts } })
      listener.knows('the password of the database', password)
      listener.knows('the secret of the accounts', sources.http.secret)
      const answer = await fixture.post(LOGIN, await knownCredentials(fixture, listener, 'my own pass 1'))
      t.equal(listener.refused(answer).status, 503)
      await listenToAll(fixture, listener)
      t.same(listener.leaks, [])
    })
  }
})

t.test('second factors: secret, codes, and what is stored of them', async t => {
  const { fixture, listener } = await openHeard(t, {})
  const key = sealingKey(undefined, fixture.settings.login.sm2.private_key)
  listener.knows('the key of second factors', key.toString('hex'))
  const token = listener.knowsToken(await fixture.signIn())
  const { password } = await fixture.credentials()
  const current_password = listener.knows('an encrypted password', password!)
  const post = (name: string, body: object) => fixture.post(`/api/v1/b/account/second-factor/${name}`, body, token)
  // Six digits can stand in a trace id by chance, but not as a whole text.
  const codeOf = (secret: string, steps: number): string => {
    const code = codeAt(secret, fixture.now(), steps)
    listener.knows('a code', JSON.stringify(code))
    return code
  }
  const setUp = async (code?: string): Promise<string> => {
    const { secret, uri, qr } = (await post('setup', { current_password, code })).json().data
    listener.knows('a shared secret', secret)
    listener.knows('the address of a secret', uri)
    listener.knows('the picture of a secret', qr.slice(-60))
    return secret
  }
  const knowsCodes = (answer: Answer): string[] =>
    answer.json().data.recovery_codes.map((code: string) => listener.knows('a recovery code', code))
  const knowsStored = () =>
    listener.knows(
      'a stored factor',
      /second_factor: \S+?\.(\S+)/.exec(readFileSync(join(fixture.folder, 'accounts.yaml'), 'utf8'))![1]!,
    )

  const secret = await setUp()
  for (const code of ['0000', listener.knows('a wrong code', '"424242"').slice(1, -1), 'no code at all']) {
    listener.refused(await post('confirm', { code }))
  }
  const codes = knowsCodes(await post('confirm', { code: codeOf(secret, 0) }))
  knowsStored()
  listener.refused(await post('confirm', { code: codeOf(secret, 1) }))
  const renewed = knowsCodes(await post('recovery-codes', { current_password, code: codes[0] }))
  knowsStored()
  listener.refused(await post('remove', { current_password, code: codes[1] }))
  listener.refused(await post('setup', { current_password, code: codes[2] }))
  await setUp(renewed[0])
  knowsStored()
  listener.refused(await post('remove', { current_password: 'ff', code: renewed[1] }))
  listener.refused(await post('remove', { current_password, code: renewed[1] }))
  listener.search('the page of a user', (await fixture.get('/api/v1/sys/session/page?size=5', token)).text)
  listener.search('the sessions of a user', JSON.stringify(await fixture.operate('business', 'get-extra', { token })))
  await listenToAll(fixture, listener)
  await listenToJournal(t, fixture, listener)
  t.ok(fixture.log.some(line => line.includes('second-factor-off')))
  t.same(listener.leaks, [])
})

t.test('a store that is away', { skip: withoutRedis }, async t => {
  const { fixture, listener } = await openHeard(t, { store: 'redis' })
  const token = listener.knowsToken(await fixture.signIn())
  const body = await knownCredentials(fixture, listener, 'in vain 1234')
  await fixture.redis!.kill()
  listener.refused(await fixture.get('/api/v1/b/x', token))
  listener.refused(await fixture.post(LOGIN, body))
  listener.search('an operation', JSON.stringify(await fixture.operate('business', 'kickout', { user_id: '1' })))
  listener.search('an operation', JSON.stringify(await fixture.operate('business', 'is-login', { token })))
  listener.search(
    'an operation',
    JSON.stringify(
      await fixture.operate('business', 'login', {
        user_id: '1',
        extra: { pin: listener.knows('data of a user', 'extra-pin-4711') },
      }),
    ),
  )
  await listenToAll(fixture, listener)
  t.ok(fixture.log.some(line => line.includes('"reason":"UNAVAILABLE"')))
  t.same(listener.leaks, [])
})

t.test('a password of Redis, right or wrong', { skip: withoutRedis }, async t => {
  const listener = new Listener()
  const password = listener.knows('the password of Redis', 'pass of redis 0815')
  const url = `redis://user:${encodeURIComponent(password)}@127.0.0.1:${await freePort()}`
  const fixture = await openFixture(t, { config: { store: { kind: 'redis', timeout: '300ms', redis: { url } } } })
  listener.refused(await fixture.get('/api/v1/public/b/captcha'))
  await listenToAll(fixture, listener)
  t.same(listener.leaks, [])
})

t.test('refused configurations, and the output of explain', async t => {
  const listener = new Listener()
  const written = {
    jwt: { secret_key: listener.knows('a key of tokens', 'short-and-secret') },
    internal: { secret: listener.knows('an internal secret', 'tooshort-0815') },
    login: { sm2: { private_key: listener.knows('an SM2 key', 'no-hex-but-secret') } },
    store: { kind: 'redis', redis: { url: `http://:${listener.knows('a password of Redis', 'pw-of-redis')}@x` } },
    accounts: {
      kind: 'sql',
      url: `oracle://me:${listener.knows('a password of a database', 'pw-of-sql')}@x/y`,
      query: 'x',
    },
    events: { webhooks: [{ url: 'http://x', secret: listener.knows('a key of webhooks', 'short-webhook') }] },
  }
  const folder = folderWith(t, {
    'gateway.yaml': stringify({ profile: 2, ...written }),
    'good.yaml': stringify({ upstreams: [], permissions: 'permissions.yaml', data: 'data' }),
    'permissions.yaml': 'roles: {}\n',
    'upstreams.yaml': 'upstreams: []\n',
  })
  const environment = {
    JWT__SECRET_KEY: listener.knows('a key of tokens', 'from-the-env'),
    INTERNAL__SECRET: listener.knows('an internal secret', 'env-secret'),
  }
  for (const config of ['gateway.yaml', 'good.yaml', 'none.yaml']) {
    for (const words of [['check'], ['explain', 'GET', '/api/v1/c/x'], ['start'], ['reload'], ['account', 'list']]) {
      const { code, output, errors } = await run(folder, [...words, '--config', config], { environment })
      t.ok(code > 0 || words[0] === 'account', `${words[0]} with ${config} is refused`)
      listener.search(`${words[0]} with ${config}`, output + errors)
    }
  }
  t.same(listener.leaks, [])
})

t.test('a crash reports the fault without fields that a library attached', async t => {
  const listener = new Listener()
  const token = listener.knows('a token', 'the-signature-of-a-token')
  const faults = {
    thrown: `throw Object.assign(new Error('boom'), { command: { name: 'set', args: ['${token}'] } })`,
    'rejected, with a cause': `void Promise.reject(new Error('boom', { cause: Object.assign(new Error('x'), { args: ['${token}'] }) }))`,
    'thrown later': `setTimeout(() => { throw Object.assign(new Error('boom'), { headers: { authorization: '${token}' } }) })`,
  }
  for (const [name, statement] of Object.entries(faults)) {
    const crash = new URL('../src/process/crash-report.js', import.meta.url)
    const program = `import { reportCrashes } from '${crash}'; reportCrashes(); ${statement}`
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      encoding: 'utf8',
    })
    t.equal(status, 1, name)
    t.match(JSON.parse(stderr), { level: 60, msg: 'crashed', err: { type: 'Error', message: 'boom', stack: /boom/ } })
    listener.search(`a crash, ${name}`, stdout + stderr)
  }
  t.same(listener.leaks, [])
})

t.test('processes: what they print from the first start to the last crash', async t => {
  const listener = new Listener()
  const { folder, remove } = newcomerFolder()
  t.teardown(remove)
  const gateway = await startGateway(folder, { WORKERS: '2', LOG__LEVEL: 'trace' })
  t.teardown(() => gateway.end('SIGKILL'))
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8').trim()
  const secret = listener.knows('the internal secret', read('data/internal.secret'))
  listener.knows('a hash', /\$2[aby]\$[^\s'"]+/.exec(read('config/accounts.yaml'))![0])
  const body = { user_id: someone(), extra: { pin: listener.knows('data of a user', 'pin-of-a-user') } }
  const login = { method: 'POST', path: '/operations/v1/consumer/login', token: secret, body }
  const token = listener.knowsToken((await call(gateway.internal, login)).json().data.token)
  await call(gateway.url, { path: `/api/v1/c/x?token=${token}`, token })
  const key = (await call(gateway.url, { path: '/api/v1/public/b/sm2/public-key' })).json().data
  const password = listener.knows('an encrypted password', sm.sm2.doEncrypt('any password', key, 1))
  await call(gateway.url, {
    method: 'POST',
    path: LOGIN,
    body: { captcha_id: 'x', captcha_value: 'abcd', username: 'admin', password },
  })
  gateway.child.kill('SIGHUP')
  t.ok(await until(() => /"reloaded|reload/.test(gateway.output())))
  await gateway.end('SIGTERM')

  // The first start says the first password, once, to the terminal of who started it, and to no log.
  const first = /password: (\S+)/.exec(gateway.output())![1]!
  listener.knows('the first password', first)
  const lines = gateway.output().split('\n')
  listener.search('what was printed', lines.filter(line => !/^\s*password: \S+$/.test(line)).join('\n'))
  t.equal(lines.filter(line => line.includes(first)).length, 1)
  t.same(listener.leaks, [])
  for (const file of [...readdirSync(join(folder, 'data')).map(name => `data/${name}`), 'config/accounts.yaml']) {
    t.equal(statSync(join(folder, file)).mode & 0o077, 0, `${file} is for its owner only`)
  }
})

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import bcrypt from 'bcrypt'
import t from 'tap'
import type { Account } from '../../src/account/source.ts'
import { versionOf, withVersions } from '../../src/account/version.ts'
import { Unavailable } from '../../src/base/refusal.ts'
import { createRecheck } from '../../src/login/recheck.ts'
import type { SessionRecord } from '../../src/session/record.ts'
import type { Session } from '../../src/side/side.ts'
import { call } from '../support/client.ts'
import { openFixture } from '../support/gateway-fixture.ts'
import { until } from '../support/until.ts'

const MINUTE = 60_000
const PASSWORD = 'correct horse 3'
const HASH = bcrypt.hashSync(PASSWORD, 4)
const OTHER_HASH = bcrypt.hashSync('battery staple', 4)
const version = (passwordHash: string, roles: string[] = []): string => versionOf({ passwordHash, extra: { roles } })
const withFactor = (name: string): string =>
  versionOf({ passwordHash: HASH, extra: { roles: [] }, secondFactor: `${name}.sealed` })

/**
 * A recheck of one user's sessions, with a clock that the test moves and a source that answers when the test says so. Asked
 * again before a session ends, it answers the same, or what is `present` by then.
 */
function open({ endsWithRoles = false } = {}) {
  const time = { now: 1_000_000_000, setBack: 0 }
  const asked: { username: string; answer(account: Partial<Account> | null): void; fail(fault: Error): void }[] = []
  const results: string[] = []
  const logged: unknown[] = []
  const ended: [id: string, extra: object, reason: string][] = []
  const sessions: SessionRecord[] = []
  const source: { isAskedAgain: boolean; present: Partial<Account> | null } = { isAskedAgain: false, present: null }
  const recheck = createRecheck({
    side: {
      type: 'BUSINESS',
      async kickoutWhere(id, reasonOf, _, readAgain) {
        const own = sessions.filter(({ user_id }) => user_id === id)
        source.isAskedAgain = true
        if (own.some(record => reasonOf(record, '') !== null)) await readAgain!()
        source.isAskedAgain = false
        const over = own.map(record => [record, reasonOf(record, '')] as const)
        for (const [{ extra }, reason] of over) if (reason !== null) ended.push([id, extra, reason])
        return over.filter(([, reason]) => reason !== null).length
      },
    },
    accounts: {
      ...(endsWithRoles && { endsWithRoles }),
      find: username =>
        new Promise((resolve, reject) => {
          const answer = (account: Partial<Account> | null): void => {
            source.present = account
            resolve(account as Account | null)
          }
          if (source.isAskedAgain) resolve(source.present as Account | null)
          else asked.push({ username, answer, fail: reject })
        }),
    },
    interval: MINUTE,
    clock: { now: () => time.now - time.setBack, elapsed: () => time.now },
    log: {
      warn: (...line: unknown[]) => void logged.push(line),
      error: (...line: unknown[]) => void logged.push(line),
    } as never,
    rechecked: (_side, result) => void results.push(result),
  })
  const session = (id: string, extra: object = { username: `name-${id}`, account_version: version(HASH) }): Session => {
    const record = { user_id: id, type: 'BUSINESS' as const, created_at: '', extra: { ...extra } }
    sessions.push(record)
    return { token: 'a.b.c' as never, claims: { jti: 'j', iat: time.now / 1000 }, record }
  }
  const account = (id: string, rest: Partial<Account> = {}): Partial<Account> => ({
    id,
    status: 'ACTIVE',
    version: version(HASH),
    ...rest,
  })
  const answered = async (count: number): Promise<void> => {
    await until(() => results.length >= count)
  }
  return { recheck, time, asked, source, results, logged, ended, session, account, answered }
}

t.test('a source is asked about a user at most once in the interval, and not before', async t => {
  const { recheck, time, asked, session, account, answered } = open()
  const [one, two] = [session('1'), session('1')]
  const use = (): void => [one, two, one].forEach(recheck.used)
  use()
  t.equal(asked.length, 0, 'the login has just asked')
  time.now += MINUTE
  use()
  t.same(
    asked.map(({ username }) => username),
    ['name-1'],
  )
  asked[0]!.answer(account('1'))
  await answered(1)
  time.now += MINUTE - 1
  use()
  t.equal(asked.length, 1)
  time.now += 1
  use()
  t.equal(asked.length, 2)
})

t.test('a source is asked as often where the clock is set back', async t => {
  const { recheck, time, asked, session, account, answered } = open()
  const [before, other] = [session('1'), session('2')]
  time.now += MINUTE
  recheck.used(before)
  asked[0]!.answer(account('1'))
  await answered(1)
  time.setBack = 60 * MINUTE
  recheck.used(other)
  t.equal(asked.length, 2, 'about a session that seems to be of the future')
  time.now += MINUTE
  recheck.used(before)
  t.equal(asked.length, 3)
})

t.test('no more than two questions are under way; the others are asked at a later use', async t => {
  const { recheck, time, asked, session, account, answered } = open()
  const sessions = Array.from({ length: 5 }, (_, i) => session(`${i}`))
  time.now += MINUTE
  for (let round = 0; round < 3; round++) for (const one of sessions) recheck.used(one)
  t.equal(asked.length, 2)
  for (const [i, { answer }] of asked.entries()) answer(account(`${i}`))
  await answered(2)
  for (const one of sessions) recheck.used(one)
  t.same(
    asked.map(({ username }) => username),
    ['name-0', 'name-1', 'name-2', 'name-3'],
  )
})

const ANSWERS: [what: string, answer: (id: string) => Partial<Account> | null, ended: string[]][] = [
  ['the same account', id => ({ id, status: 'ACTIVE', version: version(HASH) }), []],
  ['other roles', id => ({ id, status: 'ACTIVE', version: version(HASH, ['a']) }), []],
  ['another password', id => ({ id, status: 'ACTIVE', version: version(OTHER_HASH) }), ['password-changed']],
  ['no account', () => null, ['account-changed', 'account-changed']],
  [
    'another account of this name',
    () => ({ id: '2', status: 'ACTIVE', version: version(HASH) }),
    ['account-changed', 'account-changed'],
  ],
  [
    'a locked account',
    id => ({ id, status: 'LOCKED', version: version(HASH) }),
    ['account-changed', 'account-changed'],
  ],
]
for (const [what, answer, reasons] of ANSWERS) {
  t.test(`the answer "${what}" ends ${reasons.length} of two sessions, of which one carries no version`, async t => {
    const { recheck, time, asked, ended, results, session, answered } = open()
    const one = session('1')
    session('1', {})
    session('9')
    time.now += MINUTE
    recheck.used(one)
    asked[0]!.answer(answer('1'))
    await answered(1)
    t.same(
      ended.map(([id, , reason]) => [id, reason]),
      reasons.map(reason => ['1', reason]),
    )
    t.same(results, [reasons.length > 0 ? 'ended' : 'unchanged'])
  })
}

t.test('a second factor that is lost or replaced ends the sessions that began with it', async t => {
  const { recheck, time, asked, ended, session, account, answered } = open()
  const carrying = (...carried: [string, string?]) => session('1', withVersions({ username: 'name-1' }, ...carried))
  const [one, other] = [withFactor('one_factor12'), withFactor('otherfactor1')]
  const before = carrying(version(HASH))
  const first = carrying(one)
  carrying(one, version(HASH))
  const replacing = carrying(one, other)
  const cases = [
    [one, []],
    [other, [first]],
    [version(HASH), [first, replacing]],
  ] as const
  for (const [round, [present, over]] of cases.entries()) {
    time.now += MINUTE
    ended.length = 0
    recheck.used(before)
    asked[round]!.answer(account('1', { version: present }))
    await answered(round + 1)
    t.same(
      ended,
      over.map(({ record }) => ['1', record.extra, 'account-changed']),
      present,
    )
  }
})

t.test('a session that began after a later change than the answer lives', async t => {
  const { recheck, time, asked, source, ended, session, account, answered } = open()
  const one = session('1', { username: 'name-1', account_version: version(OTHER_HASH) })
  const older = session('1')
  time.now += MINUTE
  recheck.used(one)
  asked[0]!.answer(account('1'))
  source.present = account('1', { version: version(OTHER_HASH) })
  await answered(1)
  t.same(ended, [['1', older.record.extra, 'password-changed']])
})

t.test('a user who was renamed stays signed in by the new name', async t => {
  const { recheck, time, asked, ended, session, account, answered } = open()
  const carried = version(HASH)
  const old = session('1', { username: 'old', account_version: carried })
  const renamed = session('1', { username: 'new', account_version: carried })
  const unnamed = session('1', { account_version: carried })
  const asksNothing = session('1', { username: 'new' })
  const endedNow = () => ended.splice(0).map(([, extra, reason]) => [extra, reason])
  time.now += MINUTE
  recheck.used(old)
  asked[0]!.answer(null)
  await answered(1)
  t.same(
    endedNow(),
    [old, unnamed, asksNothing].map(({ record }) => [record.extra, 'account-changed']),
  )
  recheck.used(renamed)
  t.same(asked[1]?.username, 'new', 'it is judged by a question of its own, at its next use')
  asked[1]!.answer(account('1'))
  await answered(2)
  t.same(endedNow(), [])
  time.now += MINUTE
  recheck.used(old)
  asked[2]!.answer(account('1', { status: 'LOCKED' }))
  await answered(3)
  t.equal(endedNow().length, 4, 'an account that is there, and not ACTIVE, is judged for every name')
})

t.test('a session that changes its own password carries both versions, and survives either answer', async t => {
  const { recheck, time, asked, ended, session, account, answered } = open()
  const one = session('1', withVersions({ username: 'name-1' }, version(HASH), version(OTHER_HASH)))
  const other = session('1')
  for (const [round, hash] of [HASH, OTHER_HASH].entries()) {
    time.now += MINUTE
    recheck.used(one)
    asked[round]!.answer(account('1', { version: version(hash) }))
    await answered(round + 1)
    t.same(ended, round === 0 ? [] : [['1', other.record.extra, 'password-changed']])
  }
})

t.test('a lost role ends the sessions that have it where the source says so, and a gained one ends none', async t => {
  for (const endsWithRoles of [true, false]) {
    const { recheck, time, asked, ended, session, account, answered } = open({ endsWithRoles })
    const carried = { username: 'name-1', account_version: version(HASH, ['a', 'b']) }
    const both = session('1', { ...carried, roles: ['a', 'b'] })
    const one = session('1', { ...carried, roles: ['b'] })
    time.now += MINUTE
    recheck.used(one)
    const roles = ['b', 'c']
    asked[0]!.answer(account('1', { version: version(HASH, roles), extra: { roles } }))
    await answered(1)
    t.same(ended, endsWithRoles ? [['1', both.record.extra, 'account-changed']] : [])
  }
})

t.test('a source that fails ends nothing, is logged once, and is asked again after the interval', async t => {
  const { recheck, time, asked, ended, results, logged, session, account, answered } = open()
  const one = session('1')
  for (let i = 0; i < 3; i++) {
    time.now += MINUTE
    recheck.used(one)
    recheck.used(one)
    t.equal(asked.length, i + 1)
    asked[i]!.fail(new Unavailable('the database of the accounts'))
    await answered(i + 1)
  }
  t.same(results, ['failed', 'failed', 'failed'])
  t.same(ended, [])
  t.equal(logged.length, 1)
  time.now += MINUTE
  recheck.used(one)
  asked[3]!.answer(account('1', { status: 'LOCKED' }))
  await answered(4)
  t.equal(ended.length, 1)
})

t.test('sessions that carry no version or no username ask nothing', async t => {
  const { recheck, time, asked, session } = open()
  const carried = version(HASH)
  const sessions = [{}, { username: 'a' }, { account_version: carried }, { username: 'a', account_version: 'bob' }]
  const all = sessions.map((extra, i) => session(`${i}`, extra))
  time.now += MINUTE
  for (const one of all) recheck.used(one)
  t.equal(asked.length, 0)
})

t.test('a closed recheck asks nothing more, and waits for the question under way', async t => {
  const { recheck, time, asked, results, session, account } = open()
  const one = session('1')
  time.now += MINUTE
  recheck.used(one)
  const closed = recheck.close()
  recheck.used(session('2'))
  asked[0]!.answer(account('1'))
  await closed
  t.same(results, ['unchanged'])
  t.equal(asked.length, 1)
})

/** A backend with accounts by name; `null` has it fail. */
async function startBackend(t: { teardown(work: () => void): void }) {
  const accounts = new Map<string, object>()
  const state = { fails: false, questions: 0 }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    state.questions++
    const account = accounts.get(JSON.parse(text).username)
    response.statusCode = state.fails ? 500 : account === undefined ? 404 : 200
    response.end(JSON.stringify(account ?? {}))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  return { accounts, state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

for (const profile of [1, 2] as const) {
  t.test(`profile ${profile}: sessions of users of a backend end when it no longer has them`, async t => {
    const backend = await startBackend(t)
    const fixture = await openFixture(t, {
      profile,
      config: { accounts: { kind: 'http', url: backend.url, secret: 'k'.repeat(32), recheck: '60s', timeout: '30s' } },
    })
    const put = (username: string, rest: object = {}) =>
      backend.accounts.set(username, { id: `id-${username}`, username, password: HASH, status: 'ACTIVE', ...rest })
    const names = ['kept', 'removed', 'locked', 'changed']
    for (const name of names) put(name)
    const tokens = await Promise.all(names.map(name => fixture.signIn(name, PASSWORD)))
    const isLive = async (token: string) => !(await fixture.get('/api/v1/b/x', token)).text.includes('"code":401')
    backend.accounts.delete('removed')
    put('locked', { status: 'LOCKED' })
    put('changed', { password: OTHER_HASH })

    backend.state.fails = true
    await fixture.elapse(MINUTE)
    for (const token of tokens) t.ok(await isLive(token))
    const failed = /^dualgate_account_rechecks_total\{side="BUSINESS",result="failed"\} [1-9]/m
    t.ok(await until(async () => failed.test((await call(fixture.internal, { path: '/metrics' })).text)))
    for (const token of tokens) t.ok(await isLive(token), 'a source that fails ends nothing')

    backend.state.fails = false
    await fixture.elapse(MINUTE)
    for (const [i, name] of names.entries()) {
      if (name === 'kept') continue
      t.ok(await until(async () => !(await isLive(tokens[i]!))), name)
    }
    const before = backend.state.questions
    for (let i = 0; i < 5; i++) t.ok(await isLive(tokens[0]!))
    t.ok(backend.state.questions <= before + 1)
    const kickouts = () =>
      fixture.log.map(line => JSON.parse(line)).filter(({ msg, event }) => msg === 'event' && event === 'kickout')
    await until(() => kickouts().length === 3)
    t.same(Object.fromEntries(kickouts().map(({ login_id, reason }) => [login_id, reason])), {
      'id-removed': 'account-changed',
      'id-locked': 'account-changed',
      'id-changed': 'password-changed',
    })
  })
}

t.test('with recheck off, no source is asked about a session', async t => {
  const backend = await startBackend(t)
  backend.accounts.set('a', { id: '1', username: 'a', password: HASH, status: 'ACTIVE' })
  const fixture = await openFixture(t, {
    config: { accounts: { kind: 'http', url: backend.url, secret: 'k'.repeat(32), recheck: 'off', timeout: '30s' } },
  })
  const token = await fixture.signIn('a', PASSWORD)
  const { questions } = backend.state
  await fixture.elapse(60 * MINUTE)
  for (let i = 0; i < 3; i++) t.equal((await fixture.get('/api/v1/b/x', token)).status, 200)
  t.equal(backend.state.questions, questions)
})

import t from 'tap'
import type { AccountChanges, ChangedAccounts } from '../../src/account/source.ts'
import { changeSince, versionOf, versionsIn } from '../../src/account/version.ts'
import { Unavailable } from '../../src/base/refusal.ts'
import { AccountWatch } from '../../src/login/account-changes.ts'
import type { SessionRecord } from '../../src/session/record.ts'
import { account, openLoginFixture, PASSWORD } from '../support/login-fixture.ts'
import { until } from '../support/until.ts'

const version = (password: string): string => versionOf({ passwordHash: password, extra: {} })

/**
 * Accounts that a test changes, and sessions by login id, each with the version that it carries; and the key of an owner by login id,
 * with the version with which it is valid.
 */
function open(sessions: Record<string, (string | null)[]>, keys: Map<string, string> = new Map()) {
  const present = new Map<string, string>()
  /** What another process has read already. */
  const unread = new Map<string, string>()
  const logged: string[] = []
  const failures = { left: 0, ofKeys: 0 }
  let changed: ChangedAccounts | null = null
  const changes: AccountChanges = {
    versionOf: id => present.get(id) ?? null,
    accountOf: id => {
      const credentialVersion = present.get(id)
      if (credentialVersion === undefined) return null
      return { id, username: id, status: 'ACTIVE', extra: {}, credentialVersion }
    },
    async refresh() {
      for (const [id, version] of unread) present.set(id, version)
    },
    follow: listener => {
      changed = listener
    },
    secondFactors: () => 0,
    warnings: () => [],
  }
  const watch = new AccountWatch({
    changes,
    keys: {
      async *ownersOfOthers(versionOf) {
        for (const [owner, carried] of keys) if (versionOf(owner) !== carried) yield [owner]
      },
      async endOthers(owner, version) {
        if (failures.ofKeys-- > 0) throw new Unavailable('the store')
        if (keys.get(owner) !== version) keys.delete(owner)
      },
    },
    side: {
      type: 'BUSINESS',
      async kickoutWhere(id, reasonOf, _, readAgain) {
        if (failures.left-- > 0) throw new Unavailable('the store')
        const extraOf = (carried: string | null) => (carried === null ? {} : { account_version: carried })
        const before = sessions[id] ?? []
        const record = { user_id: id, type: 'BUSINESS' as const, created_at: '' }
        await readAgain!()
        sessions[id] = before.filter(carried => reasonOf({ ...record, extra: extraOf(carried) }, '') === null)
        return before.length - sessions[id].length
      },
    },
    online: {
      async *users() {
        if (failures.left-- > 0) throw new Unavailable('the store')
        for (const id of Object.keys(sessions)) yield [id]
      },
    },
    log: { warn: (_: object, line: string) => void logged.push(line) } as never,
  })
  return {
    sessions,
    present,
    unread,
    failures,
    logged,
    watch,
    notify: (...input: Parameters<ChangedAccounts>) => changed!(...input),
  }
}

t.test('what a failing store refuses is tried again until the sessions have ended, and logged once', async t => {
  const { sessions, present, failures, logged, watch, notify } = open({ a: [version('1')], b: [version('1')] })
  t.teardown(() => watch.close())
  present.set('a', version('1')).set('b', version('2'))
  failures.left = 2
  notify(null)
  t.ok(await until(() => sessions.b!.length === 0))
  t.same(sessions, { a: [version('1')], b: [] })
  failures.left = 1
  notify(new Map([['a', 'account-changed']]))
  present.delete('a')
  t.ok(await until(() => sessions.a!.length === 0))
  const message = 'sessions of changed accounts could not be ended; this is tried again'
  t.same(logged, [message, message], 'each of two outages')
})

t.test('a start ends the keys of accounts that changed before it, though their owners are not online', async t => {
  const keys = new Map(['removed', 'reset', 'kept', 'later'].map(owner => [owner, version('1')]))
  const { present, unread, failures, watch, notify } = open({ kept: [version('1')] }, keys)
  t.teardown(() => watch.close())
  present.set('reset', version('2')).set('kept', version('1'))
  unread.set('later', version('1'))
  failures.ofKeys = 1
  notify(null)
  t.ok(await until(() => keys.size === 2))
  t.same([...keys.keys()], ['kept', 'later'], 'another process has read the account of the last one')
  unread.clear()
  present.clear()
  notify(new Map([['kept', 'account-changed']]))
  t.ok(await until(() => keys.size === 1))
  t.same([...keys.keys()], ['later'], 'a change compares no other keys')
})

t.test('a change ends sessions without a version, and spares those of the present version', async t => {
  const { sessions, present, watch, notify } = open({ a: [version('1'), null, version('2')], b: [null, version('1')] })
  t.teardown(() => watch.close())
  present.set('a', version('2'))
  notify(new Map([['a', 'password-changed']]))
  t.ok(await until(() => sessions.a!.length === 1))
  t.same(sessions, { a: [version('2')], b: [null, version('1')] })
})

t.test('a comparison after the start spares sessions without a version', async t => {
  const { sessions, present, watch, notify } = open({ a: [version('1'), null, version('2')], b: [null, version('1')] })
  t.teardown(() => watch.close())
  present.set('a', version('2'))
  notify(null)
  t.ok(await until(() => sessions.b!.length === 1))
  t.same(sessions, { a: [null, version('2')], b: [null] })
})

t.test('a session of an account that another process has read later lives', async t => {
  const { sessions, unread, watch, notify } = open({ added: [version('1')], changed: [version('2'), version('1')] })
  t.teardown(() => watch.close())
  unread.set('added', version('1')).set('changed', version('2'))
  notify(null)
  t.ok(await until(() => sessions.changed!.length === 1))
  t.same(sessions, { added: [version('1')], changed: [version('2')] })
})

t.test('the side ends no session whose reason is gone when the accounts are read again', async t => {
  const fixture = await openLoginFixture()
  t.teardown(fixture.close)
  const begin = (carried: string) => fixture.side.login(undefined, 'a', { account_version: version(carried) }, {})
  const [older, later] = [await begin('1'), await begin('3')]
  let present = version('2')
  const reasonOf = ({ extra }: SessionRecord) => changeSince(versionsIn(extra), present)
  const ended = await fixture.side.kickoutWhere('a', reasonOf, {}, async () => {
    present = version('3')
  })
  t.equal(ended, 1)
  t.equal(await fixture.store.sessions.find('BUSINESS', older), null)
  t.match(await fixture.store.sessions.find('BUSINESS', later), { user_id: 'a' })
})

t.test('a closed watch follows nothing', async t => {
  const { sessions, failures, watch, notify } = open({ a: [version('1')] })
  failures.left = 1
  notify(null)
  await watch.close()
  t.throws(() => notify(null))
  t.same(sessions, { a: [version('1')] })
})

t.test('a login whose account changes while it runs leaves no session', async t => {
  for (const present of [null, version('another password')]) {
    const fixture = await openLoginFixture({
      source: {
        find: async () => account('Admin'),
        changes: {
          versionOf: () => present,
          accountOf: () => null,
          refresh: async () => undefined,
          follow: () => undefined,
          secondFactors: () => 0,
          warnings: () => [],
        },
        close: async () => {},
      },
    })
    t.teardown(fixture.close)
    t.equal(await fixture.attempt('admin', PASSWORD), 'WRONG_CREDENTIALS')
    t.same(await fixture.store.sessions.tokens('BUSINESS', 'id-admin'), [])
    t.match(fixture.lines.at(-1), { granted: false, because: 'changed meanwhile' })
  }
})

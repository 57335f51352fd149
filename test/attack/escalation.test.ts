import { join } from 'node:path'
import t from 'tap'
import { createFileAccounts, readAccounts } from '../../src/account/file/source.ts'
import { createHashAccounts } from '../../src/account/hash-accounts.ts'
import { createPasswords } from '../../src/account/password.ts'
import { versionOf } from '../../src/account/version.ts'
import { systemClock } from '../../src/base/clock.ts'
import { openFixture, someone } from '../support/gateway-fixture.ts'

/*
 * Administrators who want to be more than they are. `clerk` holds the role clerk and may edit accounts; it wants the rights of
 * `admin`, the SUPER_ADMIN, or of an account that holds one permission more.
 */

const fixture = await openFixture(t, { store: 'embedded' })
const BASE = '/api/v1/sys/account'
const EDITOR = ['sys:account:edit', 'sys:account:page', 'orders:*']

const SILENT = { error: () => undefined, info: () => undefined }

const present = async () => readAccounts(join(fixture.folder, 'accounts.yaml'))

async function sessionOf(id: string): Promise<string> {
  const account = (await present()).byId.get(id)!
  const extra = { ...account.extra, account_version: versionOf(account) }
  return fixture.gateway.sides.business.login(undefined, id, extra)
}

const asking = (token: string) => async (path: string, body: object) =>
  (await fixture.post(`${BASE}/${path}`, body, token)).json()

const chief = asking(await fixture.signIn())
const account = async (fields: object = {}): Promise<string> =>
  (await chief('add', { username: someone(), ...fields })).data.id

const clerkId = await account({ roles: ['clerk'], permissions: EDITOR })
const clerk = asking(await sessionOf(clerkId))
const rightsOf = async (id: string) => {
  const { roles, permissions } = (await present()).byId.get(id)!.extra
  return { roles, permissions }
}

t.test('the attacker adds an account for themselves with more rights', async t => {
  const rows: [fields: object, missing: RegExp][] = [
    [{ roles: ['SUPER_ADMIN'] }, /SUPER_ADMIN/],
    [{ roles: ['clerk', 'chief'] }, /chief/],
    [{ permissions: ['**'] }, /\*\*/],
    [{ permissions: ['*'] }, /\*/],
    [{ permissions: ['orders:**'] }, /orders:\*\*/],
    [{ permissions: ['orders'] }, /orders/],
    [{ permissions: ['*:read'] }, /\*:read/],
    [{ permissions: ['sys:account:*'] }, /sys:account:\*/],
    [{ permissions: ['orders:read', 'staff:read'] }, /staff:read/],
    [{ roles: ['Clerk'] }, /Clerk/],
    [{ roles: [' clerk'] }, / clerk/],
  ]
  const before = (await present()).byId.size
  for (const [fields, missing] of rows) {
    for (const kind of [{}, { service: true }]) {
      const answer = await clerk('add', { username: someone(), ...kind, ...fields })
      t.match(answer, { code: 403, success: false, message: missing }, JSON.stringify(fields))
    }
  }
  t.equal((await present()).byId.size, before)
  const granted = { roles: ['clerk'], permissions: ['orders:read', 'orders:*', 'sys:account:edit'] }
  t.match(await clerk('add', { username: someone(), ...granted }), { success: true }, 'what they hold they may grant')
})

t.test('the attacker gives more rights to themselves, or to an accomplice', async t => {
  const accomplice = await account({ roles: ['clerk'] })
  for (const id of [clerkId, accomplice]) {
    const before = await rightsOf(id)
    t.match(await clerk('edit', { id, roles: ['clerk', 'SUPER_ADMIN'] }), { code: 403 })
    t.match(await clerk('edit', { id, permissions: ['**'] }), { code: 403 })
    t.match(await clerk('edit', { id, status: 'ACTIVE', roles: ['clerk'], permissions: [...EDITOR, 'a:b'] }), {
      code: 403,
    })
    t.same(await rightsOf(id), before)
  }
})

t.test('the attacker becomes a mightier account: by its password, its second factor, or its removal', async t => {
  const mightier = [
    '1',
    await account({ roles: ['SUPER_ADMIN'], status: 'LOCKED' }),
    await account({ roles: ['chief'] }),
    await account({ permissions: ['orders:read', 'staff:read'] }),
  ]
  const robot = await account({ service: true, roles: ['chief'] })
  const before = JSON.stringify([...(await present()).byId])
  for (const id of mightier) {
    for (const [path, body] of [
      ['reset-password', {}],
      ['reset-second-factor', {}],
      ['remove', {}],
      ['edit', { status: 'LOCKED' }],
      ['edit', { status: 'ACTIVE' }],
      ['edit', { roles: [], permissions: [] }],
      ['edit', { nickname: 'Fool' }],
    ] as const) {
      const answer = await clerk(path, { id, ...body })
      t.match(answer, { code: 403, data: null, message: 'The account holds rights that you do not hold' }, path)
    }
  }
  for (const [path, body] of [
    ['remove', {}],
    ['edit', { roles: ['clerk'], permissions: [] }],
    ['edit', { status: 'LOCKED' }],
  ] as const) {
    t.match(await clerk(path, { id: robot, ...body }), { code: 403 }, `${path} of a service account`)
  }
  t.equal(JSON.stringify([...(await present()).byId]), before)
})

t.test('a stolen session changes the password or the second factor of its own account', async t => {
  for (const ask of [clerk, chief]) {
    const id = ask === clerk ? clerkId : '1'
    for (const path of ['reset-password', 'reset-second-factor', 'remove']) {
      t.match(await ask(path, { id }), { code: 403, message: 'Not allowed for your own account' }, path)
    }
    t.match(await ask('edit', { id, status: 'LOCKED' }), { code: 403 })
    t.match(await ask('edit', { id, roles: [] }), { code: 403 })
  }
  t.match(await chief('edit', { id: '1', nickname: 'Boss' }), { success: true })
})

t.test('a session that still has the rights of an earlier day changes nothing', async t => {
  const id = await account({ roles: ['clerk'], permissions: EDITOR })
  // No login: it carries no version of its account, and rights that the account never had.
  const extra = { roles: ['SUPER_ADMIN'], permissions: ['**'] }
  const stale = asking(await fixture.gateway.sides.business.login(undefined, id, extra))
  t.match(await stale('add', { username: someone(), roles: ['SUPER_ADMIN'] }), { code: 403 })
  t.match(await stale('reset-password', { id: '1' }), { code: 403 })
  const unknown = asking(await fixture.gateway.sides.business.login(undefined, someone(), extra))
  t.match(await unknown('add', { username: someone() }), { code: 403 }, 'a user without an account')
})

t.test('a thief who changes a password while an administrator resets it does not undo the reset', async t => {
  const id = await account()
  const source = createFileAccounts({ kind: 'file', path: join(fixture.folder, 'accounts.yaml') }, SILENT)
  const passwords = createPasswords(async () => true)
  const options = {
    type: 'BUSINESS',
    passwords,
    memory: fixture.store.attempts,
    clock: systemClock,
    log: SILENT,
  } as const
  const accounts = createHashAccounts(source, options)
  t.teardown(() => accounts.close())
  const { username } = (await present()).byId.get(id)!
  // The present password was right, and the change waits for the accounts, which the administrator has locked.
  const found = (await accounts.find(username))!
  const change = await accounts.updates!.password(found, { password: 'of the thief', changedAt: 0, mustChange: false })
  t.match(await chief('reset-password', { id }), { success: true })
  const reset = (await present()).byId.get(id)
  t.equal(await change.store(), false)
  t.same((await present()).byId.get(id), reset)
  t.equal(reset?.mustChangePassword, true)
})

t.test('two administrators remove each other at the same time', async t => {
  for (let round = 0; round < 5; round++) {
    const ids = [await account({ roles: ['SUPER_ADMIN'] }), await account({ roles: ['SUPER_ADMIN'] })]
    const [one, other] = (await Promise.all(ids.map(sessionOf))).map(asking)
    const answers = await Promise.all([one!('remove', { id: ids[1] }), other!('remove', { id: ids[0] })])
    t.same(answers.map(({ success }) => success).sort(), [false, true])
    const left = (await present()).byId
    t.equal(ids.filter(id => left.has(id)).length, 1)
    await chief('remove', { id: ids.find(id => left.has(id)) })
  }
})

t.test('an administrator whose rights are taken away at the same time does nothing more with them', async t => {
  for (let round = 0; round < 5; round++) {
    const id = await account({ roles: ['SUPER_ADMIN'] })
    const ask = asking(await sessionOf(id))
    const [removed, added] = await Promise.all([
      chief('remove', { id }),
      ask('add', { username: someone(), roles: ['SUPER_ADMIN'] }),
    ])
    t.equal(removed.success, true)
    // Whichever came first: an account that they added was added while they were one.
    if (added.success) await chief('remove', { id: added.data.id })
    t.match(await ask('add', { username: someone() }), { success: false })
  }
})

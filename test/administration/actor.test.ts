import t from 'tap'
import { versionOf } from '../../src/account/version.ts'
import { createPresentRights } from '../../src/administration/accounts/actor.ts'
import { isClaimedSession } from '../../src/login/identity/claimed-session.ts'
import type { SessionRecord } from '../../src/session/record.ts'

t.test('an administrator whose account is not active has no rights, although the session has not ended', async t => {
  const session: SessionRecord = { user_id: '1', type: 'BUSINESS', created_at: '', extra: { roles: ['SUPER_ADMIN'] } }
  for (const status of ['ACTIVE', 'LOCKED', 'INACTIVE'] as const) {
    const account = { id: '1', status, roles: ['SUPER_ADMIN'], permissions: [] }
    const list = async () => [account] as never
    for (const type of ['BUSINESS', 'CONSUMER'] as const) {
      const permissions = { holderOf: async () => t.fail('not asked') as never }
      const presentRights = createPresentRights(type, { list }, permissions, () => false)
      const { rights } = await presentRights(session, type === 'BUSINESS' ? ([account] as never) : [])
      t.same(rights.roles, status === 'ACTIVE' ? ['SUPER_ADMIN'] : [], `${type}, ${status}`)
    }
  }
})

t.test(
  'a user whose account is the claims of a provider has the rights of the session, and no removed account has',
  async t => {
    const staff = { name: 'staff', side: 'business', account: 'claims' }
    const match = { name: 'other', side: 'business', account: 'match' }
    const settings = { login: { providers: [staff, match] as never } }
    const accounts = [{ id: 'staff:listed', status: 'LOCKED', roles: ['SUPER_ADMIN'], permissions: [] }] as never
    const extra = { roles: ['SUPER_ADMIN'], provider: 'staff' }
    const rolesOf = async (user_id: string, other: Record<string, unknown>) => {
      const session: SessionRecord = { user_id, type: 'BUSINESS', created_at: '', extra: { ...extra, ...other } }
      const holder = { holderOf: <R>(record: R) => record }
      const isClaimed = (record: SessionRecord) => isClaimedSession(settings, record)
      const presentRights = createPresentRights('BUSINESS', { list: async () => accounts }, holder, isClaimed)
      return (await presentRights(session, accounts)).rights.roles
    }
    t.same(await rolesOf('staff:ada', {}), ['SUPER_ADMIN'])
    t.same(await rolesOf('staff:listed', {}), [], 'an account of the file decides')
    t.same(await rolesOf('1', {}), [], 'a removed account that a provider found')
    t.same(await rolesOf('staff:ada', { account_version: versionOf({ passwordHash: '', extra: {} }) }), [])
    t.same(await rolesOf('staff:ada', { provider: 'other' }), [])
    t.same(await rolesOf('staff:ada', { provider: undefined }), [])
    t.same(await rolesOf('other:ada', { provider: 'other' }), [], 'the claims of this provider are no account')
    t.same(await rolesOf('gone:ada', { provider: 'gone' }), [], 'a provider that the settings no longer have')
  },
)

import t from 'tap'
import { createPresentRights } from '../../src/administration/accounts/actor.ts'
import type { SessionRecord } from '../../src/session/record.ts'

t.test('an administrator whose account is not active has no rights, although the session has not ended', async t => {
  const session: SessionRecord = { user_id: '1', type: 'BUSINESS', created_at: '', extra: { roles: ['SUPER_ADMIN'] } }
  for (const status of ['ACTIVE', 'LOCKED', 'INACTIVE'] as const) {
    const account = { id: '1', status, roles: ['SUPER_ADMIN'], permissions: [] }
    const list = async () => [account] as never
    for (const type of ['BUSINESS', 'CONSUMER'] as const) {
      const presentRights = createPresentRights(type, { list }, { holderOf: async () => t.fail('not asked') as never })
      const { rights } = await presentRights(session, type === 'BUSINESS' ? ([account] as never) : [])
      t.same(rights.roles, status === 'ACTIVE' ? ['SUPER_ADMIN'] : [], `${type}, ${status}`)
    }
  }
})

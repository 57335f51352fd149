import t from 'tap'
import { createPermissions } from '../../src/account/permissions.ts'
import type { Account } from '../../src/account/source.ts'
import { createKeyAdministration, type KeyAdministrationOptions } from '../../src/key/administration.ts'
import type { Session } from '../../src/side/side.ts'

const accountOf = (id: string, permissions: string[], more: Partial<Account> = {}): Account => ({
  id,
  username: id,
  status: 'ACTIVE',
  extra: { roles: [], permissions },
  ...more,
})

const ROBOT = accountOf('robot', ['orders:read'], { service: true })
const WANTED = { name: 'job', days: 1, current_password: 'x', user_id: ROBOT.id }

/** Makes a key as an administrator who has these permissions once the password is proven. */
async function addWith(permissions: string[]): Promise<string> {
  const { add } = createKeyAdministration({
    type: 'BUSINESS',
    keys: { add: async () => ({ key: 'made' }) } as unknown as KeyAdministrationOptions['keys'],
    settings: { users: true, max_per_user: 20, max_age: 86_400_000, overlap: 1000 },
    accounts: { find: async () => ROBOT },
    management: { list: async () => [ROBOT] } as unknown as KeyAdministrationOptions['management'],
    prove: async () => accountOf('7', permissions),
    permissions: createPermissions({}),
  })
  const record = { user_id: '7', type: 'BUSINESS', extra: { roles: ['SUPER_ADMIN'], permissions: [] } }
  return add!({ record } as unknown as Session, WANTED, {}).then(
    ({ key }) => key,
    fault => `${fault.reason}`,
  )
}

t.test(
  'the rights that an administrator has when a key is made decide, not those at the begin of the request',
  async t => {
    t.equal(await addWith(['sys:key:edit', 'orders:*']), 'made')
    t.equal(await addWith(['sys:key:edit']), 'ACCOUNT_HOLDS_MORE')
    t.equal(await addWith(['orders:*']), 'NOT_PERMITTED')
  },
)

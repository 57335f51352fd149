import type { AccountManagement } from '../account/management.ts'
import type { Permissions } from '../account/permissions.ts'
import type { Account, AccountSource } from '../account/source.ts'
import { Refusal } from '../base/refusal.ts'
import type { Origin } from '../event/event.ts'
import type { LoginType } from '../session/sides.ts'
import type { Session } from '../side/side.ts'
import type { KeySettings, Keys, MadeKey } from './keys.ts'
import { type Proof, type Prove, readWanted, refuseNotHeld, type WantedKey } from './own-keys.ts'

/** The permission to make and end keys of others. */
export const EDIT_KEYS = 'sys:key:edit'

/** What administrators of the B side do with the keys of a side. */
export type KeyAdministration = ReturnType<typeof createKeyAdministration>

export interface KeyAdministrationOptions {
  type: LoginType
  keys: Keys
  settings: KeySettings
  accounts: Pick<AccountSource, 'find'>
  /** `null` where the accounts of the side are not administered here: then no key is made for them. */
  management: Pick<AccountManagement, 'list'> | null
  /** Of the B side: administrators prove themselves. */
  prove: Prove
  permissions: Pick<Permissions, 'check' | 'lacking' | 'rightsOf'>
}

export interface KeyQuery {
  page: number
  size: number
  /** Keys of this owner alone. */
  userId?: string | undefined
}

export function createKeyAdministration({ keys, management, ...options }: KeyAdministrationOptions) {
  return {
    async page({ page, size, userId }: KeyQuery) {
      const offset = (page - 1) * size
      const all = userId === undefined ? null : await keys.of(userId)
      const { total, keys: records } =
        all === null ? await keys.page(offset, size) : { total: all.length, keys: all.slice(offset, offset + size) }
      return { records, total, page, size, pages: Math.ceil(total / size) }
    },

    revoke: (userId: string, id: string, origin: Origin): Promise<void> => keys.revoke(userId, id, origin),

    add:
      management &&
      (async (session: Session, wanted: WantedKey & Proof & { user_id: string }, origin: Origin): Promise<MadeKey> => {
        const key = readWanted(wanted, options.settings)
        const administrator = await options.prove(session, wanted, origin)
        const maker = { id: administrator.id, type: 'BUSINESS' } as const
        const { check, lacking, rightsOf } = options.permissions
        // The rights that it has now: while the body arrived, they may have changed.
        const rights = await rightsOf(administrator, maker.type)
        check({ ...session.record, extra: { ...rights } }, { codes: [EDIT_KEYS], mode: 'all' })
        const account = await serviceAccount(wanted.user_id, management, options.accounts)
        const held = await rightsOf(account, options.type)
        if (lacking(rights, held).length > 0) throw new Refusal('ACCOUNT_HOLDS_MORE')
        refuseNotHeld(key, held, options.permissions)
        return keys.add(account, key, maker, origin)
      }),
  }
}

/** An active account of a program. Refuses others: their users make their own keys. */
async function serviceAccount(
  id: string,
  management: Pick<AccountManagement, 'list'>,
  accounts: Pick<AccountSource, 'find'>,
): Promise<Account> {
  const listed = (await management.list()).find(account => account.id === id)
  const account = listed === undefined ? null : await accounts.find(listed.username)
  if (account?.id !== id) throw new Refusal('NO_SUCH_ACCOUNT')
  if (account.service !== true) throw new Refusal('NO_SERVICE_ACCOUNT')
  return account
}

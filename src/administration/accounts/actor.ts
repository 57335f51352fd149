import type { AccountManagement } from '../../account/management.ts'
import { type Permissions, rightsIn } from '../../account/permissions.ts'
import type { Rights } from '../../account/source.ts'
import type { SessionRecord } from '../../session/record.ts'
import type { LoginType } from '../../session/sides.ts'
import type { Actor, Subject } from './escalation.ts'

/**
 * The rights that the user of a session has now. `accounts` are the locked ones of the side that is administered. A user
 * without an active account has no rights.
 */
export type PresentRights = (session: SessionRecord, accounts: readonly Subject[]) => Promise<Actor>

/**
 * How the present rights of administrators are found, who are users of the B side. If its accounts are administered here,
 * they decide, and not what a session began with: it may be about to end. Users of other sources have the rights by which
 * every permission is checked. So have those whose account is the claims of a provider: none of the accounts is theirs.
 */
export function createPresentRights(
  type: LoginType,
  business: Pick<AccountManagement, 'list'> | undefined,
  permissions: Pick<Permissions, 'holderOf'>,
  isClaimed: (session: SessionRecord) => boolean,
): PresentRights {
  const isOwnSide = type === 'BUSINESS'
  const held = async (session: SessionRecord): Promise<Rights> => rightsIn((await permissions.holderOf(session)).extra)
  return async (session, accounts) => {
    const id = isOwnSide ? session.user_id : null
    if (business === undefined) return { id, rights: await held(session) }
    const found = (isOwnSide ? accounts : await business.list()).find(account => account.id === session.user_id)
    if (found === undefined && isClaimed(session)) return { id, rights: await held(session) }
    return { id, rights: found?.status === 'ACTIVE' ? found : NO_RIGHTS }
  }
}

const NO_RIGHTS: Rights = { roles: [], permissions: [] }

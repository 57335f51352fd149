import type { AccountStatus } from '../../account/management.ts'
import type { Permissions } from '../../account/permissions.ts'
import type { Rights } from '../../account/source.ts'
import { Refusal, type RefusalReason } from '../../base/refusal.ts'
import { SUPER_ADMIN } from '../../session/record.ts'

/** An account, as far as the laws are concerned. */
export interface Subject extends Rights {
  id: string
  status: AccountStatus
  /** Programs use it: it cannot sign in, and so cannot administer anything. */
  service?: boolean
}

/** The administrator who requests a change, with their present rights. */
export interface Actor {
  rights: Rights
  /** The login id; `null` for a user of the other side, who has no account here. */
  id: string | null
}

/** A change of an account that an administrator requests. */
export interface Proposal {
  /** `null` for a new account. */
  before: Subject | null
  /** `null` for an account that is removed. */
  after: Subject | null
  /** The password or the second factor is reset. Who resets them can sign in as the account. */
  resets: boolean
}

type Lacking = Permissions['lacking']

interface Law {
  refusal: RefusalReason
  /** The rights that the text of the refusal names; `null` if the law is not broken. */
  broken(actor: Actor, proposal: Proposal, lacking: Lacking, accounts: readonly Subject[]): readonly string[] | null
}

/** What no administrator can do. The first law that is broken is the reason of the refusal. */
const LAWS: readonly Law[] = [
  {
    // An account that holds more than the actor. The rights of an account that is locked count, too.
    refusal: 'ACCOUNT_HOLDS_MORE',
    broken: ({ rights }, { before }, lacking) => unless(before === null || lacking(rights, before).length === 0),
  },
  {
    refusal: 'RIGHTS_NOT_HELD',
    broken({ rights }, { after }, lacking) {
      const missing = after === null ? [] : lacking(rights, after)
      return missing.length === 0 ? null : missing
    },
  },
  {
    // One's own account: no lock-out by mistake, and no way around one's current password and one's own second factor.
    refusal: 'OWN_ACCOUNT',
    broken({ id }, { before, after, resets }, lacking) {
      if (before === null || before.id !== id) return null
      return unless(!resets && after?.status === 'ACTIVE' && lacking(after, before).length === 0)
    },
  },
  {
    refusal: 'LAST_SUPER_ADMIN',
    broken: (_actor, { before, after }, _lacking, accounts) => unless(!isLastSuperAdmin(before, after, accounts)),
  },
]

const unless = (isKept: boolean): readonly string[] | null => (isKept ? null : [])

/** A person who can give every right back. */
const isActiveSuperAdmin = (account: Subject | null): boolean =>
  account !== null && account.status === 'ACTIVE' && account.service !== true && account.roles.includes(SUPER_ADMIN)

/** Whether a change would leave the accounts without an active person who holds every permission. */
export const isLastSuperAdmin = (
  before: Subject | null,
  after: Subject | null,
  accounts: readonly Subject[],
): boolean =>
  isActiveSuperAdmin(before) &&
  !isActiveSuperAdmin(after) &&
  !accounts.some(account => account.id !== before?.id && isActiveSuperAdmin(account))

/** Refuses a change that breaks a law. `accounts` are all of the side, as they are before the change. */
export function refuseEscalation(
  actor: Actor,
  proposal: Proposal,
  lacking: Lacking,
  accounts: readonly Subject[],
): void {
  for (const { refusal, broken } of LAWS) {
    const rights = broken(actor, proposal, lacking, accounts)
    if (rights !== null) throw new Refusal(refusal, { params: { rights: rights.join(', ') } })
  }
}

import type { AccountKeys } from '../../account/kept-keys.ts'
import type { AccountEdit, AccountManagement, AddedAccount, ListedAccount } from '../../account/management.ts'
import type { Permissions } from '../../account/permissions.ts'
import type { AccountChange } from '../../account/version.ts'
import { Refusal } from '../../base/refusal.ts'
import type { EventName, Origin, Publish } from '../../event/event.ts'
import type { SessionRecord } from '../../session/record.ts'
import { eventNames } from '../../side/event-names.ts'
import type { Side } from '../../side/side.ts'
import type { PresentRights } from './actor.ts'
import { endChanged } from './end-sessions.ts'
import { type Proposal, refuseEscalation, type Subject } from './escalation.ts'

/** The permission to change accounts. */
export const EDIT_ACCOUNTS = 'sys:account:edit'

export interface ChangeOptions {
  side: Pick<Side, 'type' | 'kickoutWhere'>
  management: AccountManagement
  /** `null` where users have none. */
  keys: Pick<AccountKeys, 'endOthers'> | null
  presentRights: PresentRights
  permissions: Pick<Permissions, 'check' | 'lacking'>
  publish: Publish
}

/** Who requests a change, and from where. */
export interface Request {
  session: SessionRecord
  origin: Origin
}

/** What a change does to one account. */
interface Plan {
  after: Subject | null
  edit: AccountEdit
  resets?: true
  /** Why sessions end that carry no version of their account; `null` if nothing ends a session. */
  reason: AccountChange | null
}

/** The only ways to a changed account: the laws are checked, and the change is made, while the accounts are locked. */
export function createChange({ side, management, keys, presentRights, permissions, ...options }: ChangeOptions) {
  async function refuse(session: SessionRecord, proposal: Proposal, all: readonly Subject[]): Promise<void> {
    const actor = await presentRights(session, all)
    permissions.check({ ...session, extra: { ...actor.rights } }, { codes: [EDIT_ACCOUNTS], mode: 'all' })
    refuseEscalation(actor, proposal, permissions.lacking, all)
  }

  const publish = (event: EventName, account: Pick<ListedAccount, 'id' | 'username' | 'nickname'>, origin: Origin) =>
    options.publish({ event, type: side.type, login_id: account.id, ...eventNames({ ...account }), ...origin })

  return {
    async add({ session, origin }: Request, account: AddedAccount): Promise<void> {
      await management.edit(async accounts => {
        await refuse(session, { before: null, after: account, resets: false }, accounts)
        return { edit: { add: account }, result: null }
      })
      publish('account-added', account, origin)
    },

    /**
     * Changes an existing account, and ends its sessions before it resolves, and its keys if it is removed or reset. If nothing is
     * left to change, both are compared all the same: an earlier call may have changed the account and failed to end them.
     * Refuses an unknown account with `NO_SUCH_ACCOUNT`.
     */
    async change({ session, origin }: Request, id: string, event: EventName, planOf: (before: ListedAccount) => Plan) {
      const { result, version, credentialVersion, changed } = await management.edit(async accounts => {
        const before = accounts.find(account => account.id === id)
        if (before === undefined) return { edit: null, result: null }
        const plan = planOf(before)
        await refuse(session, { before, after: plan.after, resets: plan.resets ?? false }, accounts)
        const endsKeys = plan.after === null || plan.resets === true
        return { edit: plan.edit, result: { before, reason: plan.reason, endsKeys } }
      })
      if (result !== null && changed) publish(event, result.before, origin)
      await endChanged(side, id, version, result?.reason ?? null, origin)
      if (result === null || result.endsKeys) await keys?.endOthers(id, credentialVersion, origin)
      if (result === null) throw new Refusal('NO_SUCH_ACCOUNT')
    },
  }
}

import { generateAccountId } from '../../account/id.ts'
import {
  type AccountManagement,
  type AccountStatus,
  refuseServiceAccount,
  refuseUnprintable,
} from '../../account/management.ts'
import { Refusal } from '../../base/refusal.ts'
import { type ChangeOptions, createChange, type Request } from './change.ts'
import type { Subject } from './escalation.ts'
import { type AccountPagesOptions, createAccountPages } from './pages.ts'
import { createPasswordMaker, type PasswordMakerOptions, type RequestedPassword, serviceSince } from './password.ts'
import { refuseOutdated } from './revision.ts'

export { EDIT_ACCOUNTS, type Request } from './change.ts'

export type AccountAdministrationOptions = ChangeOptions &
  AccountPagesOptions &
  PasswordMakerOptions & { management: AccountManagement }

type Optional<T> = T | null | undefined

export interface Fields {
  nickname?: Optional<string>
  roles?: Optional<readonly string[]>
  permissions?: Optional<readonly string[]>
  status?: Optional<AccountStatus>
}

export type AccountAdministration = ReturnType<typeof createAccountAdministration>

/** The administration of the accounts of one side. */
export function createAccountAdministration(options: AccountAdministrationOptions) {
  const change = createChange(options)
  return {
    ...createAccountPages(options),
    ...createEdits(options, change),
    ...createResets(options, change),
  }
}

type Changes = ReturnType<typeof createChange>

function createEdits(options: AccountAdministrationOptions, { add, change }: Changes) {
  const passwordOf = createPasswordMaker(options)
  return {
    async add(
      request: Request,
      added: Fields & RequestedPassword & { username: string; service?: Optional<boolean> },
    ): Promise<{ id: string; password?: string }> {
      const { username } = added
      const { nickname = username, roles = [], permissions = [], status = 'ACTIVE' } = given(added)
      const account = { id: generateAccountId(options.clock), username, nickname, roles, permissions, status }
      if (added.service === true) {
        await add(request, { ...account, ...serviceSince(options.clock.now(), added) })
        return { id: account.id }
      }
      const { hashed, shown } = await passwordOf(added, username)
      await add(request, { ...account, password: hashed })
      return { id: account.id, ...shown }
    },

    /** With the `revision` that the client has read, fields that have changed since are refused with `ACCOUNT_CHANGED`. */
    async edit(
      request: Request,
      { id, revision, ...fields }: Fields & { id: string; revision?: Optional<string> },
    ): Promise<void> {
      const set = given(fields)
      await change(request, id, 'account-edited', before => {
        const after = { ...before, ...set }
        if (typeof revision === 'string') refuseOutdated(revision, before, after)
        return { after, edit: { id, set }, reason: hasOtherRights(before, after) ? 'account-changed' : null }
      })
    },

    remove: (request: Request, id: string): Promise<void> =>
      change(request, id, 'account-removed', () => {
        return { after: null, edit: { id, remove: true }, reason: 'account-changed' }
      }),
  }
}

function createResets(options: AccountAdministrationOptions, { change }: Changes) {
  const passwordOf = createPasswordMaker(options)
  return {
    async resetPassword(request: Request, reset: RequestedPassword & { id: string }): Promise<{ password?: string }> {
      const { id } = reset
      const account = (await options.management.list()).find(account => account.id === id)
      if (account === undefined) throw new Refusal('NO_SUCH_ACCOUNT')
      // Before the password is judged, which no service account has.
      refuseServiceAccount(account)
      const { hashed, shown } = await passwordOf(reset, account.username)
      await change(request, id, 'password-reset', before => {
        const edit = { id, set: { password: hashed } }
        return { after: before, edit, resets: true, reason: 'password-changed' }
      })
      return shown
    },

    resetSecondFactor: (request: Request, id: string): Promise<void> =>
      change(request, id, 'second-factor-reset', before => {
        const edit = { id, set: { secondFactor: null } }
        return { after: before, edit, resets: true, reason: before.secondFactor ? 'account-changed' : null }
      }),
  }
}

/** The fields that a client gave, by name: a request may contain others, such as a hash. Refuses texts that are not printable. */
function given({ nickname, roles, permissions, status }: Fields) {
  refuseUnprintable({ nickname: [nickname ?? ''], roles, permissions })
  return {
    ...(typeof nickname === 'string' && { nickname }),
    ...(Array.isArray(roles) && { roles: roles as readonly string[] }),
    ...(Array.isArray(permissions) && { permissions: permissions as readonly string[] }),
    ...(typeof status === 'string' && { status }),
  }
}

function hasOtherRights(one: Subject, other: Subject): boolean {
  const formOf = ({ status, roles, permissions }: Subject) =>
    JSON.stringify([status, [...new Set(roles)].sort(), [...new Set(permissions)].sort()])
  return formOf(one) !== formOf(other)
}

import type { AccountManagement, AccountStatus, ListedAccount } from '../../account/management.ts'
import type { Permissions } from '../../account/permissions.ts'
import { Refusal } from '../../base/refusal.ts'
import type { TimestampFormat } from '../../base/timestamp.ts'
import type { SessionRecord } from '../../session/record.ts'
import type { Side } from '../../side/side.ts'
import type { SessionStore } from '../../store/store.ts'
import type { Page } from '../online-users.ts'
import type { PresentRights } from './actor.ts'
import type { Actor } from './escalation.ts'
import { revisionOf } from './revision.ts'

/** An account as administrators see it: nothing of its password, nor of its second factor. */
export interface ShownAccount {
  id: string
  username: string
  nickname: string
  status: AccountStatus
  service: boolean
  roles: string[]
  permissions: string[]
  second_factor: boolean
  must_change_password: boolean
  password_changed_at: string | null
  last_login_time: string | null
  /** Whether the administrator who reads the list holds all that the account holds, and so can change it. */
  editable: boolean
  /** For an edit, which is refused if the account has changed since. */
  revision: string
}

/** A role that accounts can have. */
export interface ShownRole {
  name: string
  permissions: string[]
  /** Whether the administrator who reads the list may grant it. */
  grantable: boolean
}

export interface AccountQuery {
  page: number
  size: number
  /** Empty for all. */
  keyword: string
  /** Empty for all. */
  status: AccountStatus | ''
}

export interface AccountPagesOptions {
  side: Pick<Side, 'type'>
  management: Pick<AccountManagement, 'list'>
  sessions: Pick<SessionStore, 'overview'>
  presentRights: PresentRights
  permissions: Pick<Permissions, 'lacking' | 'roles'>
  timestamps: TimestampFormat
}

/** The lists of accounts. The store is asked about the accounts of the page only. */
export function createAccountPages(options: AccountPagesOptions) {
  const { side, management, sessions, timestamps, presentRights } = options

  async function shown(account: ListedAccount, { rights }: Actor): Promise<ShownAccount> {
    const { id, username, nickname, status, service, roles, permissions, passwordChangedAt } = account
    return {
      ...{ id, username, nickname, status, service, roles: [...roles], permissions: [...permissions] },
      second_factor: account.secondFactor,
      must_change_password: account.mustChangePassword,
      password_changed_at: passwordChangedAt === null ? null : timestamps.write(passwordChangedAt),
      last_login_time: await lastLoginOf(id),
      editable: options.permissions.lacking(rights, account).length === 0,
      revision: revisionOf(account),
    }
  }

  /** `null` for a user who is not online: the sessions that have ended are not kept. */
  async function lastLoginOf(id: string): Promise<string | null> {
    const overview = await sessions.overview(side.type, id)
    if (overview === null) return null
    const { created_at } = overview.newest.record
    return timestamps.normalize(created_at) ?? created_at
  }

  return {
    async page(session: SessionRecord, { page, size, keyword, status }: AccountQuery): Promise<Page<ShownAccount>> {
      const accounts = await management.list()
      const actor = await presentRights(session, accounts)
      const found = accounts.filter(matching(keyword, status))
      const turned = found.slice((page - 1) * size, page * size)
      const records = await Promise.all(turned.map(account => shown(account, actor)))
      return { records, total: found.length, page, size, pages: Math.ceil(found.length / size) }
    },

    async detail(session: SessionRecord, id: string): Promise<ShownAccount> {
      const accounts = await management.list()
      const found = accounts.find(account => account.id === id)
      if (found === undefined) throw new Refusal('NO_SUCH_ACCOUNT')
      return shown(found, await presentRights(session, accounts))
    },

    async roles(session: SessionRecord): Promise<ShownRole[]> {
      const { rights } = await presentRights(session, await management.list())
      return options.permissions.roles.map(({ name, permissions }) => ({
        name,
        permissions: [...permissions],
        grantable: options.permissions.lacking(rights, { roles: [name], permissions: [] }).length === 0,
      }))
    },
  }
}

/** The id exactly, or a part of the username or the nickname in any case, as in the session administration. */
function matching(keyword: string, status: AccountQuery['status']) {
  const part = keyword.toLowerCase()
  return ({ id, username, nickname, ...account }: ListedAccount): boolean =>
    (status === '' || account.status === status) &&
    (id === keyword || [username, nickname].some(name => name.toLowerCase().includes(part)))
}

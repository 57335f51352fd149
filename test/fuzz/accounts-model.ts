/* Who may change which account, by the design alone ("Account administration"). */

export type Status = 'ACTIVE' | 'INACTIVE' | 'LOCKED'

export interface Rights {
  roles: readonly string[]
  permissions: readonly string[]
}

export interface ModelAccount extends Rights {
  id: string
  username: string
  nickname: string
  status: Status
  mustChange: boolean
  hasFactor: boolean
  /** How often a second factor was reset. */
  resets: number
  /** Another number for every new password. */
  password: number
}

export const SUPER_ADMIN = 'SUPER_ADMIN'
export const EDIT = 'sys:account:edit'

export const SEE = 'sys:account:page'
const SESSIONS = 'sys:session:page'

/** What each role grants, as the fixture has it. */
const ROLES: Readonly<Record<string, readonly string[]>> = { operator: [SESSIONS] }

/** Every permission that is given to an account, and which of them it covers. */
const COVERED: Readonly<Record<string, readonly string[]>> = {
  '**': ['**', 'sys:account:*', EDIT, SEE, SESSIONS, 'orders:*', 'orders:read', 'staff:*', 'staff:edit'],
  'sys:account:*': ['sys:account:*', EDIT, SEE],
  [EDIT]: [EDIT],
  [SEE]: [SEE],
  [SESSIONS]: [SESSIONS],
  'orders:*': ['orders:*', 'orders:read'],
  'orders:read': ['orders:read'],
  'staff:*': ['staff:*', 'staff:edit'],
  'staff:edit': ['staff:edit'],
}

export const ALL_ROLES = [SUPER_ADMIN, ...Object.keys(ROLES)]
export const ALL_PERMISSIONS = Object.keys(COVERED)

export function holds({ roles, permissions }: Rights, code: string): boolean {
  const grants = [...permissions, ...roles.flatMap(role => ROLES[role] ?? [])]
  return roles.includes(SUPER_ADMIN) || grants.some(grant => COVERED[grant]?.includes(code) === true)
}

const holdsAll = (one: Rights, other: Rights): boolean =>
  one.roles.includes(SUPER_ADMIN) ||
  (other.roles.every(role => one.roles.includes(role)) && other.permissions.every(code => holds(one, code)))

const isMighty = ({ status, roles }: ModelAccount): boolean => status === 'ACTIVE' && roles.includes(SUPER_ADMIN)

/** A change that an administrator requests, or that comes past the gateway (`by: null`), where no law holds. */
export type Change =
  | { kind: 'add'; by: string | null; account: ModelAccount }
  | { kind: 'edit'; by: string | null; id: string; set: Partial<ModelAccount> }
  | { kind: 'reset-password'; by: string | null; id: string; password: number; mustChange: boolean }
  | { kind: 'reset-second-factor'; by: string | null; id: string }
  | { kind: 'remove'; by: string | null; id: string }

export type Accounts = readonly ModelAccount[]

/** The code of the answer, and the accounts afterwards. */
export function apply(accounts: Accounts, change: Change): { code: number; after: Accounts } {
  const before = 'id' in change ? accounts.find(({ id }) => id === change.id) : null
  const refused = (code: number) => ({ code, after: accounts })
  if (before === undefined) return refused(400)
  // The command line says that there is nothing to remove.
  if (change.kind === 'reset-second-factor' && change.by === null && before?.hasFactor === false) return refused(400)
  const account = before === null ? (change as { account: ModelAccount }).account : changed(before, change)
  if (change.by !== null && !isAllowed(accounts, change.by, change.kind, before, account)) return refused(403)
  if (before === null) {
    const isTaken = accounts.some(({ username }) => username.toLowerCase() === account!.username.toLowerCase())
    return isTaken ? refused(400) : { code: 200, after: [...accounts, account!] }
  }
  const after = accounts.flatMap(one => (one !== before ? [one] : account === null ? [] : [account]))
  return { code: 200, after }
}

function changed(before: ModelAccount, change: Change): ModelAccount | null {
  if (change.kind === 'remove') return null
  if (change.kind === 'edit') return { ...before, ...change.set }
  if (change.kind === 'reset-second-factor')
    return before.hasFactor ? { ...before, hasFactor: false, resets: before.resets + 1 } : before
  const { password, mustChange } = change as Extract<Change, { kind: 'reset-password' }>
  return { ...before, password, mustChange }
}

function isAllowed(
  accounts: Accounts,
  by: string,
  kind: Change['kind'],
  before: ModelAccount | null,
  after: ModelAccount | null,
): boolean {
  const actor = accounts.find(({ id, status }) => id === by && status === 'ACTIVE')
  if (actor === undefined || !holds(actor, EDIT)) return false
  if (before !== null && !holdsAll(actor, before)) return false
  if (after !== null && !holdsAll(actor, after)) return false
  if (before?.id === by) {
    if (after === null || kind.startsWith('reset') || after.status !== 'ACTIVE' || !holdsAll(after, before))
      return false
  }
  const isLast = before !== null && isMighty(before) && !accounts.some(one => one !== before && isMighty(one))
  return !isLast || (after !== null && isMighty(after))
}

const sorted = (texts: readonly string[]): string => [...new Set(texts)].sort().join()

/** Whether a session that began with an account as it was then ends when it is like this. */
export function endsSessions(then: ModelAccount, now: ModelAccount | undefined): boolean {
  if (now === undefined || now.status !== 'ACTIVE' || now.password !== then.password) return true
  if (sorted(now.roles) !== sorted(then.roles) || sorted(now.permissions) !== sorted(then.permissions)) return true
  return then.hasFactor && !now.hasFactor
}

import { type AccountsSettings, openFinder } from '../account/open.ts'
import { rightsIn } from '../account/permissions.ts'
import type { Account } from '../account/source.ts'
import { systemClock } from '../base/clock.ts'
import { faultText } from '../base/fault-text.ts'
import { createLog } from '../base/log/log.ts'
import { plain } from '../base/log/terminal-line.ts'
import { Refusal } from '../base/refusal.ts'
import { CommandError } from './terminal.ts'

/** What `dualgate account show` prints of an account; what is `undefined` is left out, because its source does not know it. */
export interface ShownAccount {
  username: string
  id: string
  nickname: string
  status: string
  roles: readonly string[]
  permissions: readonly string[]
  /** A service account has nothing of what follows. */
  service?: boolean | undefined
  /** The names of groups, each for a line of its own. */
  groups?: readonly string[] | undefined
  /** In milliseconds; `null` if it is not known. */
  passwordChangedAt: number | null
  mustChangePassword?: boolean | undefined
  /** `null` if it is not known. */
  secondFactor?: boolean | null | undefined
}

/** Asks a database, a backend or a directory for an account as a login does; `null` for an unknown name. */
export async function findElsewhere(
  settings: Exclude<AccountsSettings, { kind: 'file' }>,
  username: string,
): Promise<ShownAccount | null> {
  const source = await openFinder(settings, systemClock, createLog('silent'))
  try {
    const found = await source.find(username)
    return found === null ? null : shownOf(found, settings.kind)
  } catch (fault) {
    throw new CommandError(faultText(fault instanceof Refusal ? (fault.cause ?? fault) : fault))
  } finally {
    await source.close()
  }
}

function shownOf(account: Account, kind: Exclude<AccountsSettings['kind'], 'file'>): ShownAccount {
  const {
    id,
    username,
    status,
    extra,
    service,
    groups,
    passwordChangedAt = null,
    mustChangePassword,
    secondFactor,
  } = account
  return {
    username,
    id,
    nickname: typeof extra.nickname === 'string' ? extra.nickname : '',
    status,
    ...rightsIn(extra),
    service,
    groups,
    passwordChangedAt,
    ...(kind !== 'ldap' && {
      mustChangePassword: mustChangePassword === true,
      secondFactor: secondFactor !== undefined,
    }),
  }
}

/** The lines that are printed. Never a password, a hash or a second factor. */
export function linesOf(account: ShownAccount): string[] {
  const { groups } = account
  const rows: [name: string, value: string | undefined][] = [
    ['username', account.username],
    ['id', account.id],
    ['nickname', account.nickname],
    ['status', account.status],
    ['roles', account.roles.join(', ')],
    ['permissions', account.permissions.join(', ')],
    ...(groups ?? []).map((group, index): [string, string] => [index === 0 ? 'groups' : '', group]),
    ...(account.service === true ? [['kind', SERVICE] as [string, string]] : credentialsOf(account)),
  ]
  return rows.flatMap(([name, value]) =>
    value === undefined ? [] : [`${(name === '' ? '' : `${name}:`).padEnd(18)}${plain(value)}`.trimEnd()],
  )
}

/** The kind of an account. That of a person is not named. */
export const SERVICE = 'service account'

const credentialsOf = (account: ShownAccount): [name: string, value: string | undefined][] => [
  [
    'password changed',
    account.passwordChangedAt === null ? NOT_KNOWN : new Date(account.passwordChangedAt).toISOString(),
  ],
  ['must change it', yesOrNo(account.mustChangePassword)],
  ['second factor', account.secondFactor === null ? NOT_KNOWN : yesOrNo(account.secondFactor)],
]

const NOT_KNOWN = 'not known'

const yesOrNo = (value: boolean | undefined): string | undefined =>
  value === undefined ? undefined : value ? 'yes' : 'no'

import type { AccountStatus } from '../management.ts'
import type { Obstacle } from './bind-result.ts'
import type { Entry } from './operations.ts'

/* Whether an account may be used, and when its password was set, as each kind of directory writes it. */

/** What the attributes of an entry say about its use. A lockout by wrong passwords, which ends by itself, is no status. */
export interface EntryState {
  status: AccountStatus
  /** Why the status is not ACTIVE. */
  obstacle: Obstacle | undefined
  /** In milliseconds; `null` if it is not known. */
  passwordChangedAt: number | null
  /** Differs when the password was set at another time. */
  passwordState: string
}

/** When the password was set, in Active Directory, OpenLDAP, FreeIPA, and 389 Directory Server. */
const PASSWORD_TIMES = ['pwdLastSet', 'pwdChangedTime', 'krbLastPwdChange', 'pwdUpdateTime'] as const
/** From when an account is not to be used any more. */
const ENDS = ['accountExpires', 'pwdEndTime', 'krbPrincipalExpiration'] as const

export const STATE_ATTRIBUTES: readonly string[] = [
  ...PASSWORD_TIMES,
  ...ENDS,
  'userAccountControl',
  'nsAccountLock',
  'pwdStartTime',
  'pwdAccountLockedTime',
]

/** ADS_UF_ACCOUNTDISABLE ([MS-ADTS] 2.2.16) */
const DISABLED = 0x2
/** Locked by an administrator, until one unlocks it (draft-behera-ldap-password-policy-10, 5.3.3). */
const LOCKED_FOR_GOOD = /^000001010000/

export function stateOf(entry: Entry, now: number): EntryState {
  const obstacle = obstacleOf(entry, now)
  return {
    status: obstacle === undefined ? 'ACTIVE' : obstacle === 'locked' ? 'LOCKED' : 'INACTIVE',
    obstacle,
    passwordChangedAt: timesOf(entry, PASSWORD_TIMES)[0] ?? null,
    passwordState: JSON.stringify(PASSWORD_TIMES.map(attribute => textIn(entry, attribute))),
  }
}

function obstacleOf(entry: Entry, now: number): 'disabled' | 'expired' | 'locked' | undefined {
  if ((Number(textIn(entry, 'userAccountControl')) & DISABLED) !== 0) return 'disabled'
  if (isTrue(entry, 'nsAccountLock')) return 'disabled'
  if (LOCKED_FOR_GOOD.test(textIn(entry, 'pwdAccountLockedTime'))) return 'locked'
  if (timesOf(entry, ENDS).some(end => end <= now)) return 'expired'
  return timesOf(entry, ['pwdStartTime']).some(start => start > now) ? 'expired' : undefined
}

const textIn = (entry: Entry, attribute: string): string => entry.values(attribute)[0]?.toString('latin1') ?? ''

const isTrue = (entry: Entry, attribute: string): boolean => textIn(entry, attribute).toUpperCase() === 'TRUE'

/** The times that are there, in milliseconds. */
const timesOf = (entry: Entry, attributes: readonly string[]): number[] =>
  attributes
    .map(attribute => [attribute, textIn(entry, attribute)] as const)
    .filter(([, text]) => text !== '')
    .flatMap(([attribute, text]) => timeOf(attribute, text) ?? [])

/** In tenths of a microsecond since 1601; the greatest number is never, and so is 0. */
const [EPOCH_1601, NEVER] = [11_644_473_600_000n, 9_223_372_036_854_775_807n]
const GENERALIZED = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)?(\d\d)?(?:[.,]\d+)?(Z|[+-]\d\d(?:\d\d)?)$/

/** `null` for never. Throws for what is no time: it must not count as none. */
function timeOf(attribute: string, text: string): number | null {
  if (/^\d{1,19}$/.test(text)) {
    const time = BigInt(text)
    return time === 0n || time === NEVER ? null : Number(time / 10_000n - EPOCH_1601)
  }
  const [, year, month, day, hour, minute = '00', second = '00', zone = ''] = GENERALIZED.exec(text) ?? []
  const offset = zone.replace(/^(...)(\d\d)?$/, (_, hours, minutes = '00') => `${hours}:${minutes}`)
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}${offset}`)
  if (Number.isNaN(time)) throw new Error(`the attribute ${attribute} is not a time`)
  return time
}

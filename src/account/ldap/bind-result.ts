import type { SourceLogin } from '../source.ts'
import { type Bound, DirectoryResult, INVALID_CREDENTIALS } from './operations.ts'

/** Why an account cannot be used, as far as its directory says. It may say so without the right password. */
export type Obstacle = NonNullable<SourceLogin['obstacle']>

/** What a bind says about a password: right, and then whether another one is demanded; or wrong, and why. */
export type Verdict = { isRight: true; mustChange: boolean } | { isRight: false; obstacle?: Obstacle | undefined }

/**
 * The reasons of Active Directory behind result 49, in hexadecimal digits: 532, the password has expired; 773, it must be
 * changed. These two are said of the right password only.
 */
const MUST_CHANGE: ReadonlySet<string> = new Set(['532', '773'])
/** 530 and 531: not at this hour, not at this workstation. */
const OBSTACLES: Readonly<Record<string, Obstacle>> = {
  '530': 'restricted',
  '531': 'restricted',
  '533': 'disabled',
  '701': 'expired',
  '775': 'locked',
}

/**
 * What OpenLDAP, which says nothing, and 389 Directory Server say beside the error "expired" of a password policy: they have
 * compared the password first. FreeIPA has not ("Password is expired.", its plugin ipa_graceperiod), and of others it is not known.
 */
const COMPARED = /^(?:password expired!)?$/

const REASON = /AcceptSecurityContext error, data ([0-9a-f]{2,4})\b/i

/**
 * What 389 Directory Server and FreeIPA say in the place of result 49 when an account is disabled, locked or expired, whatever
 * the password. As a fault of the directory it would tell that the name exists.
 */
const REFUSED: readonly [code: number, diagnostic: RegExp, obstacle: Obstacle][] = [
  [53, /^account inactivated\b/i, 'disabled'],
  [53, /^account \(kerberos principal\) is expired\b/i, 'expired'],
  [53, /^(?:too many failed logins|entry permanently locked)\b/i, 'locked'],
  [19, /^exceed password retry limit\b/i, 'locked'],
  // Not used for longer than the account policy allows; a temporary password used too late or too often.
  [19, /^(?:account inactivity limit exceeded|TPR checking)\b/i, 'expired'],
]

/**
 * Reads the result of a bind. Fails with what it fails with, except for result 49 and what says the same: nothing else says that
 * a password is wrong.
 */
export async function verdictOf(bind: Promise<Bound>): Promise<Verdict> {
  try {
    return { isRight: true, ...(await bind) }
  } catch (fault) {
    if (!(fault instanceof DirectoryResult)) throw fault
    const { code, diagnostic } = fault
    const refused = REFUSED.find(([result, text]) => code === result && text.test(diagnostic))
    if (refused !== undefined) return { isRight: false, obstacle: refused[2] }
    if (code !== INVALID_CREDENTIALS) throw fault
    const [, reason = ''] = REASON.exec(diagnostic) ?? []
    const hasExpired = fault.policy === 'expired' && COMPARED.test(diagnostic)
    if (hasExpired || MUST_CHANGE.has(reason)) return { isRight: true, mustChange: true }
    return { isRight: false, obstacle: fault.policy ?? OBSTACLES[reason] }
  }
}

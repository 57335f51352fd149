import { rightsIn } from '../../account/permissions.ts'
import type { Account, AccountSource, Rights, Updatable } from '../../account/source.ts'
import type { TimestampFormat } from '../../base/timestamp.ts'
import type { SecondFactors } from '../../second-factor/second-factors.ts'
import { type Extra, textsOf } from '../../session/record.ts'
import type { Session } from '../../side/side.ts'
import { WRONG_CODES } from '../sign-in/begin.ts'
import type { CurrentPassword } from './current-password.ts'
import { type ChangePassword, createChangePassword, type OwnPasswordOptions } from './own-password.ts'

/** What a user sees of the own account; `null` for what its source does not know. */
export interface DescribedAccount {
  user_id: string
  username: string | null
  nickname: string | null
  avatar: string | null
  roles: string[] | null
  rights: Rights | null
  second_factor: boolean | null
  /** Whether the account must have one. */
  second_factor_required: boolean | null
  recovery_codes_left: number | null
  password_changed_at: string | null
  /** Wrong codes of the second factor that were entered between the login before and the one of the session. */
  wrong_codes: number
  can: Updatable[]
}

/** The account of the user of a session: what it is, and what the user can change in it. */
export interface OwnAccount {
  describe(session: Session): Promise<DescribedAccount>
  /** Absent if the source cannot store a password. */
  readonly changePassword?: ChangePassword
}

export interface OwnAccountOptions extends Omit<OwnPasswordOptions, 'updates'> {
  accounts: Pick<AccountSource, 'updates'>
  current: CurrentPassword
  secondFactors: Pick<SecondFactors, 'canSetUp' | 'isRequired' | 'recoveryCodesLeft'>
  timestamps: TimestampFormat
}

export function createOwnAccount(options: OwnAccountOptions): OwnAccount {
  const { current, secondFactors, timestamps } = options
  const { updates } = options.accounts
  const accountOf = oneAtATime(current)
  const storesFactors = updates?.can.has('second-factor') === true
  const can: Updatable[] = [
    ...(updates?.can.has('password') === true ? (['password'] as const) : []),
    ...(secondFactors.canSetUp ? (['second-factor'] as const) : []),
  ]
  return {
    ...(updates?.can.has('password') === true && {
      changePassword: createChangePassword({ ...options, updates }),
    }),
    async describe(session) {
      const { user_id, extra } = session.record
      const account = await accountOf(session)
      const wrong_codes = typeof extra[WRONG_CODES] === 'number' ? extra[WRONG_CODES] : 0
      if (account === null) return { ...namesOf(extra), user_id, ...NOTHING_KNOWN, wrong_codes, can: [] }
      const { secondFactor, passwordChangedAt } = account
      return {
        ...namesOf({ ...account.extra, username: account.username }),
        user_id,
        rights: rightsIn(account.extra),
        second_factor: secondFactor !== undefined || (storesFactors ? false : null),
        second_factor_required: secondFactors.isRequired(account),
        recovery_codes_left: secondFactors.recoveryCodesLeft(account),
        password_changed_at: passwordChangedAt === undefined ? null : timestamps.write(passwordChangedAt),
        wrong_codes,
        can: (updates?.fault?.() ?? null) === null ? can : [],
      }
    },
  }
}

/**
 * Simultaneous look-ups of one account are one: no limit holds for those who are signed in, and a user with many requests at once
 * must not occupy the source, which logins need.
 */
function oneAtATime(current: Pick<CurrentPassword, 'accountOf'>): CurrentPassword['accountOf'] {
  const underWay = new Map<string, Promise<Account | null>>()
  return session => {
    const { user_id, extra } = session.record
    const key = JSON.stringify([user_id, extra.username])
    const found = underWay.get(key) ?? current.accountOf(session).finally(() => underWay.delete(key))
    underWay.set(key, found)
    return found
  }
}

const NOTHING_KNOWN = {
  rights: null,
  second_factor: null,
  second_factor_required: null,
  recovery_codes_left: null,
  password_changed_at: null,
}

const namesOf = (extra: Extra): Pick<DescribedAccount, 'username' | 'nickname' | 'avatar' | 'roles'> => ({
  username: textIn(extra, 'username'),
  nickname: textIn(extra, 'nickname'),
  avatar: textIn(extra, 'avatar'),
  roles: Object.hasOwn(extra, 'roles') ? textsOf(extra, 'roles') : null,
})

function textIn(extra: Extra, name: string): string | null {
  const value = Object.hasOwn(extra, name) ? extra[name] : null
  return typeof value === 'string' ? value : null
}

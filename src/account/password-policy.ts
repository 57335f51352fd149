import { type PasswordFault, Refusal } from '../base/refusal.ts'
import { isStorable, MAX_PASSWORD_BYTES } from './password.ts'

/** What a new password must fulfil, on both sides. */
export interface PasswordSettings {
  /** In characters. */
  min_length: number
  /** How many kinds of characters must occur: lower case, upper case, digits, others. */
  classes: number
  common: 'refuse' | 'allow'
}

/** A new password, and whose it becomes. */
export interface NewPassword {
  username: string
  password: string
  /**
   * Whether a password is the one in use; absent for a new account, and where the answer must stay a secret: an administrator who
   * resets a password could otherwise find out what it is.
   */
  isInUse?: (password: string) => Promise<boolean>
}

/** The rules for every new password. Hashes that were made elsewhere are not checked. */
export interface PasswordPolicy {
  readonly settings: PasswordSettings
  /** Every fault of a new password, in the order of the settings; empty if it has none. */
  faultsOf(candidate: NewPassword): Promise<PasswordFault[]>
  /** Refuses a new password with `PASSWORD_NOT_ALLOWED`, which names every fault. */
  check(candidate: NewPassword): Promise<void>
}

const CLASSES = [/\p{Ll}/u, /\p{Lu}/u, /\p{Nd}/u, /[^\p{Ll}\p{Lu}\p{Nd}]/u]

export function createPasswordPolicy(settings: PasswordSettings): PasswordPolicy {
  const { min_length, classes, common } = settings

  async function faultsOf({ username, password, isInUse }: NewPassword): Promise<PasswordFault[]> {
    const faults: PasswordFault[] = []
    if ([...password].length < min_length) faults.push('min_length')
    if (CLASSES.filter(one => one.test(password)).length < classes) faults.push('classes')
    if (common === 'refuse' && (await isCommon(password))) faults.push('common')
    if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES) faults.push('max_bytes')
    if (!isStorable(password)) faults.push('characters')
    if (password.toLowerCase() === username.toLowerCase()) faults.push('username')
    // Last, for it costs a comparison with a hash.
    if ((await isInUse?.(password)) === true) faults.push('same')
    return faults
  }

  return {
    settings,
    faultsOf,
    async check(candidate) {
      const faults = await faultsOf(candidate)
      if (faults.length > 0) throw notAllowed(faults, settings)
    },
  }
}

const notAllowed = (faults: readonly PasswordFault[], { min_length, classes }: PasswordSettings): Refusal =>
  new Refusal('PASSWORD_NOT_ALLOWED', {
    params: { faults: faults.join(' '), min_length, classes, max_bytes: MAX_PASSWORD_BYTES },
    data: { faults },
  })

/** The list is loaded with the first new password. */
async function isCommon(password: string): Promise<boolean> {
  const { isCommonPassword } = await import('./common-passwords.ts')
  return isCommonPassword(password)
}

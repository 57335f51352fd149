import { generatePassword } from '../../account/generate-password.ts'
import type { HashedPassword } from '../../account/management.ts'
import { hashPassword } from '../../account/password.ts'
import type { PasswordPolicy } from '../../account/password-policy.ts'
import type { Clock } from '../../base/clock.ts'
import { invalid } from '../../base/refusal.ts'

export interface RequestedPassword {
  /** Encrypted with the public key of the login; without one a password is made. */
  password?: string | null | undefined
  must_change_password?: boolean | null | undefined
}

export interface PasswordMakerOptions {
  policy: PasswordPolicy
  decrypt(ciphertext: string): Promise<string | null>
  clock: Clock
}

/** What makes an account a service account. Refuses a password beside it with `INVALID`, and a demand for another one. */
export function serviceSince(
  addedAt: number,
  { password, must_change_password }: RequestedPassword,
): { service: true; addedAt: number } {
  for (const [field, value] of Object.entries({ password, must_change_password })) {
    if (value !== null && value !== undefined)
      throw invalid(field, 'must be left out: a service account has no password')
  }
  return { service: true, addedAt }
}

/** A password that an administrator gives an account: the one that they sent, or one that is made and shown once. */
export const createPasswordMaker =
  ({ policy, decrypt, clock }: PasswordMakerOptions) =>
  async (
    { password: sent, must_change_password }: RequestedPassword,
    username: string,
  ): Promise<{ hashed: HashedPassword; shown: { password?: string } }> => {
    const isMade = sent === null || sent === undefined
    const password = isMade ? generatePassword(policy.settings) : await decrypt(sent)
    if (password === null) throw invalid('password', 'must be encrypted with the public key')
    if (!isMade) await policy.check({ username, password })
    const hash = await hashPassword(password)
    return {
      hashed: { hash, changedAt: clock.now(), mustChange: must_change_password ?? true },
      shown: isMade ? { password } : {},
    }
  }

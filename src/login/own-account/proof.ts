import type { Account } from '../../account/source.ts'
import { invalid } from '../../base/refusal.ts'
import type { Origin, Publish } from '../../event/event.ts'
import type { SecondFactors } from '../../second-factor/second-factors.ts'
import type { Session, Side } from '../../side/side.ts'
import type { CurrentPassword } from './current-password.ts'
import { checked } from './own-second-factor.ts'

export interface ProofOptions {
  side: Pick<Side, 'type'>
  current: CurrentPassword
  factors: Pick<SecondFactors, 'isAsked' | 'verify'>
  publish: Publish
}

/**
 * Proves that a request comes from the user of its session, and not from someone at an unlocked computer: by the password in use, an
 * SM2 ciphertext in hex, and by a code where the login of the account needs one. What is wrong fails as at the login.
 */
export function createProof({ current, factors, ...options }: ProofOptions) {
  return async (
    session: Session,
    { current_password, code }: { current_password: string; code?: string | null },
    origin: Origin,
  ): Promise<Account> => {
    const { account } = await current.verify(session, current_password, origin)
    if (!factors.isAsked(account)) return account
    if (code == null) throw invalid('code', 'is missing')
    await checked(options, account, origin, () => factors.verify(account, code))
    return account
  }
}

export type Prove = ReturnType<typeof createProof>

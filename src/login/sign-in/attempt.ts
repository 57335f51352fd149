import type { Account } from '../../account/source.ts'
import type { Logger } from '../../base/log/log.ts'
import { Refusal, type RefusalReason } from '../../base/refusal.ts'
import type { Origin, Publish, SessionEvent } from '../../event/event.ts'
import type { ProviderFault } from '../../provider/refusal.ts'
import type { LoginType } from '../../session/sides.ts'
import type { ClaimsFault } from '../identity/claims.ts'
import type { Proven } from '../identity/provider-sessions.ts'
import { type ObstacleReason, publishFailure } from '../protection/failure-event.ts'

/** What a login may demand after the right password, as clients get it in `required`. */
export type Step = 'second-factor' | 'second-factor-setup' | 'password'

/** The client of a login, as the session's `extra` has it. It stays the same in all steps of the login. */
export interface Device {
  device_type: string
  device_id: string
  login_ip: string
}

/** Why a sign-in by a provider failed, beyond what the provider and its claims say. */
export type FlowFault = 'unknown-state' | 'used-state' | 'other-browser' | 'no-account' | 'ended-at-provider'

/** One word for each case, for log and journal. */
export type ProviderReason = FlowFault | ProviderFault | ClaimsFault

/** How far a login is. */
export interface Progress {
  account: Account
  device: Device
  /** Steps of the same login that were passed before. */
  passed: readonly Step[]
  /** Set if a provider has proven the user, instead of a password. */
  proven?: Proven
  proof?: Attempt['proof']
  wrongCodes?: Attempt['wrongCodes']
}

/** One request of a login, as the log describes it, but for `origin` and `names`. */
export interface Attempt {
  type: LoginType
  address: string
  /** The OpenID provider by which the user signs in. */
  provider?: string | undefined
  /** Absent in the first request of a login. */
  step?: Step
  login_id?: string | undefined
  /** The step that the login still needs. */
  required?: Step
  /** Set if the second factor was proven by a recovery code, in this request or an earlier one of the login. */
  proof?: 'recovery-code' | undefined
  /** Wrong codes of the second factor that were entered before the right one, since the one before it. */
  wrongCodes?: number | undefined
  /** The details that the client does not receive. */
  because?:
    | 'unknown user'
    | 'undecryptable'
    | 'wrong password'
    | 'changed meanwhile'
    | 'unknown ticket'
    | 'ticket of another step'
    | 'ticket used meanwhile'
    | 'too many codes'
    | ObstacleReason
    | ProviderReason
  /** Why it failed, for events, where the client gets a more general reason. */
  reason?: ObstacleReason | ProviderReason
  username?: string | undefined
  /** What the provider said about its refusal, for the log. */
  said?: string
  /** Where it comes from, for events. Before the password was right the client is unknown, so there is no `by`. */
  origin: Origin
  /** The names of the account, for events. */
  names?: Pick<SessionEvent, 'username' | 'nickname'>
}

/** Runs one request of a login, logs its result, and publishes if it is refused for what it proves. */
export type RunAttempt = <T extends object>(attempt: Attempt, work: () => Promise<T>) => Promise<T>

/** The user has not failed: a further step is required, or a field is to be corrected. */
const NO_FAILURES: ReadonlySet<RefusalReason> = new Set([
  'STEP_REQUIRED',
  'INVALID',
  'PASSWORD_NOT_ALLOWED',
  'SETUP_GONE',
])

export function createRunAttempt(log: Logger, publish: Publish): RunAttempt {
  return async (attempt, work) => {
    try {
      const answer = await work()
      // The request that shows a new second factor neither grants nor refuses anything.
      log.info({ ...('token' in answer && { granted: true }), ...lineOf(attempt) }, 'login')
      return answer
    } catch (fault) {
      if (fault instanceof Refusal) {
        const { reason } = fault
        log.info({ granted: false, reason, ...lineOf(attempt) }, 'login')
        const { type, login_id = null, names, origin, provider } = attempt
        const about = {
          type,
          login_id,
          ...names,
          ...origin,
          ...(provider !== undefined && { provider }),
          ...(attempt.reason && { reason: attempt.reason }),
        }
        const isSetUp = attempt.step === 'second-factor-setup' && reason === 'WRONG_CODE'
        if (!NO_FAILURES.has(reason))
          publishFailure(publish, fault, about, isSetUp ? 'second-factor-failed' : 'login-failed')
      }
      throw fault
    }
  }
}

const lineOf = ({ origin: _, names: __, wrongCodes: ___, reason: ____, ...line }: Attempt) => line

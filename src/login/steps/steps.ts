import type { Account, AccountSource } from '../../account/accounts.ts'
import type { PasswordPolicy } from '../../account/password-policy.ts'
import type { Clock } from '../../clock.ts'
import type { Publish } from '../../event/event.ts'
import { Refusal } from '../../refusal.ts'
import type { Side } from '../../side/side.ts'
import type { Store } from '../../store/store.ts'
import type { Attempt, Device, RunAttempt, Step } from '../attempt.ts'
import type { Begin } from '../begin.ts'
import type { Lockout } from '../lockout.ts'
import type { RateLimit } from '../rate-limit.ts'
import type { Sm2 } from '../sm2/sm2.ts'
import { createPasswordStep } from './password.ts'
import { createRequired } from './required.ts'
import { createTickets, type OpenTicket, TICKET_LIFETIME } from './tickets.ts'

/** The next request of a login that needs more than the password. */
export interface StepRequest {
  ticket: string
  /** The client's address, as reported by trusted proxies. */
  address: string
  /** The id of the request. */
  trace_id: string
}

export interface PasswordStepRequest extends StepRequest {
  /** SM2 ciphertext in hex. */
  new_password: string
}

export interface StepsOptions {
  side: Pick<Side, 'type' | 'kickoutWhere' | 'checkDisable'>
  accounts: AccountSource
  store: Pick<Store, 'tickets'>
  sm2: Sm2
  lockout: Pick<Lockout, 'checkAddress'>
  rateLimit: RateLimit
  policy: PasswordPolicy
  /** `passwords.max_age`, in milliseconds. */
  maxPasswordAge: number | 'off'
  clock: Clock
  publish: Publish
  run: RunAttempt
  begin: Begin
}

/** The steps of a login after the password: a new password. */
export interface Steps {
  /** The session, or a refusal with `STEP_REQUIRED` and the ticket of the next step. */
  proceed(account: Account, device: Device, attempt: Attempt): Promise<{ token: string }>
  /** Absent if the source of the accounts cannot store a password. */
  readonly changePassword?: (request: PasswordStepRequest) => Promise<{ token: string }>
}

export function createSteps(options: StepsOptions): Steps {
  const { side, accounts, store, clock, run, begin } = options
  const { updates } = accounts
  const tickets = createTickets({ type: side.type, accounts, store: store.tickets, clock })
  const required = createRequired({ accounts, maxAge: options.maxPasswordAge, clock })

  async function proceed(
    account: Account,
    device: Device,
    attempt: Attempt,
    passed: readonly Step[] = [],
  ): Promise<{ token: string }> {
    const step = required(account, passed)
    if (step === null) return begin(account, device, attempt)
    // A disabled user learns it before the step, as without one.
    await side.checkDisable(account.id)
    attempt.required = step
    const ticket = await tickets.issue(step, account, device, passed)
    throw new Refusal('STEP_REQUIRED', { data: { ticket, required: step, expires_in: TICKET_LIFETIME / 1000 } })
  }

  /** One request of a step. `work` proves the step, and returns the account as it is then. */
  function request(
    step: Step,
    { ticket, address, trace_id }: StepRequest,
    work: (ticket: OpenTicket, attempt: Attempt) => Promise<Account>,
  ): Promise<{ token: string }> {
    const attempt: Attempt = { type: side.type, address, step, origin: { trace_id, address } }
    return run(attempt, async () => {
      await options.rateLimit('step', address)
      await options.lockout.checkAddress(address)
      const opened = await tickets.open(ticket, [step], attempt)
      await side.checkDisable(opened.login_id)
      const account = await work(opened, attempt)
      return proceed(account, opened.device, attempt, [...opened.passed, step])
    })
  }

  if (updates?.can.has('password') !== true) return { proceed }
  const changePassword = createPasswordStep({ ...options, updates, tickets })
  return {
    proceed,
    changePassword: asked =>
      request('password', asked, (ticket, attempt) => changePassword(ticket, asked.new_password, attempt)),
  }
}

import type { AccountKeys } from '../../../account/kept-keys.ts'
import type { PasswordPolicy } from '../../../account/password-policy.ts'
import type { AccountSource } from '../../../account/source.ts'
import type { Clock } from '../../../base/clock.ts'
import { Refusal } from '../../../base/refusal.ts'
import type { Publish } from '../../../event/event.ts'
import type { SecondFactors } from '../../../second-factor/second-factors.ts'
import type { Side } from '../../../side/side.ts'
import type { Store } from '../../../store/store.ts'
import type { Lockout } from '../../protection/lockout.ts'
import type { RateLimit } from '../../protection/login-rate-limit.ts'
import type { Sm2 } from '../../sm2/sm2.ts'
import type { Attempt, Progress, RunAttempt, Step } from '../attempt.ts'
import type { Began, Begin } from '../begin.ts'
import { createPasswordStep } from './password.ts'
import { createRequired } from './required.ts'
import { createSecondFactorSteps, type PassedFactor, type ShownFactor } from './second-factor.ts'
import { createTicketCodes, type TicketCodes } from './ticket-codes.ts'
import { createTickets, type OpenTicket, TICKET_LIFETIME, type Tickets, type TicketsOptions } from './tickets.ts'

/** The next request of a login that needs more than the password. */
export interface StepRequest {
  ticket: string
  /** The client's address, as reported by trusted proxies. */
  address: string
  /** The id of the request. */
  trace_id: string
}

/** What a login answers; after the set-up of a second factor with its recovery codes, which are shown once. */
export interface SignedIn extends Began {
  recovery_codes?: string[]
  /** Wrong codes of the second factor since the last right one; absent if there were none. */
  wrong_codes?: number
}

export interface StepsOptions {
  side: Pick<Side, 'type' | 'kickoutWhere' | 'checkDisable'>
  accounts: AccountSource
  factors: SecondFactors
  store: Pick<Store, 'tickets' | 'attempts'>
  sm2: Sm2
  lockout: Pick<Lockout, 'checkAddress' | 'failedFrom'>
  rateLimit: RateLimit
  policy: PasswordPolicy
  /** `null` where users have none. */
  keys: Pick<AccountKeys, 'keptThrough'> | null
  /** `passwords.max_age`, in milliseconds. */
  maxPasswordAge: number | 'off'
  clock: Clock
  publish: Publish
  run: RunAttempt
  begin: Begin
  mark?: TicketsOptions['mark'] | undefined
}

/** The steps of a login after the password: a second factor, then a new password. */
export interface Steps {
  /** The session, or a refusal with `STEP_REQUIRED` and the ticket of the next step. */
  proceed(progress: Progress, attempt: Attempt): Promise<SignedIn>
  /** `new_password` is SM2 ciphertext in hex. Absent if the source of the accounts cannot store a password. */
  readonly changePassword?: (request: StepRequest & { new_password: string }) => Promise<SignedIn>
  /** Absent if users cannot set up a second factor. */
  readonly secondFactor?: {
    setUp(request: StepRequest): Promise<ShownFactor>
    /** Of the second factor that the account has, or has just set up. */
    enter(request: StepRequest & { code: string }): Promise<SignedIn>
  }
}

export function createSteps(options: StepsOptions): Steps {
  const { side, accounts, factors, store, clock } = options
  const { updates } = accounts
  const { type } = side
  const tickets = createTickets({ type, accounts, store: store.tickets, clock, mark: options.mark })
  const proceed = createProceed(options, tickets)
  const codes = createTicketCodes({ ...store, type })
  const open = createOpen(options, tickets, codes)
  const proven = (
    ticket: OpenTicket,
    attempt: Attempt,
    { recoveryCodes, ...proven }: PassedFactor,
  ): Promise<SignedIn> => {
    const { device, passed, step, proof, wrongCodes, proven: byProvider } = ticket
    const kept = { device, proof, wrongCodes, ...(byProvider !== undefined && { proven: byProvider }) }
    return proceed({ ...kept, ...proven, passed: [...passed, step] }, attempt, recoveryCodes)
  }

  const { setUp, confirm, verify } = createSecondFactorSteps({ ...options, tickets, codes })
  const secondFactor: Steps['secondFactor'] = {
    setUp: asked => open(asked, ['second-factor-setup'], setUp),
    enter: asked =>
      open(asked, ['second-factor', 'second-factor-setup'], async (ticket, attempt) => {
        const prove = ticket.step === 'second-factor' ? verify : confirm
        return proven(ticket, attempt, await prove(ticket, asked.code, attempt))
      }),
  }

  const change = updates?.can.has('password') === true ? createPasswordStep({ ...options, updates, tickets }) : null
  return {
    proceed,
    ...(factors.canSetUp && { secondFactor }),
    ...(change !== null && {
      changePassword: asked =>
        open(asked, ['password'], async (ticket, attempt) =>
          proven(ticket, attempt, { account: await change(ticket, asked.new_password, attempt) }),
        ),
    }),
  }
}

/** Begins the session of a login that needs no more, or demands its next step. */
function createProceed({ side, accounts, factors, maxPasswordAge, clock, begin }: StepsOptions, tickets: Tickets) {
  const required = createRequired({ accounts, factors, maxAge: maxPasswordAge, clock })
  return async (progress: Progress, attempt: Attempt, recoveryCodes?: string[]): Promise<SignedIn> => {
    const { account, passed } = progress
    attempt.proof = progress.proof
    attempt.wrongCodes = progress.wrongCodes
    const shown = recoveryCodes === undefined ? {} : { recovery_codes: recoveryCodes }
    const wrong = progress.wrongCodes === undefined ? {} : { wrong_codes: progress.wrongCodes }
    const step = required(account, passed)
    if (step === null) return { ...(await begin(progress, attempt)), ...shown, ...wrong }
    // A disabled user learns it before the step, as without one.
    await side.checkDisable(account.id)
    attempt.required = step
    const ticket = await tickets.issue(step, progress)
    const expires_in = TICKET_LIFETIME / 1000
    throw new Refusal('STEP_REQUIRED', { data: { ticket, required: step, expires_in, ...shown } })
  }
}

/** Admits a request of a step: within the limits of its address, with a ticket of one of these steps. */
function createOpen({ side, rateLimit, lockout, run }: StepsOptions, tickets: Tickets, codes: TicketCodes) {
  return <T extends object>(
    { ticket, address, trace_id }: StepRequest,
    steps: readonly [Step, ...Step[]],
    work: (ticket: OpenTicket, attempt: Attempt) => Promise<T>,
  ): Promise<T> => {
    const attempt: Attempt = { type: side.type, address, step: steps[0], origin: { trace_id, address } }
    return run(attempt, async () => {
      await rateLimit('step', address)
      await lockout.checkAddress(address)
      const opened = await tickets.open(ticket, steps, attempt)
      attempt.step = opened.step
      if (opened.step !== 'password') await codes.refuseUsedUp(opened, attempt)
      await side.checkDisable(opened.login_id)
      return work(opened, attempt)
    })
  }
}

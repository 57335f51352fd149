import { type Account, type AccountSource, refuseUnwritable } from '../../../account/source.ts'
import { Refusal } from '../../../base/refusal.ts'
import type { Publish } from '../../../event/event.ts'
import type { NewFactor, SecondFactors } from '../../../second-factor/second-factors.ts'
import type { Side } from '../../../side/side.ts'
import type { Lockout } from '../../protection/lockout.ts'
import type { Attempt, Progress } from '../attempt.ts'
import { changedAccount } from './changed-account.ts'
import type { TicketCodes } from './ticket-codes.ts'
import type { OpenTicket, Tickets } from './tickets.ts'

export interface SecondFactorStepsOptions {
  side: Pick<Side, 'type'>
  accounts: Pick<AccountSource, 'find' | 'findById' | 'updates'>
  factors: SecondFactors
  tickets: Tickets
  codes: Pick<TicketCodes, 'check'>
  lockout: Pick<Lockout, 'failedFrom'>
  publish: Publish
}

/** What is shown once to set up an app. */
export type ShownFactor = Omit<NewFactor, 'sealed'>

/** The account after a step, what its user is shown once, and what proved the factor. */
export interface PassedFactor {
  account: Account
  recoveryCodes?: string[]
  proof?: Progress['proof']
  wrongCodes?: Progress['wrongCodes']
}

export interface SecondFactorSteps {
  /** A new second factor for the ticket's account. The last that was shown is the one that `confirm` accepts. */
  setUp(ticket: OpenTicket): Promise<ShownFactor>
  /** Accepts a code of the new factor, and stores the factor with the account. */
  confirm(ticket: OpenTicket, code: string, attempt: Attempt): Promise<PassedFactor>
  /** Accepts a code of the account's factor. */
  verify(ticket: OpenTicket, code: string, attempt: Attempt): Promise<PassedFactor>
}

export function createSecondFactorSteps(options: SecondFactorStepsOptions): SecondFactorSteps {
  const { side, accounts, factors, tickets, codes, lockout, publish } = options

  /** A wrong code is also a failure of its address. */
  async function checked<T>(ticket: OpenTicket, attempt: Attempt, check: () => Promise<T>): Promise<T> {
    try {
      return await codes.check(ticket, attempt, check)
    } catch (fault) {
      if (fault instanceof Refusal && fault.reason === 'WRONG_CODE') await lockout.failedFrom(attempt.address)
      throw fault
    }
  }

  return {
    async setUp(ticket) {
      refuseUnwritable(accounts.updates)
      const { sealed, ...shown } = await factors.create(ticket.account)
      await tickets.keepNote(ticket, sealed)
      return shown
    },
    async confirm(ticket, code, attempt) {
      refuseUnwritable(accounts.updates)
      const { account } = ticket
      const sealed = await tickets.noteOf(ticket)
      if (sealed === null) throw new Refusal('SETUP_GONE')
      const { recoveryCodes, update } = await checked(ticket, attempt, () => factors.confirm(account, sealed, code))
      await tickets.use(ticket, attempt, update.store)
      const origin = { by: account.id, by_type: side.type, ...attempt.origin }
      publish({ event: 'second-factor-on', type: side.type, login_id: account.id, ...attempt.names, ...origin })
      return { account: await changedAccount(accounts, account, update, attempt), recoveryCodes }
    },
    async verify(ticket, code, attempt) {
      const { account } = ticket
      const { proof, wrongCodes } = await checked(ticket, attempt, () => factors.verify(account, code))
      await tickets.use(ticket, attempt, async () => true)
      return { account, ...(proof === 'recovery-code' && { proof }), ...(wrongCodes > 0 && { wrongCodes }) }
    },
  }
}

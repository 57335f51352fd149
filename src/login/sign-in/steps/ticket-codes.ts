import type { LoginType } from '../../../session/sides.ts'
import type { AttemptStore } from '../../../store/store.ts'
import type { Attempt } from '../attempt.ts'
import { type OpenTicket, TICKET_LIFETIME, ticketInvalid } from './tickets.ts'

/** The wrong code that uses a ticket up. */
const LAST_CODE = 5

/** The codes of tickets: five are checked for each, also of codes at the same time. */
export interface TicketCodes {
  /** Counts a code, and then checks it. Refuses with `TICKET_INVALID` if five were counted before. */
  check<T>(ticket: OpenTicket, attempt: Attempt, check: () => Promise<T>): Promise<T>
  /**
   * Refuses with `TICKET_INVALID` a ticket whose codes are used up. The store keeps such a ticket until it expires: of codes at
   * the same time an earlier one may be right, and still needs it.
   */
  refuseUsedUp(ticket: OpenTicket, attempt: Attempt): Promise<void>
}

export interface TicketCodesOptions {
  type: LoginType
  attempts: Pick<AttemptStore, 'count' | 'read'>
}

export function createTicketCodes({ type, attempts }: TicketCodesOptions): TicketCodes {
  const countedOf = ({ id }: OpenTicket): string => `ticket:${type}:${id}`
  return {
    async check(ticket, attempt, check) {
      const { count } = await attempts.count(countedOf(ticket), TICKET_LIFETIME)
      if (count > LAST_CODE) throw ticketInvalid(attempt, 'too many codes')
      return check()
    },
    async refuseUsedUp(ticket, attempt) {
      const counted = await attempts.read(countedOf(ticket))
      if (counted !== null && counted.count >= LAST_CODE) throw ticketInvalid(attempt, 'too many codes')
    },
  }
}

import { Refusal } from '../../refusal.ts'
import type { LoginType } from '../../session.ts'
import type { AttemptStore, TicketStore } from '../../store/store.ts'
import type { Attempt } from '../attempt.ts'
import { type OpenTicket, TICKET_LIFETIME, ticketInvalid } from './tickets.ts'

/** The wrong code that uses a ticket up. */
const LAST_CODE = 5

/**
 * Counts a code of a ticket, and then checks it, so that codes at the same time are as few as one after the other. Refuses
 * with `TICKET_INVALID` if five were counted before. If the check refuses the fifth with `WRONG_CODE`, the ticket is used up.
 */
export type CheckCode = <T>(ticket: OpenTicket, attempt: Attempt, check: () => Promise<T>) => Promise<T>

export interface CheckCodeOptions {
  type: LoginType
  tickets: Pick<TicketStore, 'take'>
  attempts: Pick<AttemptStore, 'count'>
}

export const createCheckCode =
  ({ type, tickets, attempts }: CheckCodeOptions): CheckCode =>
  async ({ id }, attempt, check) => {
    const { count } = await attempts.count(`ticket:${type}:${id}`, TICKET_LIFETIME)
    if (count > LAST_CODE) throw ticketInvalid(attempt, 'too many codes')
    try {
      return await check()
    } catch (fault) {
      const isWrong = fault instanceof Refusal && fault.reason === 'WRONG_CODE'
      if (isWrong && count === LAST_CODE) await tickets.take(type, id)
      throw fault
    }
  }

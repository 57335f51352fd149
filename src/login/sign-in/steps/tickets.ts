import { createHash, randomBytes } from 'node:crypto'
import { type Account, type AccountSource, findActive } from '../../../account/source.ts'
import type { Clock } from '../../../base/clock.ts'
import { Refusal, Unavailable } from '../../../base/refusal.ts'
import type { LoginType } from '../../../session/sides.ts'
import { eventNames } from '../../../side/event-names.ts'
import type { TicketStore } from '../../../store/store.ts'
import type { Attempt, Progress, Step } from '../attempt.ts'

/** How long a ticket lives, in milliseconds. */
export const TICKET_LIFETIME = 300_000
/** 192 bits. */
const TICKET_BYTES = 24

/** What the store keeps under the digest of a ticket. */
interface StoredTicket extends Omit<Progress, 'account'> {
  step: Step
  login_id: string
  username: string
  /** The version of the account when the ticket was issued. */
  version: string | null
  expires_at: number
}

/** A valid ticket that a client has sent, and its account as it is now. */
export interface OpenTicket extends StoredTicket {
  /** The ticket's id in the store, from which it cannot be computed back. */
  id: string
  account: Account
}

/**
 * Tickets for the steps of a login. A ticket belongs to one account and one step, lives for 300 s, and is used up by the
 * step's success, whichever worker or gateway sees it first, or by the fifth wrong code. It becomes void when the password,
 * the second factor, the status or the rights of the account change. A request that finds such a change uses it up, so it is not
 * valid again when the change is undone. A change that is undone before any request of the ticket leaves it valid: then the account
 * is the one that signed in, and another login would get the same ticket. It is worth nothing anywhere else.
 */
export interface Tickets {
  issue(step: Step, progress: Progress): Promise<string>
  /** Refuses with `TICKET_INVALID` a ticket that is unknown, void or of another step, which does not use it up. */
  open(text: string, steps: readonly Step[], attempt: Attempt): Promise<OpenTicket>
  /**
   * Uses the ticket up and does what it was for: `false` stands for an account that has changed. Of several calls at the
   * same time one acts; the others are refused with `TICKET_INVALID`. If the action fails, the ticket stays.
   */
  use(ticket: OpenTicket, attempt: Attempt, act: () => Promise<boolean>): Promise<void>
  /** Keeps a text for the step until the ticket ends, beside the ticket: it does not revive a ticket that was used. */
  keepNote(ticket: OpenTicket, note: string): Promise<void>
  noteOf(ticket: OpenTicket): Promise<string | null>
}

export interface TicketsOptions {
  type: LoginType
  accounts: Pick<AccountSource, 'find' | 'findById'>
  store: Pick<TicketStore, 'put' | 'read' | 'take'>
  clock: Clock
  /** Stands before each ticket, where several kinds of steps share a store. */
  mark?: string | undefined
}

export function createTickets({ type, accounts, store, clock, mark = '' }: TicketsOptions): Tickets {
  const notesOf = ({ id }: OpenTicket): string => `${id}:note`

  /** The account of a ticket; `null` if it is not what it was when the ticket was issued. */
  async function accountOf({ username, login_id, version }: StoredTicket): Promise<Account | null> {
    const account = await findActive(accounts, { id: login_id, username })
    return account !== null && (account.version ?? null) === version ? account : null
  }

  return {
    async issue(step, { account, ...progress }) {
      const text = mark + randomBytes(TICKET_BYTES).toString('base64url')
      const { id: login_id, username, version = null } = account
      const expires_at = clock.now() + TICKET_LIFETIME
      const ticket: StoredTicket = { step, ...progress, login_id, username, version, expires_at }
      await store.put(type, idOf(text), JSON.stringify(ticket), expires_at)
      return text
    },
    async open(text, steps, attempt) {
      const id = idOf(text)
      const stored = await store.read(type, id)
      if (stored === null) throw ticketInvalid(attempt, 'unknown ticket')
      const ticket = JSON.parse(stored) as StoredTicket
      attempt.login_id = ticket.login_id
      const { device_type, device_id } = ticket.device
      Object.assign(attempt.origin, { device_type, device_id })
      attempt.provider = ticket.proven?.provider
      if (!steps.includes(ticket.step)) throw ticketInvalid(attempt, 'ticket of another step')
      const account = await accountOf(ticket)
      if (account === null) {
        await store.take(type, id)
        throw ticketInvalid(attempt, 'changed meanwhile')
      }
      attempt.names = eventNames({ ...account.extra, username: account.username })
      return { ...ticket, id, account }
    },
    async use(ticket, attempt, act) {
      const taken = await store.take(type, ticket.id)
      if (taken === null) throw ticketInvalid(attempt, 'ticket used meanwhile')
      try {
        // Since the ticket was opened, a new password was hashed or a code was checked.
        if ((await accountOf(ticket)) === null || !(await act())) throw ticketInvalid(attempt, 'changed meanwhile')
      } catch (fault) {
        const isDecision = fault instanceof Refusal && !(fault instanceof Unavailable)
        if (!isDecision) await store.put(type, ticket.id, taken, ticket.expires_at).catch(() => undefined)
        throw fault
      }
    },
    keepNote: (ticket, note) => store.put(type, notesOf(ticket), note, ticket.expires_at),
    noteOf: ticket => store.read(type, notesOf(ticket)),
  }
}

/** The store does not hold the ticket itself: a copy of it opens nothing. */
const idOf = (text: string): string => createHash('sha256').update(text).digest('base64url')

export function ticketInvalid(attempt: Attempt, because: NonNullable<Attempt['because']>): Refusal {
  attempt.because = because
  // A page learns that correcting its fields does not help.
  return new Refusal('TICKET_INVALID', { data: { required: 'login' } })
}

import { randomBytes, randomInt } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { SignInRequest } from '../../provider/provider.ts'
import type { LoginType } from '../../session/sides.ts'
import type { AttemptStore, TicketStore } from '../../store/store.ts'
import { digestOf } from '../identity/digest.ts'
import { createOutstandingCheck } from '../protection/outstanding-limit.ts'

/*
 * Sign-ins on their way to a provider and back. A browser has one cookie for all of them, so that its tabs do not disturb each other;
 * the store has only digests of it and of each `state`.
 */

/** How long a user has time at the provider, in milliseconds. */
const FLOW_LIFETIME = 600_000
/** How long a browser keeps the cookie, in seconds: longer than a sign-in at the provider may take. */
export const FLOW_COOKIE_SECONDS = 900
/** How long a browser has time to ask for the step that its sign-in needs, in milliseconds. */
const STEP_LIFETIME = 60_000

export interface Flow extends SignInRequest {
  provider: string
  /** Where the user wants to go; checked by the page that leads there. */
  to: string
  /** The span of time in which it began. */
  span: number
}

interface StoredFlow {
  provider: string
  nonce: string
  verifier: string
  to: string
  span: number
  /** Digest of the cookie. */
  cookie: string
  expires_at: number
}

/** What a callback finds by its `state`. `used`: another callback with it came first. */
export type Found = { flow: Flow } | { fault: 'unknown-state' | 'other-browser' } | { fault: 'used-state'; to: string }

const WORD = /^[A-Za-z0-9]{43}$/
const CHARACTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** 256 random bits in letters and digits alone: nothing on their way encodes or cuts them. */
const newWord = (): string => Array.from({ length: 43 }, () => CHARACTERS[randomInt(CHARACTERS.length)]).join('')

const newFlow = (provider: string, to: string, span: number): Flow => ({
  provider,
  to,
  span,
  state: newWord(),
  nonce: newWord(),
  verifier: randomBytes(32).toString('base64url'),
})

const idOf = (state: string): string => `flow:${digestOf(state)}`
const usedOf = (state: string): string => `flow-used:${digestOf(state)}`

export type Flows = ReturnType<typeof createFlows>

/** The browser in which a sign-in begins: its flow cookie, and the client's address. */
export interface Browser {
  cookie: string | null
  address: string
}

export interface FlowStore {
  tickets: TicketStore
  attempts: Pick<AttemptStore, 'count' | 'read'>
}

export function createFlows(type: LoginType, { tickets, attempts }: FlowStore, clock: Clock) {
  const stepOf = (cookie: string, name: string): string => `flow-step:${digestOf(cookie, name)}`
  const find = createFind(type, tickets)
  const limit = createLimit(type, attempts, clock)

  return {
    /** A new sign-in of the browser; without a valid cookie it gets another. Refuses with `BUSY` when too many have begun. */
    async begin(provider: string, to: string, { cookie, address }: Browser): Promise<{ flow: Flow; cookie: string }> {
      await limit.check(address)
      const kept = cookie !== null && WORD.test(cookie) ? cookie : newWord()
      const flow = newFlow(provider, to, await limit.count())
      const { state, ...secrets } = flow
      const expires_at = clock.now() + FLOW_LIFETIME
      const stored: StoredFlow = { ...secrets, cookie: digestOf(kept), expires_at }
      await tickets.put(type, idOf(state), JSON.stringify(stored), expires_at)
      return { flow, cookie: kept }
    },

    /** Takes the sign-in that a callback continues: of several callbacks with one `state`, one gets it. */
    async take(provider: string, state: string, cookie: string | null): Promise<Found> {
      const found = await find(provider, state, cookie)
      if ('fault' in found) return found
      const { cookie: expected, expires_at, ...flow } = found.stored
      const used = { fault: 'used-state', to: flow.to } as const
      if (found.isUsed) return used
      const mark: StoredFlow = { ...flow, nonce: '', verifier: '', cookie: expected, expires_at }
      await tickets.put(type, usedOf(state), JSON.stringify(mark), expires_at)
      return (await tickets.take(type, idOf(state))) === null ? used : { flow: { ...flow, state } }
    },

    /** Where the user of a callback wants to go, without taking its sign-in; `null` if that is not known for this browser. */
    async wantedBy(provider: string, state: string, cookie: string | null): Promise<string | null> {
      const found = await find(provider, state, cookie)
      return 'fault' in found ? null : found.stored.to
    },

    /** Call it once for a sign-in that was taken, when the provider has proven its user: it leaves room for another. */
    proven: ({ span }: Flow): Promise<void> => limit.countProven(span),

    /** Keeps what the next step of a sign-in needs for the page of the browser with this cookie, and names it. */
    async keepStep(cookie: string, step: unknown): Promise<string> {
      const name = newWord()
      await tickets.put(type, stepOf(cookie, name), JSON.stringify(step), clock.now() + STEP_LIFETIME)
      return name
    },

    /** The step of that name, once; `null` without one for this browser. */
    async takeStep(cookie: string | null, name: string): Promise<unknown> {
      if (cookie === null || !WORD.test(name)) return null
      const text = await tickets.take(type, stepOf(cookie, name))
      return text === null ? null : JSON.parse(text)
    },
  }
}

/** Finds the sign-in of a callback, used or not. A callback in another browser than that of its cookie takes and learns nothing. */
const createFind =
  (type: LoginType, tickets: TicketStore) =>
  async (
    provider: string,
    state: string,
    cookie: string | null,
  ): Promise<{ stored: StoredFlow; isUsed: boolean } | { fault: 'unknown-state' | 'other-browser' }> => {
    if (!WORD.test(state)) return { fault: 'unknown-state' }
    const text = await tickets.read(type, idOf(state))
    const found = text ?? (await tickets.read(type, usedOf(state)))
    if (found === null) return { fault: 'unknown-state' }
    const stored = JSON.parse(found) as StoredFlow
    if (stored.provider !== provider) return { fault: 'unknown-state' }
    if (cookie === null || digestOf(cookie) !== stored.cookie) return { fault: 'other-browser' }
    return { stored, isUsed: text === null }
  }

/**
 * How many begin within the lifetime of one and have not proven a user. Those that fail or expire count until their span of time ends:
 * tickets are not counted, and one that has failed leaves its mark.
 */
function createLimit(type: LoginType, attempts: FlowStore['attempts'], clock: Clock) {
  // Named after their span: what ends late belongs to the span of its beginning, and no clock that is set back keeps one open.
  const present = (): number => Math.floor(clock.now() / FLOW_LIFETIME)
  const begun = (span: number): string => `flows-begun:${type}:${span}`
  const proven = (span: number): string => `flows-proven:${type}:${span}`
  const read = async (name: string): Promise<number> => (await attempts.read(name))?.count ?? 0
  return {
    check: createOutstandingCheck({
      name: `flows:${type}`,
      attempts,
      lifetime: FLOW_LIFETIME,
      async outstanding() {
        const span = present()
        const [all, ended] = await Promise.all([read(begun(span)), read(proven(span))])
        return all - ended
      },
    }),
    /** Counts one that begins, and returns its span. */
    async count(): Promise<number> {
      const span = present()
      await attempts.count(begun(span), FLOW_LIFETIME)
      return span
    },
    async countProven(span: number): Promise<void> {
      if (span === present()) await attempts.count(proven(span), FLOW_LIFETIME)
    },
  }
}

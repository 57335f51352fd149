import type { Clock } from '../../base/clock.ts'
import { PROVIDER, providerIn } from '../../session/provider.ts'
import type { Extra } from '../../session/record.ts'
import type { LoginType } from '../../session/sides.ts'
import type { Side } from '../../side/side.ts'
import type { TicketStore } from '../../store/store.ts'
import { digestOf } from './digest.ts'

/*
 * Which sessions here belong to which user, and to which session, of a provider: a logout there names these. A session carries the
 * name of its provider and a digest of the provider's session in its `extra`.
 */

/** How a provider has proven a user, as the steps of a login keep it until the session begins. */
export interface Proven {
  /** Its name in the settings. */
  provider: string
  /** Digest of the user at the provider. */
  user: string
  /** Digest of the session at the provider; absent if it names none. */
  session?: string
  /** When the ID token was issued, in seconds by the clock of the provider. */
  issuedAt: number
  /** When the session ends however often it is renewed, in milliseconds. */
  latestEnd: number
  /** For the sign-out at the provider. */
  idToken: string
  /** Whether the account consists of claims: then no source of the side knows it. */
  isClaimed: boolean
}

/** What a logout at a provider names; at least one of the two digests. */
export interface NamedByLogout {
  user: string | undefined
  session: string | undefined
  /** Seconds, by the clock of the provider. */
  issuedAt: number
}

/** A key in a session's `extra`. */
export const PROVIDER_SESSION = 'provider_session'

/** How long a logout stops sign-ins that began before it, in milliseconds: longer than any of them takes. */
const STOPS_FOR = 900_000
/** Accounts of one user of a provider that are remembered: with `account: match` another claim finds another account. */
const MAX_ACCOUNTS = 8

export const userDigest = (provider: string, sub: string): string => digestOf('user', provider, sub)
export const sessionDigest = (provider: string, sid: string): string => digestOf('session', provider, sid)

/** The fields of a session that a provider has proven. */
export const provenExtra = ({ provider, session }: Proven): Extra => ({
  [PROVIDER]: provider,
  ...(session !== undefined && { [PROVIDER_SESSION]: session }),
})

interface SessionLink {
  user: string
  login_id: string
}

export interface ProviderSessionsOptions {
  side: Pick<Side, 'type' | 'kickoutWhere'>
  tickets: TicketStore
  clock: Clock
}

export type ProviderSessions = ReturnType<typeof createProviderSessions>

/** The links of one side, in the store that all gateways share. */
export function createProviderSessions({ side, tickets, clock }: ProviderSessionsOptions) {
  const { type } = side
  const stored = createLinks(type, tickets)

  return {
    /** Before a session begins: a logout that arrives meanwhile finds it by these links, or is found by `hasEnded`. */
    async link({ user, session, latestEnd }: Proven, loginId: string): Promise<void> {
      const withOthers = (known: string[] | null): string[] =>
        [loginId, ...(known ?? []).filter(id => id !== loginId)].slice(0, MAX_ACCOUNTS)
      await stored.change(`provider-user:${user}`, withOthers, latestEnd)
      const link: SessionLink = { user, login_id: loginId }
      if (session !== undefined) await stored.change(`provider-session:${session}`, () => link, latestEnd)
    },

    /** After a session has begun: whether a logout at the provider was for it, too. */
    async hasEnded({ user, session, issuedAt }: Proven): Promise<boolean> {
      if (session !== undefined && (await stored.read(`provider-ended:${session}`)) !== null) return true
      const ended = await stored.read<number>(`provider-ended:${user}`)
      return ended !== null && ended > issuedAt
    },

    /** Keeps the ID token of a session for its sign-out; `handle` is the `jti` of the session. */
    keepIdToken: (handle: string, { idToken, latestEnd }: Proven): Promise<void> =>
      stored.put(`provider-id-token:${handle}`, idToken, latestEnd),

    takeIdToken: (handle: string): Promise<string | null> => stored.take(`provider-id-token:${handle}`),

    /**
     * Ends the sessions that a logout at the provider is for: of its user, or with `only: 'session'` those of the session that it
     * names. `false`, and nothing is ended, if it names the session of another user. Nothing is known of others, which have ended.
     */
    async end(provider: string, named: NamedByLogout, only: 'user' | 'session'): Promise<boolean> {
      const { session, issuedAt } = named
      const link = session === undefined ? null : await stored.read<SessionLink>(`provider-session:${session}`)
      if (link !== null && named.user !== undefined && link.user !== named.user) return false
      const user = named.user ?? link?.user
      const isOne = only === 'session' && session !== undefined
      const until = clock.now() + STOPS_FOR
      if (session !== undefined) await stored.put(`provider-ended:${session}`, issuedAt, until)
      if (user !== undefined && !isOne) {
        // One that is delivered behind a later one, as by a provider that tries again, lets no sign-in pass that the later one stops.
        const laterOf = (known: number | null): number => Math.max(known ?? issuedAt, issuedAt)
        await stored.change(`provider-ended:${user}`, laterOf, until)
      }
      const ids = new Set(link === null ? [] : [link.login_id])
      // Also for one session: its user may have been found by another claim since it began.
      if (user !== undefined) for (const id of await stored.accountsOf(user)) ids.add(id)
      for (const id of ids) {
        const isMeant = (extra: Extra): boolean =>
          providerIn(extra) === provider && (!isOne || extra[PROVIDER_SESSION] === session)
        await side.kickoutWhere(id, ({ extra }) => (isMeant(extra) ? 'provider-logout' : null), { provider })
      }
      return true
    },
  }
}

/** JSON texts among the tickets of a side. */
function createLinks(type: LoginType, tickets: TicketStore) {
  const parsed = <T>(text: string | null): T | null => (text === null ? null : (JSON.parse(text) as T))
  const read = async <T>(id: string): Promise<T | null> => parsed<T>(await tickets.read(type, id))
  const put = (id: string, value: unknown, until: number): Promise<void> =>
    tickets.put(type, id, JSON.stringify(value), until)
  return {
    read,
    put,
    /** However many change a value at once. The later end stays: sessions may live longer than the one that has just begun. */
    async change<T>(id: string, of: (known: T | null) => T, until: number): Promise<void> {
      let isChanged = false
      while (!isChanged) {
        const known = await tickets.read(type, id)
        isChanged = await tickets.replace(type, id, known, JSON.stringify(of(parsed<T>(known))), until)
      }
    },
    take: async <T>(id: string): Promise<T | null> => parsed<T>(await tickets.take(type, id)),
    accountsOf: async (user: string): Promise<string[]> => (await read<string[]>(`provider-user:${user}`)) ?? [],
  }
}

import { timingSafeEqual } from 'node:crypto'
import type { MaybePromise } from '../base/maybe-promise.ts'
import { createRecent } from '../base/recent.ts'
import { Refusal } from '../base/refusal.ts'
import type { Client, KeyCredential } from '../gate/key-credential.ts'
import type { Session } from '../side/side.ts'
import type { CredentialStore } from '../store/credentials.ts'
import type { Claims } from '../token/jwt.ts'
import { digestOfSecret, type Key, partsOf } from '../token/key-form.ts'
import { type AccessToken, readAccessToken } from './access-token.ts'
import { createProofs, type Proofs, type ProofsOptions, type Proven } from './proofs.ts'
import { readSessionName } from './session-of-key.ts'

/** The failed attempts of a client address, shared with the login of the side. */
export interface WrongKeys {
  /** Refuses an address with too many failures. */
  check(): Promise<void>
  /** Counts a failure; refuses as `check` does beyond the limit. */
  count(): Promise<void>
}

export interface KeySessionsOptions extends ProofsOptions {
  credentials: Pick<CredentialStore, 'find' | 'used'>
  wrongFrom(address: string): WrongKeys
}

export type KeySessions = ReturnType<typeof createKeySessions>

/** How sessions by key are found. Throws the refusal `SESSION_DISABLED`, or `TOO_MANY_WRONG_KEYS`. */
export interface FoundByKey {
  /** The session of a key in a header; `null` for a wrong one. */
  find(credential: KeyCredential): MaybePromise<Session | null>
  /** The session of the claims of a token that is signed here; `undefined` for the token of a login. */
  findByClaims(claims: Claims): MaybePromise<Session | null> | undefined
}

/** Keys and access tokens whose proof is remembered; beyond it the least recently used half is dropped. */
const REMEMBERED = 20_000
/** How often the use of a key is noted, in milliseconds. */
const NOTED_EVERY = 60_000

/**
 * The sessions of programs: a live key whose owner is there, ACTIVE and not disabled. A key is proven once in each process; from then
 * on only what can change is read, and all of that is in memory where sessions are remembered. Absence is `null`, whatever the cause.
 */
export function createKeySessions(options: KeySessionsOptions) {
  const { type, clock } = options
  const { prove, withProven } = createProofs(options)
  const proven = createRecent<Proven>(REMEMBERED)
  const noteUse = createNotes(options)

  /** A key that is not remembered. An unknown id and a wrong secret take the same way. */
  async function findUnknown(key: Key, { address }: Client): Promise<Session | null> {
    // Behind a proxy that is not trusted, all addresses are unknown: together they would be one client.
    const wrong = address === null ? UNCOUNTED : options.wrongFrom(address)
    await wrong.check()
    const { id, secret } = partsOf(key)
    const digest = digestOfSecret(secret)
    const entry = await prove(id, Number.POSITIVE_INFINITY, stored =>
      timingSafeEqual(digest, stored === null ? NO_DIGEST : Buffer.from(stored.digest, 'base64url')),
    )
    if (entry === null) {
      await wrong.count()
      return null
    }
    proven.set(key, entry)
    return withProven(entry)
  }

  function findFrom(key: Key, client: Client): MaybePromise<Session | null> {
    // No key of the other side is ever proven here.
    const known = proven.get(key)
    if (known !== undefined) return withProven(known)
    return partsOf(key).type === type ? findUnknown(key, client) : null
  }

  async function findByToken(token: AccessToken, jti: string): Promise<Session | null> {
    const entry = await prove(token.keyId, token.expiresAt, stored => stored !== null && token.isOf(stored))
    if (entry === null) return null
    proven.set(jti, entry)
    return withProven(entry)
  }

  function findFromClaims(claims: Claims): MaybePromise<Session | null> | undefined {
    const token = readAccessToken(claims)
    if (token === null) return undefined
    if (token.expiresAt <= clock.now()) return null
    const known = proven.get(claims.jti)
    return known === undefined ? findByToken(token, claims.jti) : withProven(known)
  }

  const inspected: FoundByKey = { find: ({ key }) => findFrom(key, UNKNOWN), findByClaims: findFromClaims }
  return {
    find: ({ key, client }: KeyCredential) => noteUse(findFrom(key, client)),
    findByClaims(claims: Claims) {
      const found = findFromClaims(claims)
      return found === undefined ? undefined : noteUse(found)
    },
    /** For explanations, and for services that ask: it counts neither as a use nor, if the key is wrong, as a failure. */
    inspected,
    endOf: createEndOf(options, prove, withProven),
  }
}

/** When the session with a name ends; `null` when it has ended, and while the login id of its user is disabled. */
const createEndOf =
  ({ clock }: KeySessionsOptions, prove: Proofs['prove'], withProven: Proofs['withProven']) =>
  async (name: string): Promise<number | null> => {
    const { id, expiresAt } = readSessionName(name)!
    const entry = expiresAt <= clock.now() ? null : await prove(id, expiresAt, stored => stored !== null)
    if (entry === null) return null
    const session = await unlessDisabled(() => withProven(entry))
    return session === null ? null : Math.min(entry.credential!.expiresAt, expiresAt)
  }

/** What is found; `null` also while the login id is disabled. */
export async function unlessDisabled(find: () => MaybePromise<Session | null>): Promise<Session | null> {
  try {
    return await find()
  } catch (fault) {
    if (fault instanceof Refusal && fault.reason === 'SESSION_DISABLED') return null
    throw fault
  }
}

/** Compared with where there is no key: no SHA-256 is known that has this value. */
const NO_DIGEST = Buffer.alloc(32)

const UNKNOWN: Client = { address: null }
const UNCOUNTED: WrongKeys = { check: async () => undefined, count: async () => undefined }

/** Notes the use of keys, at most once a minute for each; what cannot be noted is lost. */
function createNotes({ type, credentials, clock }: KeySessionsOptions) {
  const notedAt = createRecent<number>(REMEMBERED)

  function note(session: Session | null): Session | null {
    if (session === null) return null
    const { id } = session.key!
    const now = clock.elapsed()
    const last = notedAt.get(id)
    if (last !== undefined && now - last < NOTED_EVERY) return session
    notedAt.set(id, now)
    credentials.used(type, id, clock.now()).catch(() => undefined)
    return session
  }

  return (found: MaybePromise<Session | null>): MaybePromise<Session | null> =>
    found instanceof Promise ? found.then(note) : note(found)
}

import type { Account } from '../account/source.ts'
import type { Clock } from '../base/clock.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { TimestampFormat } from '../base/timestamp.ts'
import type { LoginType } from '../session/sides.ts'
import { disabledSeconds, sessionDisabledFor } from '../side/disable.ts'
import type { Session } from '../side/side.ts'
import type { Credential, CredentialStore } from '../store/credentials.ts'
import type { SessionStore } from '../store/store.ts'
import type { HolderOf } from './holders.ts'
import { readKey, type StoredKey } from './record.ts'
import { sessionOf } from './session-of-key.ts'

export interface ProofsOptions {
  type: LoginType
  credentials: Pick<CredentialStore, 'find'>
  sessions: Pick<SessionStore, 'rememberedDisable'>
  holderOf: HolderOf
  clock: Clock
  timestamps: TimestampFormat
}

/** A proof that was right, and the session that it last gave. */
export interface Proven {
  readonly id: string
  readonly owner: string
  /** Of the key when it was proven: another key with its id would have another one. */
  readonly digest: string
  /** Of the access token; `Infinity` for the key itself. */
  readonly expiresAt: number
  credential: Credential | null
  key: StoredKey | null
  holder: Account | null
  session: Session | null
}

export type Proofs = ReturnType<typeof createProofs>

/** Proves keys by what is stored of them, and finds the session of what was proven. */
export function createProofs(options: ProofsOptions) {
  const { type, credentials, sessions } = options
  const admit = createAdmission(options)
  return {
    /** What is proven of a stored key, by whichever proof. */
    async prove(id: string, expiresAt: number, isRight: (stored: StoredKey | null) => boolean): Promise<Proven | null> {
      const credential = await credentials.find(type, id)
      const stored = credential === null ? null : readKey(credential)
      return isRight(stored) && stored !== null ? entryOf(stored, expiresAt) : null
    },
    /** Both questions at once, where they are sent to a server. */
    withProven(known: Proven): MaybePromise<Session | null> {
      const credential = credentials.find(type, known.id)
      const disabledUntil = sessions.rememberedDisable(type, known.owner)
      if (credential instanceof Promise || disabledUntil instanceof Promise)
        return Promise.all([credential, disabledUntil]).then(([found, until]) => admit(known, found, until))
      return admit(known, credential, disabledUntil)
    },
  }
}

const entryOf = ({ id, owner, digest }: StoredKey, expiresAt: number): Proven => ({
  id,
  owner,
  digest,
  expiresAt,
  credential: null,
  key: null,
  holder: null,
  session: null,
})

/** Admits a proven key as long as nothing has changed that it depends on. */
function createAdmission({ type, holderOf, clock, timestamps }: ProofsOptions) {
  /** The account is another object as soon as anything of it has changed. */
  function sessionFor(entry: Proven, key: StoredKey, holder: Account | null): Session | null {
    if (holder === null) return null
    if (entry.session === null || entry.holder !== holder) {
      const until = entry.expiresAt === Number.POSITIVE_INFINITY ? undefined : entry.expiresAt
      entry.session = sessionOf(type, key, holder, timestamps, until)
      entry.holder = holder
    }
    return entry.session
  }

  return (entry: Proven, credential: Credential | null, disabledUntil: number | null): MaybePromise<Session | null> => {
    if (credential === null) return null
    if (entry.credential !== credential) {
      const key = readKey(credential)
      entry.key = key?.digest === entry.digest ? key : null
      entry.credential = credential
      entry.session = null
      entry.holder = null
    }
    const { key } = entry
    if (key === null) return null
    if (disabledUntil !== null) throw sessionDisabledFor(Math.max(1, disabledSeconds(disabledUntil, clock.now())))
    const holder = holderOf(key, entry.holder)
    return holder instanceof Promise
      ? holder.then(found => sessionFor(entry, key, found))
      : sessionFor(entry, key, holder)
  }
}

import type { Account } from '../account/source.ts'
import type { Clock } from '../base/clock.ts'
import { Refusal } from '../base/refusal.ts'
import type { Origin, Publish, SessionEvent } from '../event/event.ts'
import type { KeyLimits } from '../gate/key-credential.ts'
import type { LoginType } from '../session/sides.ts'
import { eventNames } from '../side/event-names.ts'
import type { Credential, CredentialStore, ListedCredential } from '../store/credentials.ts'
import type { AttemptStore } from '../store/store.ts'
import { digestOfSecret, makeKey, partsOf } from '../token/key-form.ts'
import { createOwnerLock, type OwnerLock } from './owner-lock.ts'
import { isValidWith, type KeyMaker, type KeyRecord, readKey, recordOf, type StoredKey, writeKey } from './record.ts'

/** How many other changes of a password at the same time a key takes notice of. */
const MAX_UNDER_WAY = 3

/** Times in milliseconds. */
export interface KeySettings {
  /** Whether users make keys of their own. */
  users: boolean
  max_per_user: number
  max_age: number
  overlap: number
}

/** A key to be made. */
export interface NewKey extends KeyLimits {
  name: string
  /** Milliseconds. */
  lifetime: number
}

/** The only answer that has the key itself. */
export interface MadeKey {
  id: string
  key: string
  expiresAt: number
}

/** A key in a list: never the key, and nothing from which it could be computed. */
export interface ListedKey extends StoredKey {
  readonly usedAt: number | null
  /** Whether another one has taken its place. */
  readonly isSucceeded: boolean
}

export interface KeysOptions {
  type: LoginType
  credentials: CredentialStore
  settings: KeySettings
  attempts: Pick<AttemptStore, 'begin' | 'end'>
  clock: Clock
  publish: Publish
}

export type Keys = ReturnType<typeof createKeys>

type Owner = Pick<Account, 'id' | 'username' | 'credentialVersion'> & Partial<Pick<Account, 'extra'>>

/** The keys of one side: made, listed and ended. The rights to do so are checked before. */
export function createKeys(options: KeysOptions) {
  const { type, credentials } = options
  const announce = createAnnounce(options)
  const exclusively = createOwnerLock(options)
  const of = async (owner: string): Promise<ListedKey[]> => listed(await credentials.of(type, owner))

  async function ownKey(owner: string, id: string): Promise<ListedKey> {
    const found = (await of(owner)).find(key => key.id === id)
    if (found === undefined) throw new Refusal('NO_SUCH_KEY')
    return found
  }

  return {
    of,
    /** For who makes a key with what an account is now: it is no other one when the key is made. */
    exclusively,
    async page(offset: number, limit: number): Promise<{ total: number; keys: ListedKey[] }> {
      const { total, credentials: found } = await credentials.page(type, offset, limit)
      return { total, keys: listed(found) }
    },
    ...createMaking(options, announce, ownKey),
    /** Ends a key for good. Refuses with `NO_SUCH_KEY` one that is not of this owner. */
    async revoke(owner: string, id: string, origin: Origin): Promise<void> {
      const key = await ownKey(owner, id)
      if (!(await credentials.remove(type, owner, id))) throw new Refusal('NO_SUCH_KEY')
      announce('key-revoked', key, origin)
    },
    ...createEndings(options, announce, exclusively),
  }
}

type Announce = (event: KeyEvent, key: Named, about: Partial<SessionEvent>) => void
type KeyEvent = 'key-added' | 'key-rotated' | 'key-revoked'

const createAnnounce =
  ({ type, publish }: KeysOptions): Announce =>
  (event, { id, owner, username }, about) =>
    publish({ event, type, login_id: owner, key: id, ...eventNames({ username }), ...about })

/** How keys are made, from nothing or in the place of another one. */
function createMaking(
  { type, credentials, settings, clock }: KeysOptions,
  announce: Announce,
  ownKey: (owner: string, id: string) => Promise<ListedKey>,
) {
  function made(owner: Owner, record: Omit<KeyRecord, 'digest'>, expiresAt: number) {
    const { key, id } = makeKey(type)
    const digest = digestOfSecret(partsOf(key).secret).toString('base64url')
    const text = writeKey({ ...record, digest })
    return { credential: { id, owner: owner.id, text, expiresAt }, answer: { id, key, expiresAt } }
  }

  return {
    /** Refuses with `TOO_MANY_KEYS` an owner who has as many as the settings allow. */
    async add(owner: Owner, { lifetime, ...wanted }: NewKey, by: KeyMaker, origin: Origin): Promise<MadeKey> {
      const now = clock.now()
      const record = { ...wanted, ...accountIn(owner), createdAt: now, createdBy: by }
      const { credential, answer } = made(owner, record, now + lifetime)
      const maximum = settings.max_per_user
      if (!(await credentials.add(type, credential, maximum)))
        throw new Refusal('TOO_MANY_KEYS', { params: { maximum } })
      announce('key-added', { id: answer.id, owner: owner.id, username: owner.username }, origin)
      return answer
    },

    /**
     * A new key with the name and the limits of another one, which lives on for the overlap. The new one is valid with the account
     * as it is now, and lives as long as that one was to live at its making.
     */
    async rotate(owner: Owner, id: string, by: KeyMaker, origin: Origin): Promise<MadeKey> {
      const { usedAt: _used, isSucceeded, ...old } = await ownKey(owner.id, id)
      if (isSucceeded) throw new Refusal('KEY_SUCCEEDED')
      const now = clock.now()
      const lifetime = Math.min(old.expiresAt - old.createdAt, settings.max_age)
      const record = { ...recordOf(old), ...accountIn(owner), createdAt: now, createdBy: by }
      const { credential, answer } = made(owner, record, now + lifetime)
      if (!(await credentials.succeed(type, owner.id, id, credential, now + settings.overlap)))
        throw new Refusal('KEY_SUCCEEDED')
      announce('key-rotated', { ...old, username: owner.username }, { ...origin, reason: answer.id })
      return answer
    },
  }
}

/** What a key carries of the account of its owner. */
const accountIn = ({ username, credentialVersion }: Owner): Pick<KeyRecord, 'username' | 'versions'> => ({
  username,
  versions: credentialVersion === undefined ? [] : [credentialVersion],
})

type Named = Pick<StoredKey, 'id' | 'owner' | 'username'>

/** What becomes of the keys of an account that changes. */
function createEndings({ type, credentials }: KeysOptions, announce: Announce, exclusively: OwnerLock) {
  /** Ends the keys of an owner that are not valid with a version of the account; all of them where there is no account. */
  async function endOthers(owner: string, version: string | null | undefined, origin: Origin = {}): Promise<void> {
    for (const key of listed(await credentials.of(type, owner))) {
      if (isValidWith(key, version)) continue
      if (await credentials.remove(type, owner, key.id))
        announce('key-revoked', key, { ...origin, reason: 'account-changed' })
    }
  }

  /** The owners of keys that are not valid with the version of their account, some at a time; one may come twice. */
  async function* ownersOfOthers(versionOf: (owner: string) => string | null | undefined): AsyncGenerator<string[]> {
    for await (const some of credentials.all(type)) {
      const keys = some.map(readKey).filter(key => key !== null && !isValidWith(key, versionOf(key.owner)))
      yield [...new Set(keys.map(key => key!.owner))]
    }
  }

  /** Makes the keys of an owner that are valid with the present version valid with the next one, too. */
  async function renew(owner: string, present: string, next: string): Promise<void> {
    for (const credential of await credentials.of(type, owner)) {
      let current: Credential | null = credential
      while (current !== null && !(await isRenewed(current, present, next)))
        current = await credentials.find(type, credential.id)
    }
  }

  /** `false` if the key was changed meanwhile. A reset has made the others invalid for good, also where no gateway has ended them. */
  async function isRenewed(credential: Credential, present: string, next: string): Promise<boolean> {
    const key = readKey(credential)
    if (key === null || !key.versions.includes(present)) return true
    const versions = versionsWith(key.versions, present, next)
    return credentials.rewrite(type, key.id, credential.text, writeKey({ ...recordOf(key), versions }))
  }

  return {
    endOthers,
    ownersOfOthers,
    /**
     * Lets the valid keys of a user outlive a change that the user makes of the own password: `store` stores it. They carry both
     * versions from before the change on, because a worker may read it later than another one.
     */
    async keptThrough(
      { id, credentialVersion }: Owner,
      next: string | undefined,
      store: () => Promise<boolean>,
    ): Promise<boolean> {
      if (credentialVersion === undefined || next === undefined) return store()
      return exclusively(id, async () => {
        await renew(id, credentialVersion, next)
        return store()
      })
    },
  }
}

/** Of several changes at the same time one is stored, and nothing tells beforehand which: those after the present version stay. */
const versionsWith = (known: readonly string[], present: string, next: string): string[] => [
  present,
  ...known.slice(known.indexOf(present) + 1).slice(-MAX_UNDER_WAY),
  next,
]

const listed = (credentials: readonly ListedCredential[]): ListedKey[] =>
  credentials.flatMap(({ usedAt, isSucceeded, ...credential }) => {
    const key = readKey(credential)
    return key === null ? [] : [{ ...key, usedAt, isSucceeded }]
  })

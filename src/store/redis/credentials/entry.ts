import { Unavailable } from '../../../base/refusal.ts'
import type { LoginType } from '../../../session/sides.ts'
import { type Credential, existsAlready } from '../../credentials.ts'
import type { Keys } from '../commands/key-names.ts'
import type { CredentialCommands } from './commands.ts'
import { type StoredCredential, writeCredential } from './record.ts'

/** How long a record may wait to be entered into the list of its owner, in milliseconds. */
export const PENDING = 30_000

/** How a credential comes into the list of its owner, and is stored. */
export interface Entry {
  /** When it was entered into the list, in microseconds; `null` if it was not. */
  reserve(): Promise<number | null>
  /** What follows as soon as it can be found, if its record was there still; `false` if it must not be found. */
  stored(isLive: boolean): Promise<boolean>
  /** Removes what there is of it. */
  undo(): Promise<void>
}

/** Stores a credential. `false`, and nothing is left, if it gets no place, or must not be stored after all. */
export async function enter(
  redis: CredentialCommands,
  keys: Keys,
  type: LoginType,
  credential: Credential,
  { reserve, stored, undo }: Entry,
): Promise<boolean> {
  const { id, expiresAt } = credential
  const key = keys.credential(type, id)
  const pending: StoredCredential = { ...credential, state: 'pending', storedAt: 0 }
  const held = writeCredential(pending)
  if (!(await redis.hold(key, held, PENDING))) throw existsAlready()
  try {
    const storedAt = await reserve()
    if (storedAt === null) {
      await redis.delete(key)
      return false
    }
    await redis.addEnding(keys.credentialEnds(type), id, expiresAt)
    const live = writeCredential({ ...pending, state: 'live', storedAt })
    const isLive = await redis.activate(key, held, live, expiresAt)
    if (await stored(isLive)) return true
    await undo()
    return false
  } catch (fault) {
    // However far it came, the client gets no credential, and nothing may be left.
    await undo().catch(() => undefined)
    throw fault
  }
}

export const endedBefore = (): Unavailable => new Unavailable('Redis: the credential was ended before it was stored')

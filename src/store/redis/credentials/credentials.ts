import type { Clock } from '../../../base/clock.ts'
import { Unavailable } from '../../../base/refusal.ts'
import type { LoginType } from '../../../session/sides.ts'
import {
  type Credential,
  type CredentialPage,
  type CredentialStore,
  checkCredential,
  checkText,
  type ListedCredential,
} from '../../credentials.ts'
import type { Kept } from '../../remembered-values.ts'
import type { Keys } from '../commands/key-names.ts'
import { MEMBERS_AT_ONCE } from '../commands/redis-commands.ts'
import type { CredentialCommands } from './commands.ts'
import { endedBefore, enter } from './entry.ts'
import { LiveRecords } from './live-records.ts'
import { credentialOf, readLive, type StoredCredential } from './record.ts'
import { Successions } from './successions.ts'

/** Rounds of an end of everything. */
const MAX_ROUNDS = 1000

/** Credentials that are read together with their ends. */
export interface ReadableCredentials extends CredentialStore {
  /** The live credential of an id and its end, which is never later than the true one; `null` if this side has none. */
  read(type: LoginType, id: string): Promise<Kept<Credential> | null>
}

/** Some of the credentials of which ids are known; `dead` are the ids without a record. */
interface Records {
  live: StoredCredential[]
  dead: string[]
}

/**
 * Credentials in Redis. No verb can be one transaction there, so safety comes from order:
 * - A record is written first, so that it cannot be found, and for a short time. Then the list of its owner gets its id, if there
 *   is a place. Then the record becomes one that can be found: only if it is still there.
 * - What ends a credential deletes its record first, and then takes it out of the list.
 * So what can be found is in the list of its owner, and a member of a list without a record has ended for good, or has never
 * been: it occupies its place only until the place is needed.
 */
export class RedisCredentials implements ReadableCredentials {
  readonly #redis: CredentialCommands
  readonly #keys: Keys
  readonly #clock: Clock
  readonly #records: LiveRecords
  readonly #successions: Successions

  constructor(redis: CredentialCommands, keys: Keys, clock: Clock) {
    this.#redis = redis
    this.#keys = keys
    this.#clock = clock
    this.#records = new LiveRecords(redis, keys)
    this.#successions = new Successions(redis, keys, this.#records)
  }

  async add(type: LoginType, credential: Credential, most: number): Promise<boolean> {
    checkCredential(credential)
    const { id, owner, expiresAt } = credential
    const list = this.#keys.credentials(type, owner)
    return enter(this.#redis, this.#keys, type, credential, {
      reserve: async () => {
        const at = await this.#redis.reserve(list, id, expiresAt, most)
        if (at !== null || (await this.#releaseDead(type, owner)) === 0) return at
        return this.#redis.reserve(list, id, expiresAt, most)
      },
      stored: async isLive => {
        if (!isLive) throw endedBefore()
        return true
      },
      undo: async () => {
        await this.#end(type, owner, [id])
      },
    })
  }

  async find(type: LoginType, id: string): Promise<Credential | null> {
    const live = readLive(id, await this.#redis.read(this.#keys.credential(type, id)))
    return live === null ? null : credentialOf(live)
  }

  async read(type: LoginType, id: string): Promise<Kept<Credential> | null> {
    const key = this.#keys.credential(type, id)
    // Read before the question, so that the answered end is never later than the true one.
    const now = this.#clock.now()
    const [text, left] = await Promise.all([this.#redis.get(key), this.#redis.timeLeft(key)])
    const live = readLive(id, text)
    return live === null || left === null ? null : { value: credentialOf(live), expiresAt: now + left }
  }

  async of(type: LoginType, owner: string): Promise<ListedCredential[]> {
    const { live } = await this.#listOf(type, owner)
    const own = live.filter(stored => stored.owner === owner)
    return this.#list(
      type,
      own.sort((a, b) => b.storedAt - a.storedAt),
    )
  }

  async page(type: LoginType, offset: number, limit: number): Promise<CredentialPage> {
    const index = this.#keys.credentialEnds(type)
    const { total, members } = await this.#redis.pageEnding(index, offset, limit)
    const { live, dead } = await this.#recordsOf(type, members)
    await this.#redis.removeEndings(index, dead)
    return { total: total - dead.length, credentials: await this.#list(type, live) }
  }

  async *all(type: LoginType): AsyncGenerator<Credential[]> {
    let cursor = '0'
    do {
      const { next, members } = await this.#redis.someEnding(this.#keys.credentialEnds(type), cursor)
      const { live } = await this.#recordsOf(type, members)
      if (live.length > 0) yield live.map(credentialOf)
      cursor = next
    } while (cursor !== '0')
  }

  succeed(type: LoginType, owner: string, id: string, next: Credential, until: number): Promise<boolean> {
    return this.#successions.succeed(type, owner, id, next, until)
  }

  async rewrite(type: LoginType, id: string, from: string, to: string): Promise<boolean> {
    checkText(to)
    const changed = await this.#records.change(type, id, stored =>
      stored.text === from ? { ...stored, text: to } : null,
    )
    return changed !== null
  }

  async remove(type: LoginType, owner: string, id: string): Promise<boolean> {
    const live = await this.#records.get(type, id)
    if (live?.owner !== owner) return false
    return (await this.#end(type, owner, [id])).length > 0
  }

  /** Until the list is empty: what was entered meanwhile is ended, too. */
  async removeAll(type: LoginType, owner: string): Promise<string[]> {
    const list = this.#keys.credentials(type, owner)
    const ended: string[] = []
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const ids = (await this.#redis.listed(list)).slice(0, MEMBERS_AT_ONCE)
      if (ids.length === 0) return ended
      ended.push(...(await this.#end(type, owner, ids)))
    }
    throw new Unavailable('Redis: credentials are added as fast as they are ended')
  }

  async used(type: LoginType, id: string, at: number): Promise<void> {
    const live = await this.find(type, id)
    if (live !== null) await this.#redis.set(this.#keys.credentialUse(type, id), String(at), live.expiresAt)
  }

  /** Ends credentials of an owner, record before list, and answers those that had a record. */
  async #end(type: LoginType, owner: string, ids: readonly string[]): Promise<string[]> {
    const deleted = await Promise.all(ids.map(id => this.#redis.revoke(this.#keys.credential(type, id))))
    await this.#redis.release(this.#keys.credentials(type, owner), ids)
    await this.#redis.removeEndings(this.#keys.credentialEnds(type), ids)
    await Promise.all(ids.map(id => this.#redis.delete(this.#keys.credentialUse(type, id))))
    return ids.filter((_, i) => deleted[i])
  }

  /** Removes from the list of an owner what has no record, and answers how many these were. */
  async #releaseDead(type: LoginType, owner: string): Promise<number> {
    return (await this.#listOf(type, owner)).dead.length
  }

  /** What is in the list of an owner. From then on, `dead` is no longer, and has given back the places of others. */
  async #listOf(type: LoginType, owner: string): Promise<Records> {
    const list = this.#keys.credentials(type, owner)
    const ids = await this.#redis.listed(list)
    const { live, dead } = await this.#recordsOf(type, ids)
    for (const [id, holder] of heldByDead(live, dead, ids)) await this.#redis.giveBack(list, holder, id)
    await this.#redis.release(list, dead)
    return { live, dead }
  }

  /** The live ones of some ids, in this order; `dead` have no record. */
  async #recordsOf(type: LoginType, ids: readonly string[]): Promise<Records> {
    const texts = await this.#getAll(ids.map(id => this.#keys.credential(type, id)))
    const live = ids.map((id, i) => readLive(id, texts[i]!)).filter(stored => stored !== null)
    return { live, dead: ids.filter((_, i) => texts[i] === null) }
  }

  async #list(type: LoginType, live: readonly StoredCredential[]): Promise<ListedCredential[]> {
    const uses = await this.#getAll(live.map(({ id }) => this.#keys.credentialUse(type, id)))
    return live.map((stored, i) => ({
      ...credentialOf(stored),
      usedAt: uses[i] === null ? null : Number(uses[i]),
      isSucceeded: stored.state === 'succeeded',
    }))
  }

  async #getAll(keys: readonly string[]): Promise<(string | null)[]> {
    const texts: (string | null)[] = []
    for (let i = 0; i < keys.length; i += MEMBERS_AT_ONCE) {
      const batch = keys.slice(i, i + MEMBERS_AT_ONCE)
      texts.push(...(await Promise.all(batch.map(key => this.#redis.get(key)))))
    }
    return texts
  }
}

/**
 * Live credentials whose place a dead one in the list may have, and that one: the one that was to succeed them last, or, if that
 * has not come into the list yet, one before it.
 */
function heldByDead(
  live: readonly StoredCredential[],
  dead: readonly string[],
  listed: readonly string[],
): ReadonlyMap<string, string> {
  const yielding = live.filter(({ state, by }) => state === 'live' && by !== undefined)
  const known = yielding.filter(({ by }) => dead.includes(by!))
  const holders = new Map(known.map(({ id, by }) => [id, by!]))
  const taken = new Set(holders.values())
  const others = dead.filter(id => !taken.has(id))
  const waiting = yielding.filter(({ by }) => !listed.includes(by!)).slice(0, others.length)
  waiting.forEach(({ id }, i) => void holders.set(id, others[i]!))
  return holders
}

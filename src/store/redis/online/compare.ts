import type { Clock } from '../../../base/clock.ts'
import type { LoginType } from '../../../session/sides.ts'
import type { Ages } from '../../age.ts'
import type { SessionStore, StoredToken } from '../../store.ts'
import { isOfWrongType } from '../commands/send-command.ts'
import type { OnlineCommands } from './commands.ts'
import { digestOf, digestsIn, type Entry, entryOf, NEVER } from './entries.ts'
import { FEW_LINES } from './user-lines.ts'

/** Digests of a user that are read at once. */
const OLDER_AT_ONCE = 1000
/** Ends that differ by less, in milliseconds, are the same: Redis answers the time left, and the answer takes time to arrive. */
const SAME_END = 2000
/** Times left as Redis answers them: of a missing key, and of one without an end. */
const GONE = -2
const ENDLESS = -1
export const MINUTE = 60_000
/** Logins are counted for so many minutes back. */
export const KEPT_MINUTES = 24 * 60

/** A token, and the minute in which its login counts. */
interface EnteringEntry extends Entry {
  minute: number | null
}

/** Compares the online keys with the specified keys, and corrects them. */
export class OnlineComparison {
  readonly #commands: OnlineCommands
  /** The sessions themselves, read without an observer. */
  readonly #truth: SessionStore
  readonly #clock: Clock
  readonly #ages: Ages

  constructor(commands: OnlineCommands, truth: SessionStore, clock: Clock, ages: Ages) {
    this.#commands = commands
    this.#truth = truth
    this.#clock = clock
    this.#ages = ages
  }

  /** The tokens of a user in the online keys, by their digests. */
  async digestsOf(type: LoginType, userId: string): Promise<Set<string>> {
    const known = new Set(digestsIn((await this.#commands.linesOf(type, userId)) ?? ''))
    // With fewer lines there are no older tokens.
    if (known.size < FEW_LINES) return known
    let page: string[]
    for (let from = 0; ; from += page.length) {
      page = await this.#commands.olderOf(type, userId, from, OLDER_AT_ONCE)
      for (const digest of page) known.add(digest)
      if (page.length < OLDER_AT_ONCE) return known
    }
  }

  /**
   * Makes the online keys say of a user what the specified keys say, and answers how many live tokens there are. The online
   * keys are read first: a token enters its set before it enters them, so what they had and the set has not is gone. A user of whom
   * another program has a key of another type stays as is: it must stop no round, and no new index.
   */
  async compare(type: LoginType, userId: string): Promise<number> {
    return this.#compare(type, userId).catch(fault => {
      if (!isOfWrongType(fault)) throw fault
      return 0
    })
  }

  async #compare(type: LoginType, userId: string): Promise<number> {
    const known = await this.digestsOf(type, userId)
    const gone = new Set(known)
    let live = 0
    for await (const batch of this.#truth.batches(type, userId)) {
      live += batch.length
      const entries = batch.map(stored => ({ ...entryOf(stored, this.#ages), minute: this.#minuteOf(stored) }))
      for (const { digest } of entries) gone.delete(digest)
      await this.#compareEntries(type, userId, known, entries)
    }
    if (gone.size > 0) await this.#commands.leave(type, userId, [...gone])
    return live
  }

  async #compareEntries(
    type: LoginType,
    userId: string,
    known: ReadonlySet<string>,
    entries: EnteringEntry[],
  ): Promise<void> {
    const old = entries.filter(({ digest }) => known.has(digest))
    const ends = await this.#commands.endsOf(
      type,
      old.map(({ digest }) => digest + userId),
    )
    await Promise.all([
      ...entries
        .filter(entry => !known.has(entry.digest))
        .map(entry => this.#commands.enter(type, userId, entry, entry.minute)),
      ...old.map((entry, i) => {
        const end = ends[i] ?? null
        if (end !== null && Math.abs(end - entry.endsAt) < SAME_END) return null
        return this.#commands.move(type, userId, entry.digest, entry.endsAt)
      }),
    ])
  }

  /** The minute in which a session counts that was created elsewhere; `null` when that was longer ago than the minutes kept. */
  #minuteOf(stored: StoredToken): number | null {
    const now = this.#clock.now()
    const created = Math.min(this.#ages.createdMs(stored) ?? 0, now)
    return created < now - KEPT_MINUTES * MINUTE ? null : Math.floor(created / MINUTE)
  }

  /**
   * Those of some online users whose sets or ends differ from the online keys, by fewer queries than a comparison takes. A
   * user whose set cannot be read is left as is; of a user with many tokens only their number is compared.
   */
  async suspects(type: LoginType, users: readonly [userId: string, lines: string][]): Promise<string[]> {
    const sizes = await Promise.all(users.map(user => this.#sizesOf(type, user).catch(() => null)))
    const differing = users.filter((_, i) => sizes[i] !== null && sizes[i]?.set !== sizes[i]?.known)
    const few = users.filter(([, lines], i) => {
      const size = sizes[i]
      return size !== null && size?.set === size?.known && digestsIn(lines).length < FEW_LINES
    })
    return [...differing.map(([userId]) => userId), ...(await this.#withOtherEnds(type, few))]
  }

  /** How many tokens are in a user's set, and how many in the online keys. */
  async #sizesOf(type: LoginType, [userId, lines]: [string, string]): Promise<{ set: number; known: number }> {
    const { length } = digestsIn(lines)
    const [set, older] = await Promise.all([
      this.#commands.sizeOfSet(type, userId),
      length < FEW_LINES ? 0 : this.#commands.countOlder(type, userId),
    ])
    return { set, known: length + older }
  }

  /** Those of some users with few tokens each whose records end at other times than in the online keys, or are gone. */
  async #withOtherEnds(type: LoginType, users: readonly [userId: string, lines: string][]): Promise<string[]> {
    const sets = await Promise.all(users.map(([userId]) => this.#commands.setOf(type, userId).catch(() => null)))
    const now = this.#clock.now()
    const members = users.flatMap(([userId, lines]) => digestsIn(lines).map(digest => digest + userId))
    const ends = await this.#commands.endsOf(type, members)
    const endOf = new Map(members.map((member, i) => [member, ends[i] ?? null]))
    const differs = ([userId]: [string, string], i: number): boolean =>
      (sets[i] ?? []).some(({ token, left }) => {
        const end = endOf.get(digestOf(token) + userId)
        if (left === GONE || end === undefined || end === null) return true
        return Math.abs(end - (left === ENDLESS ? NEVER : now + left)) >= SAME_END
      })
    return users.filter(differs).map(([userId]) => userId)
  }

  /** Makes the online keys say of disabled login ids what the disable records say. */
  async compareDisabled(type: LoginType, userIds: readonly string[]): Promise<void> {
    const [ends, untils] = await Promise.all([
      this.#commands.endsOfDisabled(type, userIds),
      Promise.all(userIds.map(userId => this.#truth.disabledUntil(type, userId))),
    ])
    for (const [i, userId] of userIds.entries()) {
      const until = Math.min(untils[i] ?? 0, NEVER)
      if (Math.abs(until - (ends[i] ?? 0)) >= SAME_END) await this.#commands.setDisabled(type, userId, until)
    }
  }
}

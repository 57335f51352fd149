import type { Clock } from '../../../base/clock.ts'
import type { SessionRecord } from '../../../session/record.ts'
import { LOGIN_TYPES, type LoginType } from '../../../session/sides.ts'
import type { Ages } from '../../age.ts'
import type { StoredToken } from '../../store.ts'
import type { SessionObserver } from '../sessions/observer.ts'
import type { OnlineCommands } from './commands.ts'
import { MINUTE, type OnlineComparison } from './compare.ts'
import { digestOf, entryOf } from './entries.ts'
import { type Sighting, Sightings } from './sightings.ts'

/** Users whose changes could not be written, and who are therefore compared; beyond it only a reindex finds them. */
const MAX_DOUBTED = 10_000
/** As many of them are compared before a question is answered. */
const COMPARED_FIRST = 20

/**
 * Keeps the online users in step with the specified keys. A change is reported after it was done, and no request waits
 * for this: the verb is as right without it, and must not be slower or fail where only the slot of the online keys is
 * away in a Cluster. It still leaves with the verb's last command or right after its answer, on one connection in order, so
 * that the next question to this process finds it written. A user of whom something could not be written is compared as
 * soon as Redis answers again.
 */
export class OnlineWriter implements SessionObserver {
  readonly #commands: OnlineCommands
  readonly #comparison: OnlineComparison
  readonly #clock: Clock
  readonly #ages: Ages
  readonly #underWay = new Set<Promise<void>>()
  readonly #sightings = new Sightings()
  readonly #doubted = new Map<string, { type: LoginType; userId: string }>()

  constructor(commands: OnlineCommands, comparison: OnlineComparison, clock: Clock, ages: Ages) {
    this.#commands = commands
    this.#comparison = comparison
    this.#clock = clock
    this.#ages = ages
  }

  added(type: LoginType, token: string, record: SessionRecord, expiresAt: number): void {
    this.#sightings.remember(token)
    const minute = Math.floor(this.#clock.now() / MINUTE)
    const entry = entryOf({ token, record, expiresAt }, this.#ages)
    this.#write(type, record.user_id, this.#commands.enter(type, record.user_id, entry, minute))
  }

  ended(type: LoginType, userId: string, tokens: readonly string[]): void {
    this.#write(type, userId, this.#commands.leave(type, userId, tokens.map(digestOf)))
  }

  renewed(type: LoginType, userId: string, token: string, expiresAt: number): void {
    const moved = this.#commands.move(type, userId, digestOf(token), Math.ceil(expiresAt))
    this.#write(
      type,
      userId,
      moved.then(async known => {
        if (!known) await this.#comparison.compare(type, userId)
      }),
    )
  }

  disabled(type: LoginType, userId: string, until: number): void {
    this.#write(type, userId, this.#commands.setDisabled(type, userId, until))
  }

  seen(type: LoginType, token: string, userId: string): void {
    this.#sightings.note(type, token, userId)
  }

  /** Compares at once, and the request waits for it: what it shows is then in the online keys. */
  reading(type: LoginType, userId: string): (live: readonly StoredToken[]) => Promise<void> {
    const asked = this.#comparison.digestsOf(type, userId).catch(() => null)
    return async live => {
      const known = await asked
      if (known === null) return
      const seen = new Set(live.map(({ token }) => digestOf(token)))
      if (known.size === seen.size && [...known].every(digest => seen.has(digest))) return
      await this.#comparison.compare(type, userId).catch(() => undefined)
    }
  }

  #write(type: LoginType, userId: string, change: Promise<void>): void {
    const written = change.catch(() => this.#doubt(type, userId)).finally(() => this.#underWay.delete(written))
    this.#underWay.add(written)
  }

  #doubt(type: LoginType, userId: string): void {
    if (this.#doubted.size < MAX_DOUBTED) this.#doubted.set(`${type} ${userId}`, { type, userId })
  }

  /** Compares the users of whom something could not be written, as long as Redis answers. */
  async compareDoubted(): Promise<void> {
    for (const [key, { type, userId }] of this.#doubted) {
      await this.#comparison.compare(type, userId)
      await this.#comparison.compareDisabled(type, [userId])
      this.#doubted.delete(key)
    }
  }

  /** Compares the users of the sessions that passed the gate and that the online keys do not have. */
  async compareSeen(): Promise<void> {
    const seen = this.#sightings.take()
    for (const type of LOGIN_TYPES) {
      await this.#compareUnknown(
        type,
        seen.filter(sighting => sighting.type === type),
      )
    }
  }

  async #compareUnknown(type: LoginType, seen: readonly Sighting[]): Promise<void> {
    const userIds = [...new Set(seen.map(({ userId }) => userId))]
    try {
      const lines = await this.#commands.linesOfAll(type, userIds)
      const known = new Map(userIds.map((userId, i) => [userId, lines[i] ?? '']))
      const unknown = seen.filter(({ token, userId }) => !known.get(userId)?.includes(digestOf(token)))
      for (const userId of new Set(unknown.map(sighting => sighting.userId)))
        await this.#comparison.compare(type, userId)
    } catch {
      for (const userId of userIds) this.#doubt(type, userId)
    }
  }

  /**
   * Before a question: what this process has changed is written. What could not be written is compared first, unless it is so much
   * that the question would wait long.
   */
  async caughtUp(): Promise<void> {
    await this.settled()
    if (this.#doubted.size > 0 && this.#doubted.size <= COMPARED_FIRST)
      await this.compareDoubted().catch(() => undefined)
  }

  /** Resolves when everything was written, or given up. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay)
  }
}

import type { Clock } from '../../../base/clock.ts'
import { LOGIN_TYPES, type LoginType } from '../../../session/sides.ts'
import type { OnlineUsers } from '../../online.ts'
import type { OnlineCommands } from './commands.ts'
import type { OnlineComparison } from './compare.ts'
import type { OnlineWriter } from './writes.ts'

export type Reindex = OnlineUsers['reindex']

/** How often the online keys are swept, by one of the gateways, in milliseconds. */
const SWEEP_INTERVAL = 1000
/** Two timers that are due together are not kept apart by the little that one is early. */
const SWEEP_PAUSE = 0.9 * SWEEP_INTERVAL
/** Tokens that one command removes: other commands wait for it, some 3 ms. And how long a sweep lasts at most. */
export const SWEEP_BATCH = 20
const SWEEP_BUDGET = 500
/** Users that each sweep compares with the specified keys: a million in 34 minutes. */
const COMPARED = 500
/** Rounds begin at most this often, in milliseconds: few users are compared every few seconds. */
const ROUND_PAUSE = 3000
/** Steps of the round over the session sets in one sweep, and users new to the online keys after which it takes no further one. */
const SET_STEPS = 4
const MAX_NEW = 200
/** Users that are compared at once. */
const AT_ONCE = 50

/**
 * Keeps the online keys right without a request: removes what has expired, and goes round the users to find the sessions that
 * other programs deleted, renewed or stored. Of several gateways one does it at a time; two would do no harm.
 */
export class RedisUpkeep {
  readonly #commands: OnlineCommands
  readonly #writer: OnlineWriter
  readonly #comparison: OnlineComparison
  readonly #clock: Clock
  readonly #timer: NodeJS.Timeout
  #running: Promise<void> | null = null
  #closed = false

  constructor(commands: OnlineCommands, writer: OnlineWriter, comparison: OnlineComparison, clock: Clock) {
    this.#commands = commands
    this.#writer = writer
    this.#comparison = comparison
    this.#clock = clock
    this.#timer = setInterval(() => this.#run(), SWEEP_INTERVAL).unref()
  }

  #run(): void {
    // What fails is done by the next, or by another gateway's.
    this.#running ??= this.#upkeep()
      .catch(() => undefined)
      .finally(() => {
        this.#running = null
      })
  }

  async #upkeep(): Promise<void> {
    await this.#writer.compareDoubted()
    await this.#writer.compareSeen()
    for (const type of LOGIN_TYPES) {
      const claimed = await this.#commands.claim(type, SWEEP_PAUSE, ROUND_PAUSE)
      if (claimed === null) continue
      const [users, sets] = claimed
      await this.#sweep(type)
      if (users !== '' && !this.#closed) await this.#goRound(type, users)
      if (sets !== '' && !this.#closed) await this.#goRoundSets(type, sets)
    }
  }

  async #sweep(type: LoginType): Promise<void> {
    const until = this.#clock.elapsed() + SWEEP_BUDGET
    while ((await this.#commands.sweep(type, SWEEP_BATCH)).more) {
      if (this.#closed || this.#clock.elapsed() > until) break
    }
  }

  async #goRound(type: LoginType, cursor: string): Promise<void> {
    const { next, users } = await this.#commands.someUsers(type, cursor, COMPARED)
    await this.#compareEach(type, await this.#comparison.suspects(type, users))
    await this.#commands.goOn(type, 'cursor', next)
  }

  /** Finds the users whom other programs signed in or disabled: their keys are there, and the online keys do not have them. */
  async #goRoundSets(type: LoginType, from: string): Promise<void> {
    let position = from
    for (let step = 0; step < SET_STEPS && !this.#closed; step++) {
      const { next, userIds, disabled } = await this.#commands.someSets(type, position)
      await this.#comparison.compareDisabled(type, disabled)
      const lines = await this.#commands.linesOfAll(type, userIds)
      const unknown = userIds.filter((_, i) => typeof lines[i] !== 'string')
      await this.#compareEach(type, unknown)
      await this.#commands.goOn(type, 'sets', next)
      if (next === '0' || unknown.length > MAX_NEW) break
      position = next
    }
  }

  /** Compares each on its own: a key that is not a set must not stop a round for ever. */
  async #compareEach(type: LoginType, userIds: readonly string[]): Promise<void> {
    for (let i = 0; i < userIds.length && !this.#closed; i += AT_ONCE) {
      const some = userIds.slice(i, i + AT_ONCE)
      await Promise.allSettled(some.map(userId => this.#comparison.compare(type, userId)))
    }
  }

  async #compareAll(type: LoginType, userIds: readonly string[]): Promise<number> {
    let live = 0
    for (let i = 0; i < userIds.length && !this.#closed; i += AT_ONCE) {
      const compared = userIds.slice(i, i + AT_ONCE).map(userId => this.#comparison.compare(type, userId))
      for (const count of await Promise.all(compared)) live += count
    }
    return live
  }

  /**
   * First every user with a session set is entered or corrected; then entries without a user are removed. Nothing is removed
   * that belongs to a live session.
   */
  reindex: Reindex = async (type, progress) => {
    const counted = new Set<string>()
    let live = 0
    for await (const { userIds, disabled, done } of this.#commands.sets(type)) {
      await this.#comparison.compareDisabled(type, disabled)
      // A scan may return a key twice.
      const fresh = userIds.filter(userId => !counted.has(userId))
      for (const userId of fresh) counted.add(userId)
      live += await this.#compareAll(type, fresh)
      await this.#commands.repair(type, fresh)
      progress(live, Math.max(live, Math.round(live / done)))
    }
    await this.#removeStrangers(type, counted)
    return live
  }

  async #removeStrangers(type: LoginType, counted: ReadonlySet<string>): Promise<void> {
    let cursor = '0'
    do {
      const { next, users } = await this.#commands.someUsers(type, cursor, COMPARED)
      const userIds = users.map(([userId]) => userId)
      await this.#compareAll(
        type,
        userIds.filter(userId => !counted.has(userId)),
      )
      cursor = next
    } while (cursor !== '0')
    for (const key of ['online', 'tokens', 'recent', 'counts'] as const) {
      do cursor = await this.#commands.prune(type, key, cursor)
      while (cursor !== '0')
    }
    do cursor = await this.#commands.pruneNames(type, cursor)
    while (cursor !== '0')
  }

  /** Resolves when no round is under way. */
  async settled(): Promise<void> {
    await this.#running
  }

  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#timer)
    await this.settled()
  }
}

import type { Clock } from '../../../base/clock.ts'
import type { LoginType } from '../../../session/sides.ts'
import { charactersOf, fold } from '../../names.ts'
import { DISABLED_AT_MOST, type OnlineUsers, type PageQuery, type Tally, type UserPage } from '../../online.ts'
import type { OnlineCommands } from './commands.ts'
import { KEPT_MINUTES, MINUTE } from './compare.ts'
import { newestIn, withoutControl } from './entries.ts'
import { MAX_SUFFIX } from './names.ts'
import { type Reindex, SWEEP_BATCH } from './upkeep.ts'
import type { OnlineWriter } from './writes.ts'

/**
 * Users whom a keyword finds at most. More of them are read, because some may be gone, from leaves of the table of names: so
 * many at a time, so many times.
 */
const MAX_FOUND = 1000
const MAX_CANDIDATES = 1200
const MAX_LEAVES = 64
const MAX_SEARCHES = 16
/** How often a question is asked again because many had expired. */
const MAX_SWEEPS = 5

interface Found {
  userId: string
  created: string
}

/** The online users, read from the online keys (`online-scripts.ts`), which `OnlineWriter` writes and `RedisUpkeep` sweeps. */
export class RedisOnline implements OnlineUsers {
  readonly reindex: Reindex
  readonly #commands: OnlineCommands
  readonly #writer: Pick<OnlineWriter, 'caughtUp'>
  readonly #clock: Clock

  constructor(commands: OnlineCommands, writer: Pick<OnlineWriter, 'caughtUp'>, clock: Clock, reindex: Reindex) {
    this.reindex = reindex
    this.#writer = writer
    this.#commands = commands
    this.#clock = clock
  }

  async page(type: LoginType, { offset, limit, keyword = '' }: PageQuery): Promise<UserPage> {
    if (keyword === '') {
      const [total, ...userIds] = await this.#ask(type, () => this.#commands.page(type, offset, limit))
      return { total, userIds }
    }
    const found = await this.#ask(type, () => this.#find(type, keyword))
    return { total: found.length, userIds: found.slice(offset, offset + limit).map(({ userId }) => userId) }
  }

  async disabled(type: LoginType, { offset, limit }: Pick<PageQuery, 'offset' | 'limit'>): Promise<UserPage> {
    const listed = Math.max(0, Math.min(limit, DISABLED_AT_MOST - offset))
    const [total, ...userIds] = await this.#commands.disabledPage(type, offset, listed)
    return { total: Math.min(total, DISABLED_AT_MOST), userIds }
  }

  /**
   * What has expired since the last sweep is removed on the way, in the same round trip where it is as little as ever. Of
   * more the answer may still show an order and names that were; never a user or a token that is gone, up to
   * `MAX_OVERDUE` of them. A Redis whose memory is full sweeps nothing, and answers.
   */
  async #ask<T>(type: LoginType, question: () => Promise<T>): Promise<T> {
    await this.#writer.caughtUp()
    for (let round = 1; ; round++) {
      const swept = this.#commands.sweep(type, SWEEP_BATCH).catch(() => ({ expired: 0 }))
      const answer = await question()
      if ((await swept).expired < SWEEP_BATCH || round === MAX_SWEEPS) return answer
    }
  }

  /**
   * Those whom a keyword finds, the newest login first. However many are online, at most `MAX_SEARCHES` times `MAX_LEAVES`
   * pieces of 1 KiB of the table of names are read, and the lines of at most `MAX_CANDIDATES` users: where more have the
   * keyword in a name, those are found that come first by what follows it in their names.
   */
  async #find(type: LoginType, keyword: string): Promise<Found[]> {
    const folded = withoutControl(fold(keyword))
    const candidates = await this.#candidates(type, charactersOf(folded, MAX_SUFFIX))
    const userIds = [...new Set([keyword, ...candidates])].slice(0, MAX_CANDIDATES)
    const [lines, ends] = await Promise.all([
      this.#commands.linesOfAll(type, userIds),
      this.#commands.endsOfUsers(type, userIds),
    ])
    const now = this.#clock.now()
    return userIds
      .flatMap((userId, i): Found[] => {
        if (typeof lines[i] !== 'string' || (ends[i] ?? 0) <= now) return []
        const { created, names } = newestIn(lines[i])
        return userId === keyword || names.some(name => name.includes(folded)) ? [{ userId, created }] : []
      })
      .slice(0, MAX_FOUND)
      .sort((a, b) => compare(b.created, a.created) || compare(a.userId, b.userId))
  }

  /** Users of whom a part of a name begins like this, each once. */
  async #candidates(type: LoginType, beginning: string): Promise<Set<string>> {
    const found = new Set<string>()
    let after = ''
    for (let search = 0; search < MAX_SEARCHES && found.size < MAX_CANDIDATES; search++) {
      const [last, ...leaves] = await this.#commands.search(type, beginning, MAX_LEAVES, after)
      const entries = leaves.flatMap(leaf => leaf?.split('\n') ?? []).filter(entry => entry.startsWith(beginning))
      for (const entry of entries) if (entry !== '') found.add(entry.slice(entry.indexOf('\u0000') + 1))
      if (leaves.length < MAX_LEAVES) break
      after = last
    }
    return found
  }

  async tally(type: LoginType): Promise<Tally> {
    const [users, tokens, maxTokensPerUser] = await this.#ask(type, () => this.#commands.tally(type))
    return { users, tokens, maxTokensPerUser }
  }

  async *users(type: LoginType): AsyncGenerator<string[]> {
    let cursor = '0'
    do {
      const { next, userIds } = await this.#commands.someOnline(type, cursor)
      if (userIds.length > 0) yield userIds
      cursor = next
    } while (cursor !== '0')
  }

  loginsOn(type: LoginType, days: readonly string[]): Promise<number[]> {
    return this.#commands.logins(
      type,
      days.map(day => `d${day}`),
    )
  }

  async loginsSince(type: LoginType, timestamp: number): Promise<number> {
    const last = Math.floor(this.#clock.now() / MINUTE)
    const first = Math.max(Math.floor(timestamp / MINUTE), last - KEPT_MINUTES)
    const minutes = Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => `m${first + i}`)
    return (await this.#commands.logins(type, minutes)).reduce((sum, count) => sum + count, 0)
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

import { setImmediate as nextTurn } from 'node:timers/promises'
import { readRecord, type SessionRecord } from '../../session/record.ts'
import type { LoginType } from '../../session/sides.ts'
import type { Ages } from '../age.ts'
import { Newest, overviewOf } from '../newest-tokens.ts'
import { type Overview, type StoredToken, SURVEYED } from '../store.ts'
import type { EmbeddedFile } from './file/lmdb-file.ts'
import { type Member, sideKey } from './file/members.ts'
import type { ExpiringTable } from './file/table.ts'
import type { EmbeddedOnline } from './online/online.ts'

/** Tokens of a user that are read from one snapshot: some milliseconds in which others wait. */
const BATCH = 100

interface LiveToken {
  record: SessionRecord
  /** The record as it is stored. */
  text: string
  expiresAt: number
}

/** A token of the table `tokens` with its record; `null` if it is not live, or its record is not one of this side. */
export function liveToken(tokens: ExpiringTable, type: LoginType, token: string): LiveToken | null {
  const entry = tokens.get(sideKey(type, token))
  const record = entry === null ? null : readRecord(entry.text, type)
  return entry === null || record === null ? null : { record, text: entry.text, expiresAt: entry.expiresAt }
}

/** Reads the tokens of users, however many one has: each batch from a snapshot of its own. */
export class UserTokens {
  readonly #file: EmbeddedFile
  readonly #tokens: ExpiringTable
  readonly #online: EmbeddedOnline
  readonly #ages: Ages

  constructor(file: EmbeddedFile, tokens: ExpiringTable, online: EmbeddedOnline, ages: Ages) {
    this.#file = file
    this.#tokens = tokens
    this.#online = online
    this.#ages = ages
  }

  /** The newest tokens, up to `limit`, oldest first. */
  async newest(type: LoginType, userId: string, limit: number): Promise<StoredToken[]> {
    const newest = new Newest(limit, this.#ages)
    for await (const batch of this.#walk(type, userId, 'before')) {
      newest.add(batch)
      if (newest.added >= limit) break
    }
    return newest.list()
  }

  /** All live tokens, oldest first. */
  batches(type: LoginType, userId: string): AsyncIterable<StoredToken[]> {
    return this.#walk(type, userId, 'after')
  }

  /** The live tokens of a user in the order of their age, each batch from a snapshot of its own. */
  async *#walk(type: LoginType, userId: string, next: 'after' | 'before'): AsyncGenerator<StoredToken[]> {
    let last: Member | null = null
    for (;;) {
      const from: Member | null = last
      const { members, live } = this.#file.read((): { members: Member[]; live: StoredToken[] } => {
        const members = this.#online.members[next](type, userId, from, BATCH)
        return { members, live: members.flatMap(({ token }) => this.#stored(type, token)) }
      })
      if (live.length > 0) yield live
      if (members.length < BATCH) return
      last = members.at(-1) ?? null
      await nextTurn()
    }
  }

  #stored(type: LoginType, token: string): StoredToken[] {
    const live = liveToken(this.#tokens, type, token)
    return live === null ? [] : [{ token, record: live.record, expiresAt: live.expiresAt }]
  }

  /** Expired tokens that no sweep has met yet included. */
  async count(type: LoginType, userId: string): Promise<number> {
    return this.#file.read(() => this.#online.tokensOf(type, userId))
  }

  async overview(type: LoginType, userId: string): Promise<Overview | null> {
    const newest = await this.newest(type, userId, SURVEYED)
    const seen = overviewOf(newest)
    const count = await this.count(type, userId)
    if (seen === null || newest.length < SURVEYED || count <= SURVEYED) return seen
    const first = await this.#oldest(type, userId)
    return { ...seen, count, first: first ?? seen.first }
  }

  async #oldest(type: LoginType, userId: string): Promise<StoredToken | null> {
    for await (const [oldest] of this.#walk(type, userId, 'after')) return oldest ?? null
    return null
  }

  /** When the longest-living token ends; `null` without a live one. */
  async lastEnd(type: LoginType, userId: string): Promise<number | null> {
    let last: number | null = null
    for await (const batch of this.#walk(type, userId, 'after')) {
      for (const { expiresAt } of batch) last = Math.max(last ?? 0, expiresAt)
    }
    return last
  }
}

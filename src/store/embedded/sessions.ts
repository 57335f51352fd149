import { type LoginType, readRecord, type SessionRecord, writeRecord } from '../../side/record.ts'
import type { Ages } from '../age.ts'
import type { Admission, SessionStore, StoredToken } from '../store.ts'
import type { EmbeddedChanges } from './changes.ts'
import type { EmbeddedFile } from './file.ts'
import { sideKey } from './members.ts'
import type { EmbeddedPopulation } from './population.ts'
import { type Expiries, type ExpiringTable, MAX_ENTRY_KEY_BYTES } from './table.ts'

/*
 * Two tables; the users' sets belong to the population, which changes with them in the same transaction.
 *   tokens    side, token    -> the record as JSON text; ends with the token
 *   disables  side, user id  -> nothing; ends with the bar
 */

/** Records kept as parsed, so that the text of a session in use is not parsed again for each of its requests. */
const MAX_PARSED = 10_000

export class EmbeddedSessions implements SessionStore {
  readonly #file: EmbeddedFile
  readonly #tokens: ExpiringTable
  readonly #population: EmbeddedPopulation
  readonly #disables: ExpiringTable
  readonly #changes: EmbeddedChanges
  readonly #ages: Ages
  readonly #parsed = new Map<string, { text: string; record: SessionRecord }>()

  constructor(
    file: EmbeddedFile,
    expiries: Expiries,
    tokens: ExpiringTable,
    population: EmbeddedPopulation,
    changes: EmbeddedChanges,
    ages: Ages,
  ) {
    this.#file = file
    this.#changes = changes
    this.#ages = ages
    this.#tokens = tokens
    this.#population = population
    this.#disables = expiries.table(file, 'disables', 'd')
  }

  async add(type: LoginType, token: string, record: SessionRecord, expiresAt: number): Promise<Admission> {
    const key = sideKey(type, token)
    if (key.length > MAX_ENTRY_KEY_BYTES || !this.#population.members.fits(record.user_id, token)) {
      throw new RangeError('the token is too long to be stored')
    }
    return this.#file.write((): Admission => {
      const bar = this.#disables.get(sideKey(type, record.user_id))
      if (bar !== null) return { admitted: false, disabledUntil: bar.expiresAt }
      const known = this.#tokens.take(key)
      if (known !== null) this.expired(key, known.text)
      this.#tokens.put(key, writeRecord(record), expiresAt)
      this.#population.enter(type, token, record)
      if (known === null) this.#population.countLogin(type, token, record)
      return { admitted: true }
    })
  }

  find(type: LoginType, token: string): SessionRecord | null {
    return this.#file.read(() => {
      const entry = this.#tokens.get(sideKey(type, token))
      return entry === null ? null : this.#parse(type, token, entry.text)
    })
  }

  /** The record of a text just read. It is shared by the requests of its session, and frozen therefore. */
  #parse(type: LoginType, token: string, text: string): SessionRecord | null {
    const known = this.#parsed.get(token)
    if (known?.text === text) return known.record
    const record = readRecord(text, type)
    if (record === null) return null
    if (this.#parsed.size >= MAX_PARSED) this.#parsed.clear()
    this.#parsed.set(token, { text, record: deepFreeze(record) })
    return record
  }

  async remove(type: LoginType, userId: string, token: string): Promise<boolean> {
    return this.#file.writeThrough(() => {
      const record = this.#live(type, token)?.record
      if (record?.user_id !== userId) return false
      this.#tokens.remove(sideKey(type, token))
      this.#population.leave(type, userId, [this.#population.members.memberOf(token, record)])
      this.#changes.noteSessions(type, [token])
      return true
    })
  }

  async removeAll(type: LoginType, userId: string): Promise<number> {
    return this.#file.writeThrough(() => {
      const members = this.#population.members.of(type, userId)
      const live = members.filter(({ token }) => this.#tokens.remove(sideKey(type, token)) !== null)
      this.#population.leave(type, userId, members)
      this.#changes.noteSessions(
        type,
        live.map(({ token }) => token),
      )
      return live.length
    })
  }

  async renew(type: LoginType, userId: string, token: string, expiresAt: number): Promise<boolean> {
    return this.#file.write(() => {
      const live = this.#live(type, token)
      if (live?.record.user_id !== userId) return false
      this.#tokens.put(sideKey(type, token), live.text, expiresAt)
      this.#changes.noteSessions(type, [token])
      return true
    })
  }

  async tokens(type: LoginType, userId: string): Promise<StoredToken[]> {
    return this.#file.read(() => this.#liveTokensOf(type, userId)).toSorted(this.#ages.byAge)
  }

  async tokenExpiresAt(type: LoginType, token: string): Promise<number | null> {
    return this.#file.read(() => this.#live(type, token)?.expiresAt ?? null)
  }

  async sessionExpiresAt(type: LoginType, userId: string): Promise<number | null> {
    const tokens = this.#file.read(() => this.#liveTokensOf(type, userId))
    return tokens.length === 0 ? null : Math.max(...tokens.map(({ expiresAt }) => expiresAt))
  }

  async disable(type: LoginType, userId: string, until: number): Promise<void> {
    return this.#file.writeThrough(() => {
      this.#disables.put(sideKey(type, userId), '', until)
      this.#changes.noteBar(type, userId)
    })
  }

  disabledUntil(type: LoginType, userId: string): number | null {
    return this.#file.read(() => this.#disables.get(sideKey(type, userId))?.expiresAt ?? null)
  }

  async untieDisable(type: LoginType, userId: string): Promise<boolean> {
    return this.#file.write(() => this.#disables.remove(sideKey(type, userId)) !== null)
  }

  #live(type: LoginType, token: string): { record: SessionRecord; text: string; expiresAt: number } | null {
    const entry = this.#tokens.get(sideKey(type, token))
    const record = entry === null ? null : readRecord(entry.text, type)
    return entry === null || record === null ? null : { record, text: entry.text, expiresAt: entry.expiresAt }
  }

  #liveTokensOf(type: LoginType, userId: string): StoredToken[] {
    return this.#population.members.of(type, userId).flatMap(({ token }) => {
      const live = this.#live(type, token)
      return live === null ? [] : [{ token, record: live.record, expiresAt: live.expiresAt }]
    })
  }

  /** What hangs on a token that the sweep has removed: `key` is its key, `text` its record. Within a write. */
  expired(key: Buffer, text: string): void {
    const record = JSON.parse(text) as SessionRecord
    const member = this.#population.members.memberOf(key.toString('utf8', 1), record)
    this.#population.leave(record.type, record.user_id, [member])
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const inner of Object.values(value)) deepFreeze(inner)
  return Object.freeze(value)
}

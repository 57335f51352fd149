import { type EndReason, readEndReason } from '../../session/end-reason.ts'
import { type SessionRecord, withExtra, writeRecord } from '../../session/record.ts'
import type { LoginType } from '../../session/sides.ts'
import type { Ages } from '../age.ts'
import { tokenDigest } from '../digest.ts'
import type { Remembered } from '../remembered-values.ts'
import {
  type Admission,
  afterEnding,
  type EndNote,
  type EndOf,
  type ExtraOf,
  endIn,
  LISTED_AT_MOST,
  type Overview,
  type SessionStore,
  type StoredToken,
} from '../store.ts'
import type { ChangeRing } from './changes.ts'
import type { EmbeddedDisables } from './disables.ts'
import type { EmbeddedFile } from './file/lmdb-file.ts'
import { type Member, sideKey } from './file/members.ts'
import { type Expiries, type ExpiringTable, MAX_ENTRY_KEY_BYTES } from './file/table.ts'
import { EmbeddedMemory } from './memory.ts'
import type { EmbeddedOnline } from './online/online.ts'
import { liveToken, UserTokens } from './user-tokens.ts'

/*
 * Two tables; the users' sets belong to the online users, which change with them in the same transaction.
 *   tokens    side, token    -> the record as JSON text; ends with the token
 *   ended     side, digest of a token  -> why it was ended; ends with its note
 */

/** Tokens of a user that one transaction ends: some milliseconds in which others wait. */
const BATCH = 100

export class EmbeddedSessions implements SessionStore {
  readonly #file: EmbeddedFile
  readonly #tokens: ExpiringTable
  readonly #online: EmbeddedOnline
  readonly #disables: EmbeddedDisables
  readonly #ended: ExpiringTable
  readonly #changes: ChangeRing
  readonly #userTokens: UserTokens
  readonly #memory: EmbeddedMemory<SessionRecord>

  constructor(
    file: EmbeddedFile,
    expiries: Expiries,
    tokens: ExpiringTable,
    disables: EmbeddedDisables,
    online: EmbeddedOnline,
    changes: ChangeRing,
    ages: Ages,
    remembered: Readonly<Record<LoginType, Remembered<SessionRecord>>>,
  ) {
    this.#file = file
    this.#changes = changes
    this.#userTokens = new UserTokens(file, tokens, online, ages)
    this.#tokens = tokens
    this.#online = online
    this.#disables = disables
    this.#ended = expiries.table('ended', 'e')
    this.#memory = new EmbeddedMemory({
      file,
      ring: changes,
      kind: 'session',
      remembered,
      read(type, token) {
        const live = liveToken(tokens, type, token)
        return live === null ? null : { value: live.record, expiresAt: live.expiresAt }
      },
    })
  }

  async add(type: LoginType, token: string, record: SessionRecord, expiresAt: number): Promise<Admission> {
    const key = sideKey(type, token)
    if (key.length > MAX_ENTRY_KEY_BYTES || !this.#online.members.fits(record.user_id, token)) {
      throw new RangeError('the token is too long to be stored')
    }
    return this.#file.add((): Admission => {
      const disabledUntil = this.#disables.find(type, record.user_id)
      if (disabledUntil !== null) return { admitted: false, disabledUntil }
      const known = this.#tokens.take(key)
      if (known !== null) this.expired(key, known.text)
      this.#tokens.put(key, writeRecord(record), expiresAt)
      this.#online.enter(type, token, record)
      if (known === null) this.#online.countLogin(type, token, record)
      this.#changes.noteSessions(type, [token])
      return { admitted: true }
    })
  }

  find(type: LoginType, token: string): SessionRecord | null {
    return this.#memory.find(type, token)
  }

  async remove(type: LoginType, userId: string, token: string, note?: EndNote): Promise<boolean> {
    return this.#file.write(() => this.#end(type, userId, this.#ownMembers(type, userId, [token]), note).length > 0)
  }

  removeAll(type: LoginType, userId: string, note?: EndNote): Promise<number> {
    return this.removeOthers(type, userId, null, note)
  }

  /**
   * In batches, each a transaction of its own, until the user has no others: others write in between. The oldest end first,
   * so a login that comes meanwhile is ended last, or stays, and can be ended later.
   */
  async removeOthers(type: LoginType, userId: string, spared: string | null, note?: EndNote): Promise<number> {
    let ended = 0
    try {
      for (let more = true; more; ) {
        const batch = await this.#file.write(() => {
          const members = this.#online.members.after(type, userId, null, BATCH)
          const others = members.filter(({ token }) => token !== spared)
          return { found: members.length, ended: this.#end(type, userId, others, note).length }
        })
        ended += batch.ended
        more = batch.found === BATCH
      }
      return ended
    } catch (fault) {
      throw afterEnding(ended, fault)
    }
  }

  async removeSome(type: LoginType, userId: string, tokens: readonly string[], note?: EndNote): Promise<string[]> {
    const ended: string[] = []
    for (let i = 0; i < tokens.length; i += BATCH) {
      const batch = tokens.slice(i, i + BATCH)
      const own = await this.#file.write(() => this.#end(type, userId, this.#ownMembers(type, userId, batch), note))
      ended.push(...own)
    }
    return ended
  }

  #ownMembers(type: LoginType, userId: string, tokens: readonly string[]): Member[] {
    return tokens.flatMap(token => {
      const record = liveToken(this.#tokens, type, token)?.record
      return record?.user_id === userId ? [this.#online.members.memberOf(token, record)] : []
    })
  }

  /** Ends members of a user, and answers the tokens that were live. Within a write. */
  #end(type: LoginType, userId: string, members: readonly Member[], note?: EndNote): string[] {
    if (members.length === 0) return []
    const live = members.filter(({ token }) => this.#tokens.remove(sideKey(type, token)) !== null)
    const tokens = live.map(({ token }) => token)
    if (note !== undefined) for (const token of tokens) this.#ended.put(endedKey(type, token), note.reason, note.until)
    this.#online.leave(type, userId, members)
    this.#changes.noteSessions(type, tokens)
    return tokens
  }

  whyEnded(type: LoginType, token: string): EndReason | null {
    return this.#file.read(() => {
      const entry = this.#ended.get(endedKey(type, token))
      return entry === null ? null : readEndReason(entry.text)
    })
  }

  async renew(type: LoginType, userId: string, token: string, end: EndOf): Promise<boolean> {
    return this.#file.write(() => {
      const live = liveToken(this.#tokens, type, token)
      if (live?.record.user_id !== userId) return false
      this.#tokens.put(sideKey(type, token), live.text, endIn(end, live.record.extra))
      this.#changes.noteSessions(type, [token])
      return true
    })
  }

  async replaceRecord(type: LoginType, userId: string, token: string, extraOf: ExtraOf): Promise<boolean> {
    return this.#file.add(() => {
      const live = liveToken(this.#tokens, type, token)
      if (live?.record.user_id !== userId) return false
      this.#tokens.put(sideKey(type, token), withExtra(live.text, extraOf(live.record.extra)), live.expiresAt)
      this.#changes.noteSessions(type, [token])
      return true
    })
  }

  tokens(type: LoginType, userId: string, limit = LISTED_AT_MOST): Promise<StoredToken[]> {
    return this.#userTokens.newest(type, userId, limit)
  }

  batches(type: LoginType, userId: string): AsyncIterable<StoredToken[]> {
    return this.#userTokens.batches(type, userId)
  }

  count(type: LoginType, userId: string): Promise<number> {
    return this.#userTokens.count(type, userId)
  }

  overview(type: LoginType, userId: string): Promise<Overview | null> {
    return this.#userTokens.overview(type, userId)
  }

  sessionExpiresAt(type: LoginType, userId: string): Promise<number | null> {
    return this.#userTokens.lastEnd(type, userId)
  }

  async tokenExpiresAt(type: LoginType, token: string): Promise<number | null> {
    return this.#file.read(() => liveToken(this.#tokens, type, token)?.expiresAt ?? null)
  }

  disable(type: LoginType, userId: string, until: number): Promise<void> {
    return this.#disables.disable(type, userId, until)
  }

  disabledUntil(type: LoginType, userId: string): number | null {
    return this.#disables.until(type, userId)
  }

  rememberedDisable(type: LoginType, userId: string): number | null {
    return this.#disables.remembered(type, userId)
  }

  untieDisable(type: LoginType, userId: string): Promise<boolean> {
    return this.#disables.untie(type, userId)
  }

  /** What hangs on a token that the sweep has removed: `key` is its key, `text` its record. Within a write. */
  expired(key: Buffer, text: string): void {
    const record = JSON.parse(text) as SessionRecord
    const member = this.#online.members.memberOf(key.toString('utf8', 1), record)
    this.#online.leave(record.type, record.user_id, [member])
  }
}

const endedKey = (type: LoginType, token: string): Buffer => sideKey(type, tokenDigest(token))

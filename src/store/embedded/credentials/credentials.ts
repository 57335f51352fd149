import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../../base/clock.ts'
import { bySide, type LoginType } from '../../../session/sides.ts'
import {
  type Credential,
  type CredentialPage,
  type CredentialStore,
  checkCredential,
  checkText,
  existsAlready,
  type ListedCredential,
} from '../../credentials.ts'
import { Remembered } from '../../remembered-values.ts'
import { ChangeRing } from '../changes.ts'
import type { EmbeddedFile } from '../file/lmdb-file.ts'
import { readSideKey, sideKey } from '../file/members.ts'
import { Expiries, type ExpiringTable } from '../file/table.ts'
import { EmbeddedMemory } from '../memory.ts'
import { CredentialOwners } from './owners.ts'

/*
 * Tables of a file of its own, beside the ring of its changes and the index of what expires:
 *   business, consumer  side, id -> owner and text as JSON; ends with the credential
 *   owners              side, owner -> ids, in the order in which they were stored
 *   used                side, id -> when it was last used; ends with the credential
 */

/** The marks of the tables in the index of what expires. */
const MARKS = { BUSINESS: 'b', CONSUMER: 'c' } as const
const TABLES = { BUSINESS: 'business', CONSUMER: 'consumer' } as const

/** Credentials that are read from one snapshot: about a millisecond. */
const CREDENTIALS_AT_ONCE = 100

/** A credential as it is stored. */
interface Held {
  owner: string
  text: string
  /** Absent while it counts. */
  succeeded?: true
}

type Live = Held & { id: string; expiresAt: number }

export class EmbeddedCredentials implements CredentialStore {
  /** What becomes of credentials. */
  readonly ring: ChangeRing
  readonly #file: EmbeddedFile
  readonly #expiries: Expiries
  readonly #tables: Readonly<Record<LoginType, ExpiringTable>>
  readonly #owners: CredentialOwners
  readonly #used: ExpiringTable
  readonly #memory: EmbeddedMemory<Credential>

  /** `maxEntries`: how many credentials of a side the process remembers. */
  constructor(file: EmbeddedFile, clock: Clock, maxEntries: number) {
    this.#file = file
    this.ring = new ChangeRing(file)
    this.#expiries = new Expiries(file, clock)
    this.#owners = new CredentialOwners(file)
    this.#used = this.#expiries.table('used', 'u')
    this.#tables = bySide(type =>
      this.#expiries.table(TABLES[type], MARKS[type], (key, text) => this.#forget(type, readSideKey(key).id, text)),
    )
    this.#memory = new EmbeddedMemory({
      file,
      ring: this.ring,
      kind: 'credential',
      remembered: bySide(() => new Remembered<Credential>(() => clock.now(), maxEntries)),
      read: (type, id) => {
        const live = this.#live(type, id)
        return live === null ? null : { value: credentialOf(live), expiresAt: live.expiresAt }
      },
    })
  }

  async add(type: LoginType, credential: Credential, most: number): Promise<boolean> {
    this.#check(credential)
    const outcome = await this.#file.add(() => {
      if (this.#live(type, credential.id) !== null) return 'exists'
      const counting = this.#liveOf(type, credential.owner).filter(({ succeeded }) => succeeded === undefined)
      if (counting.length >= most) return 'full'
      this.#put(type, credential)
      this.ring.noteCredentials(type, [credential.id])
      return 'added'
    })
    if (outcome === 'exists') throw existsAlready()
    return outcome === 'added'
  }

  #check(credential: Credential): void {
    checkCredential(credential)
    if (!this.#owners.fits(credential.owner)) throw new RangeError('the owner is too long to be stored')
  }

  find(type: LoginType, id: string): Credential | null {
    return this.#memory.find(type, id)
  }

  async of(type: LoginType, owner: string): Promise<ListedCredential[]> {
    return this.#file.read(() =>
      this.#liveOf(type, owner)
        .reverse()
        .map(live => this.#listed(type, live)),
    )
  }

  async page(type: LoginType, offset: number, limit: number): Promise<CredentialPage> {
    return this.#file.read(() => {
      const next = this.#tables[type].nextToEnd(offset, limit).map(key => this.#live(type, readSideKey(key).id))
      const credentials = next.filter(live => live !== null).map(live => this.#listed(type, live))
      return { total: this.#tables[type].countEnding(), credentials }
    })
  }

  async *all(type: LoginType): AsyncGenerator<Credential[]> {
    for (let last = sideKey(type, ''); ; ) {
      const from = last
      const { keys, live } = this.#file.read(() => {
        const keys = this.#tables[type].keysAfter(from, CREDENTIALS_AT_ONCE)
        return { keys, live: keys.map(key => this.#live(type, readSideKey(key).id)).filter(live => live !== null) }
      })
      if (live.length > 0) yield live.map(credentialOf)
      if (keys.length < CREDENTIALS_AT_ONCE) return
      last = keys.at(-1)!
      await nextTurn()
    }
  }

  async succeed(type: LoginType, owner: string, id: string, next: Credential, until: number): Promise<boolean> {
    this.#check(next)
    const outcome = await this.#file.add(() => {
      const live = this.#ownLive(type, owner, id)
      if (live === null || live.succeeded || next.owner !== owner) return 'refused'
      if (this.#live(type, next.id) !== null) return 'exists'
      this.#rewrite(type, { ...live, succeeded: true, expiresAt: Math.min(live.expiresAt, until) })
      this.#put(type, next)
      this.ring.noteCredentials(type, [id, next.id])
      return 'succeeded'
    })
    if (outcome === 'exists') throw existsAlready()
    return outcome === 'succeeded'
  }

  async rewrite(type: LoginType, id: string, from: string, to: string): Promise<boolean> {
    checkText(to)
    return this.#file.add(() => {
      const live = this.#live(type, id)
      if (live?.text !== from) return false
      this.#rewrite(type, { ...live, text: to })
      this.ring.noteCredentials(type, [id])
      return true
    })
  }

  async remove(type: LoginType, owner: string, id: string): Promise<boolean> {
    return this.#file.write(() => {
      if (this.#ownLive(type, owner, id) === null) return false
      this.#end(type, [id])
      return true
    })
  }

  async removeAll(type: LoginType, owner: string): Promise<string[]> {
    return this.#file.write(() => {
      const ids = this.#liveOf(type, owner).map(({ id }) => id)
      this.#end(type, ids)
      return ids
    })
  }

  async used(type: LoginType, id: string, at: number): Promise<void> {
    return this.#file.add(() => {
      const live = this.#live(type, id)
      if (live !== null) this.#used.put(sideKey(type, id), String(at), live.expiresAt)
    })
  }

  /** Removes what has expired, and answers how many entries. */
  sweep(): Promise<number> {
    return this.#expiries.sweep()
  }

  /** Within a write. */
  #put(type: LoginType, { id, owner, text, expiresAt }: Credential): void {
    const expired = this.#tables[type].take(sideKey(type, id))
    if (expired !== null) this.#forget(type, id, expired.text)
    this.#rewrite(type, { id, owner, text, expiresAt })
    this.#owners.enter(type, owner, id)
  }

  /** Within a write. */
  #rewrite(type: LoginType, { id, expiresAt, ...held }: Live): void {
    this.#tables[type].put(sideKey(type, id), JSON.stringify(held satisfies Held), expiresAt)
  }

  /** Ends live credentials. Within a write. */
  #end(type: LoginType, ids: readonly string[]): void {
    for (const id of ids) {
      const entry = this.#tables[type].remove(sideKey(type, id))
      if (entry !== null) this.#forget(type, id, entry.text)
    }
    this.ring.noteCredentials(type, ids)
  }

  /** Removes what hangs on a credential that has been removed. Within a write. */
  #forget(type: LoginType, id: string, text: string): void {
    this.#owners.leave(type, (JSON.parse(text) as Held).owner, id)
    this.#used.take(sideKey(type, id))
  }

  #live(type: LoginType, id: string): Live | null {
    const entry = this.#tables[type].get(sideKey(type, id))
    return entry === null ? null : { ...(JSON.parse(entry.text) as Held), id, expiresAt: entry.expiresAt }
  }

  #ownLive(type: LoginType, owner: string, id: string): Live | null {
    const live = this.#live(type, id)
    return live?.owner === owner ? live : null
  }

  /** In the order in which they were stored. */
  #liveOf(type: LoginType, owner: string): Live[] {
    const all = this.#owners.idsOf(type, owner).map(id => this.#live(type, id))
    return all.filter(live => live !== null)
  }

  #listed(type: LoginType, live: Live): ListedCredential {
    const used = this.#used.get(sideKey(type, live.id))
    return {
      ...credentialOf(live),
      usedAt: used === null ? null : Number(used.text),
      isSucceeded: live.succeeded ?? false,
    }
  }
}

const credentialOf = ({ id, owner, text, expiresAt }: Live): Credential => ({ id, owner, text, expiresAt })

import type { LoginType } from '../../../session/sides.ts'
import { type Credential, checkCredential } from '../../credentials.ts'
import type { Keys } from '../commands/key-names.ts'
import type { CredentialCommands } from './commands.ts'
import { endedBefore, enter } from './entry.ts'
import type { LiveRecords } from './live-records.ts'
import type { StoredCredential } from './record.ts'

/**
 * One credential takes the place of another. Which of several calls succeeds it, its record decides: it names the one that is to
 * take its place. Only when that can be found does the old one get its earlier end. A later call takes over from one that has not
 * come so far, and perhaps never will: so a succession that dies has changed nothing that its owner would notice, and can be tried
 * again. Only a gateway that dies between the last two steps leaves both: a successor whose secret was given to no one, and the old
 * one without a place among those that count. The next succession of the old one ends that successor.
 */
export class Successions {
  readonly #redis: CredentialCommands
  readonly #keys: Keys
  readonly #records: LiveRecords

  constructor(redis: CredentialCommands, keys: Keys, records: LiveRecords) {
    this.#redis = redis
    this.#keys = keys
    this.#records = records
  }

  async succeed(type: LoginType, owner: string, id: string, next: Credential, until: number): Promise<boolean> {
    checkCredential(next)
    const isItsTurn = ({ owner: of, state }: StoredCredential): boolean => of === owner && state === 'live'
    const live = await this.#records.get(type, id)
    if (live === null || !isItsTurn(live) || next.owner !== owner) return false
    const list = this.#keys.credentials(type, owner)
    let before: string | undefined
    let end: number | undefined
    return enter(this.#redis, this.#keys, type, next, {
      reserve: async () => {
        const yielding = await this.#records.change(type, id, stored => {
          before = stored.by
          return isItsTurn(stored) ? { ...stored, by: next.id } : null
        })
        if (yielding === null) return null
        // Its call can no longer end well. The record before the list, as ever.
        if (before !== undefined) await this.#redis.revoke(this.#keys.credential(type, before))
        return this.#redis.takePlace(list, next.id, next.expiresAt, id, before)
      },
      stored: async isLive => {
        if (!isLive) {
          const old = await this.#records.get(type, id)
          if (old?.by === next.id) throw endedBefore()
          return false
        }
        end = live.expiresAt
        return this.#endEarlier(type, id, next.id, until)
      },
      undo: async () => {
        await this.#redis.revoke(this.#keys.credential(type, next.id))
        if (end !== undefined) await this.#unyield(type, id, next.id, end)
        const by = (await this.#records.get(type, id))?.by
        // One that yields to another one by now gets nothing back. What stays in the list is dead, until its place is needed.
        if (by === undefined || by === next.id) await this.#redis.giveBack(list, next.id, id)
        await this.#redis.removeEndings(this.#keys.credentialEnds(type), [next.id])
      },
    })
  }

  /** Ends a credential at `until` for the one that it yields to. `false` if it does not, or has ended: then that is no successor. */
  async #endEarlier(type: LoginType, id: string, by: string, until: number): Promise<boolean> {
    const succeeded = await this.#records.change(type, id, stored =>
      stored.state === 'live' && stored.by === by
        ? { ...stored, state: 'succeeded', expiresAt: Math.min(stored.expiresAt, until) }
        : null,
    )
    if (succeeded === null) return false
    await this.#redis.addEnding(this.#keys.credentialEnds(type), id, succeeded.expiresAt)
    return true
  }

  /**
   * Undoes the above, whether it has happened, or is still to happen: it finds another text then. Before its time a record keeps
   * the name of the other one, by which the list gets its place back.
   */
  async #unyield(type: LoginType, id: string, by: string, expiresAt: number): Promise<void> {
    const free = ({ by: named, ...stored }: StoredCredential): StoredCredential | null =>
      named === by ? { ...stored, state: 'live', expiresAt } : null
    if ((await this.#records.change(type, id, free, 'activate')) === null) return
    await this.#redis.addEnding(this.#keys.credentialEnds(type), id, expiresAt)
  }
}

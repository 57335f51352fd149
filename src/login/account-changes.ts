import type { AccountKeys } from '../account/kept-keys.ts'
import { type Account, type AccountChanges, type AccountSource, findActive } from '../account/source.ts'
import { type AccountChange, changeSince, versionsIn } from '../account/version.ts'
import type { Logger } from '../base/log/log.ts'
import { Refusal } from '../base/refusal.ts'
import type { SessionRecord } from '../session/record.ts'
import type { Side } from '../side/side.ts'
import type { OnlineUsers } from '../store/online.ts'

/** Users whose sessions are compared at the same time. */
const AT_ONCE = 16
/** How long to wait before what the store refused is tried again, in milliseconds. */
const RETRY = 500

export interface AccountWatchOptions {
  side: Pick<Side, 'type' | 'kickoutWhere'>
  changes: AccountChanges
  online: Pick<OnlineUsers, 'users'>
  /** `null` where users have none. */
  keys: Pick<AccountKeys, 'endOthers' | 'ownersOfOthers'> | null
  log: Logger
  /** Called when the accounts are known for the first time. */
  known?: () => void
}

/**
 * Ends the sessions of accounts that have changed: removed, no longer ACTIVE, another password, other roles or permissions. Ends
 * the keys of those that were removed, or have another password or a reset second factor.
 *
 * - An account changes while the gateway runs: all of its sessions end, but those that carry its present version, because
 *   they began after the change. Also those end that carry no version.
 * - The gateway starts, or can read its accounts for the first time: every session that carries a version, and every key, is
 *   compared with its account. So a change takes effect that was made while no gateway ran. Sessions without a version stay.
 *
 * Every worker of every gateway does this for itself, and the result is the same. Gateways with different accounts, as in
 * the middle of a roll-out, do not end the same sessions again and again: a gateway acts when its own file changes or when
 * it starts, and never because of another one. A session lives until a gateway finds that its account differs from the one
 * that signed in, so the strictest file decides: a gateway with an old file that starts in the middle ends the sessions of
 * accounts that it does not know, and their users sign in again; it ends their keys, too, which are made again. What the store
 * refuses is tried again until it is done. A start finds the sessions through the online users: with Redis, a session that these
 * have lost is compared at a later start only.
 */
export class AccountWatch {
  readonly #side: AccountWatchOptions['side']
  readonly #changes: AccountChanges
  readonly #online: AccountWatchOptions['online']
  readonly #keys: AccountWatchOptions['keys']
  readonly #log: Logger
  /** Accounts that have changed, whose sessions have not ended. */
  readonly #pending = new Map<string, AccountChange>()
  #isCompared = true
  #isClosed = false
  #isWorking = false
  /** Whether the store refused the last attempt: an outage is logged once, not at each attempt. */
  #isRefused = false
  #working = Promise.resolve()
  #retry: NodeJS.Timeout | null = null

  constructor({ side, changes, online, keys, log, known }: AccountWatchOptions) {
    this.#side = side
    this.#changes = changes
    this.#online = online
    this.#keys = keys
    this.#log = log
    changes.follow(changed => {
      if (changed === null) {
        this.#isCompared = false
        known?.()
      } else for (const [id, change] of changed) this.#pending.set(id, change)
      if (this.#retry === null) this.#begin()
    })
  }

  /** Follows no changes any more. Resolves when nothing more is done with the store. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#changes.follow(null)
    if (this.#retry !== null) clearTimeout(this.#retry)
    await this.#working
  }

  #begin(): void {
    this.#retry = null
    if (this.#isWorking) return
    this.#isWorking = true
    this.#working = this.#work()
  }

  async #work(): Promise<void> {
    try {
      while (!this.#isClosed && (this.#pending.size > 0 || !this.#isCompared)) {
        await this.#endPending()
        if (!this.#isCompared) await this.#compareAll()
      }
      this.#isRefused = false
    } catch (err) {
      const isRefused = err instanceof Refusal
      const message = 'sessions of changed accounts could not be ended; this is tried again'
      if (!isRefused || !this.#isRefused)
        this.#log[isRefused ? 'warn' : 'error']({ err, type: this.#side.type }, message)
      this.#isRefused = isRefused
      if (!this.#isClosed) this.#retry = setTimeout(() => this.#begin(), RETRY).unref()
    }
    this.#isWorking = false
  }

  async #endPending(): Promise<void> {
    for (const [id, change] of this.#pending) {
      if (this.#isClosed) return
      this.#pending.delete(id)
      await this.#end(id, change).catch(fault => {
        if (!this.#pending.has(id)) this.#pending.set(id, change)
        throw fault
      })
    }
  }

  async #compareAll(): Promise<void> {
    await this.#compare(this.#online.users(this.#side.type), id => this.#end(id, null))
    // Also of owners who are not online.
    if (this.#keys !== null)
      await this.#compare(
        this.#keys.ownersOfOthers(id => this.#credentialVersionOf(id)),
        id => this.#endKeys(id),
      )
    if (!this.#isClosed) this.#isCompared = true
  }

  async #compare(users: AsyncIterable<string[]>, end: (id: string) => Promise<void>): Promise<void> {
    for await (const userIds of users) {
      for (let i = 0; i < userIds.length; i += AT_ONCE) {
        // The comparison may take long; a change does not wait for it.
        await this.#endPending()
        if (this.#isClosed) return
        await Promise.all(userIds.slice(i, i + AT_ONCE).map(end))
      }
    }
  }

  /** `change` is the reason for sessions that carry no version; `null` spares them. */
  async #end(id: string, change: AccountChange | null): Promise<void> {
    const changes = this.#changes
    const reasonOf = (record: SessionRecord) => changeOf(record, changes.versionOf(id), change)
    // Another process of the gateway may have read a later state of the accounts, in which a session began.
    await this.#side.kickoutWhere(id, reasonOf, {}, () => changes.refresh())
    if (change !== null) await this.#endKeys(id)
  }

  async #endKeys(id: string): Promise<void> {
    if (this.#keys === null) return
    // Another process of the gateway may have read a later state of the accounts, in which a key was made.
    await this.#changes.refresh()
    await this.#keys.endOthers(id, this.#credentialVersionOf(id))
  }

  #credentialVersionOf(id: string): string | null | undefined {
    const account = this.#changes.accountOf(id)
    return account === null ? null : account.credentialVersion
  }
}

/**
 * Ends the sessions of an account that changed after its password was verified; `false` if it did not. Those who
 * end its sessions may have searched before the new one was stored. A later change finds it.
 */
export async function endIfChanged(
  side: AccountWatchOptions['side'],
  accounts: Pick<AccountSource, 'changes' | 'updates' | 'find' | 'findById'>,
  account: Account,
): Promise<boolean> {
  const { id, version } = account
  const present = await presentVersion(accounts, account)
  if (version === undefined || present === undefined || present === version) return false
  let known = present
  const read = async (): Promise<void> => {
    await accounts.changes?.refresh()
    known = (await presentVersion(accounts, account)) ?? null
  }
  await side.kickoutWhere(id, record => changeOf(record, known, null), {}, read)
  return true
}

/** `null` without an active account; `undefined` if the source does not tell, and the gateway itself changes nothing there. */
async function presentVersion(
  source: Pick<AccountSource, 'changes' | 'updates' | 'find' | 'findById'>,
  account: Account,
): Promise<string | null | undefined> {
  if (source.changes !== undefined) return source.changes.versionOf(account.id)
  if (source.updates === undefined) return undefined
  return (await findActive(source, account))?.version ?? null
}

/** What has changed since a session began; `unknown` for one that carries no version. */
function changeOf({ extra }: SessionRecord, present: string | null, unknown: AccountChange | null) {
  const carried = versionsIn(extra)
  return carried.length === 0 ? unknown : changeSince(carried, present)
}

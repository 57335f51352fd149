import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from '../../base/log/log.ts'
import { Refusal, Unavailable } from '../../base/refusal.ts'
import { ConfigurationError, type Fault } from '../../settings/notation/fault.ts'
import type { Account, AccountChanges, ChangedAccounts } from '../source.ts'
import { type AccountChange, changeBetween } from '../version.ts'
import type { AccountsReader } from './accounts-reader.ts'
import { listMissing } from './document.ts'
import {
  ABSENT,
  accountsIn,
  activeVersionOf,
  NO_ACCOUNTS,
  type ReadAccounts,
  readAccounts,
  stateOf,
  textIfAny,
} from './read-accounts.ts'
import { MAX_LOOKS, SETTLED } from './settled-text.ts'

/** How often the file is checked while its changes are followed, in milliseconds. Mounted files announce nothing. */
const POLL = 250
/** The state of a file that another program has replaced before this process read what it had written itself. */
const OVERTAKEN = 'overtaken'

/** Faults in one line of the log. A program that writes the file may do the same thing wrong in all accounts. */
const MAX_LOGGED = 20

const FILE_FAULT = 'the accounts file has faults'
const UNREADABLE = 'the accounts file cannot be read'
const FILE_REMOVED = 'the accounts file was removed'

/**
 * The accounts of a file that others write. It is read when two looks have found it unchanged for `SETTLED`, so that a file
 * that an editor writes in place is not read half-way; a program that pauses for longer within a file can defeat this. A
 * state with faults is logged once, and the accounts stay as they were. A file without a list has faults, too: that is how one
 * looks which is being written, or whose disk was full; `accounts: []` empties it. A file that is missing from the start has no
 * accounts, unless other processes of the gateway have had it (`wasThere`); one that was removed is unavailable. Neither ends a
 * session.
 */
export class FollowedFile implements AccountChanges {
  readonly #path: string
  readonly #reader: AccountsReader
  readonly #log: Pick<Logger, 'error' | 'info'>
  readonly #wasThere: boolean
  /** The accounts of the last state without faults. */
  #accounts: ReadAccounts | null = null
  /** The last state that was read. */
  #seen: string | null = null
  /** What this process has written to the file and not read yet. */
  #own: string | null = null
  #updating: Promise<void> | null = null
  #changed: ChangedAccounts | null = null
  /** What is wrong with the last state. */
  #warning: string | null = null
  #isUnreadable = false
  #timer: NodeJS.Timeout | null = null

  constructor(path: string, reader: AccountsReader, log: Pick<Logger, 'error' | 'info'>, wasThere = false) {
    this.#path = path
    this.#reader = reader
    this.#log = log
    this.#wasThere = wasThere
  }

  /**
   * This process has just replaced the file by this text. It is whole, so it is read without waiting; and its accounts stay
   * if another program has replaced it by a faulty file before it is read.
   */
  written(text: string): void {
    this.#own = text
  }

  /** The accounts, read again if the file has changed. `Unavailable` without a valid state, and while the file is removed. */
  async current(): Promise<ReadAccounts> {
    // A reading that began before this question may be older.
    await this.#updating
    if ((await this.#state()) !== this.#seen) {
      this.#updating ??= this.#update().finally(() => {
        this.#updating = null
      })
      await this.#updating
    }
    if (this.#seen !== ABSENT && this.#accounts !== null) return this.#accounts
    if (this.#seen === ABSENT && this.#accounts === null && this.#warning === null) return NO_ACCOUNTS
    throw new Unavailable(this.#seen === ABSENT ? `${this.#path} was removed` : `${this.#path} has faults`)
  }

  async refresh(): Promise<void> {
    try {
      await this.current()
    } catch (fault) {
      // A login meanwhile is refused; the fault of the file is logged where it is found.
      if (!(fault instanceof Refusal)) throw fault
    }
  }

  get highestCost(): number {
    return (this.#accounts ?? NO_ACCOUNTS).highestCost
  }

  versionOf(id: string): string | null {
    return activeVersionOf(this.#accounts?.shown.get(id))
  }

  accountOf(id: string): Account | null {
    return this.#accounts?.shown.get(id) ?? null
  }

  secondFactors(): number {
    return this.#accounts?.secondFactors ?? 0
  }

  warnings(): readonly string[] {
    const unreadable = this.#isUnreadable ? [UNREADABLE] : []
    return this.#warning === null ? unreadable : [...unreadable, this.#warning]
  }

  follow(changed: ChangedAccounts | null): void {
    this.#changed = changed
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = changed === null ? null : setInterval(() => void this.refresh(), POLL).unref()
    if (changed !== null && this.#accounts !== null) changed(null)
  }

  async #state(): Promise<string> {
    try {
      const state = await stateOf(this.#path)
      this.#isUnreadable = false
      return state
    } catch (fault) {
      throw this.#unreadable(fault)
    }
  }

  /** Logged once. */
  #unreadable(fault: unknown): Unavailable {
    if (!this.#isUnreadable) this.#log.error({ err: fault, path: this.#path }, UNREADABLE)
    this.#isUnreadable = true
    return new Unavailable(UNREADABLE, fault)
  }

  /** If the file changes all the time, the accounts stay as they are until the next check. */
  async #update(): Promise<void> {
    if (this.#own !== null && (await this.#readOwn(this.#own))) return
    for (let look = 0; look < MAX_LOOKS; look++) {
      const state = await this.#settled()
      if (state === null || state === this.#seen) return
      const own = this.#own
      const read = state === ABSENT ? null : await this.#read()
      if ((await this.#state()) !== state) continue
      // What this process wrote before is in this state, or was replaced: read later, it would bring back old accounts.
      if (this.#own === own) this.#own = null
      return read === null ? this.#setAbsent() : this.#accept(state, read)
    }
  }

  /** `false` if the file has another text by now, which is still to be read. */
  async #readOwn(own: string): Promise<boolean> {
    const state = await this.#state()
    const isThere = (await textIfAny(this.#path).catch(() => null)) === own && (await this.#state()) === state
    this.#accept(isThere ? state : OVERTAKEN, accountsIn(await this.#reader.read(own)))
    if (this.#own === own) this.#own = null
    return isThere
  }

  /** The state of the file once it is not being written; `null` if it always is. */
  async #settled(): Promise<string | null> {
    let before = await this.#state()
    for (let look = 0; look < MAX_LOOKS; look++) {
      await pause(SETTLED)
      const state = await this.#state()
      if (state === before) return state
      before = state
    }
    return null
  }

  async #read(): Promise<ReadAccounts | readonly Fault[]> {
    try {
      const read = await readAccounts(this.#path, this.#reader)
      // So in a process that has just started, too: it would end the sessions and keys of all accounts.
      return read.hasList ? read : [listMissing(this.#path)]
    } catch (fault) {
      if (fault instanceof ConfigurationError) return fault.faults
      throw this.#unreadable(fault)
    }
  }

  #setAbsent(): void {
    if (this.#seen !== null || this.#wasThere)
      this.#warn(`${FILE_REMOVED}; no login is possible until it is there again`)
    this.#seen = ABSENT
  }

  #accept(state: string, read: ReadAccounts | readonly Fault[]): void {
    this.#seen = state
    if (!('byId' in read)) {
      const consequence =
        this.#accounts === null
          ? 'no login is possible until it is corrected'
          : 'the accounts of its last valid version stay'
      this.#warn(`${FILE_FAULT}; ${consequence}`, read)
      return
    }
    this.#warning = null
    const before = this.#accounts
    this.#accounts = read
    if (before === null) {
      this.#changed?.(null)
      return
    }
    const changed = changesBetween(before, read)
    this.#log.info(
      { path: this.#path, accounts: read.byId.size, changed: changed.size },
      'the accounts were read again',
    )
    if (changed.size > 0) this.#changed?.(changed)
  }

  /** Logs what is wrong with a new state, and keeps it for `warnings`. */
  #warn(warning: string, faults?: readonly Fault[]): void {
    const more = (faults?.length ?? 0) - MAX_LOGGED
    const logged = { ...(faults !== undefined && { faults: faults.slice(0, MAX_LOGGED) }), ...(more > 0 && { more }) }
    this.#log.error({ path: this.#path, ...logged }, warning)
    this.#warning = warning
  }
}

function changesBetween(before: ReadAccounts, now: ReadAccounts): Map<string, AccountChange> {
  const changed = new Map<string, AccountChange>()
  for (const [id, account] of before.shown) {
    const version = activeVersionOf(account)
    const present = now.shown.get(id)
    const change =
      version === null ? inactiveChange(account, present) : changeBetween(version, activeVersionOf(present))
    if (change !== null) changed.set(id, change)
  }
  return changed
}

/** An account that is not ACTIVE has no session, and keys that are valid again once it is. */
const inactiveChange = (account: Account, present: Account | undefined): AccountChange | null =>
  present?.credentialVersion === account.credentialVersion ? null : 'account-changed'

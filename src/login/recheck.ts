import type { Account, AccountSource } from '../account/source.ts'
import { type AccountChange, hasLostFactor, samePassword, versionsIn } from '../account/version.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log/log.ts'
import { Refusal } from '../base/refusal.ts'
import type { Meter } from '../metrics/meter.ts'
import { type Extra, type SessionRecord, textsOf } from '../session/record.ts'
import type { LoginType } from '../session/sides.ts'
import type { Session, Side } from '../side/side.ts'
import { isYoung } from '../token/jwt.ts'

/** Users whose last question is remembered; beyond it the one that was asked about first is asked about again. */
const MAX_REMEMBERED = 100_000
/** Questions of this process at the same time: logins need the source, too. What comes meanwhile is asked at a later use. */
const AT_ONCE = 2

type RecheckResult = 'unchanged' | 'ended' | 'failed'

/** Counts the questions about accounts of a side. */
export type RecheckCounter = (side: LoginType, result: RecheckResult) => void

export function countRechecks(meter: Meter): RecheckCounter {
  const rechecks = meter.counter({
    name: 'dualgate_account_rechecks_total',
    help: 'Questions about the account of a session in use: unchanged, ended or failed',
    labelNames: ['side', 'result'],
  })
  return (side, result) => rechecks.inc({ side, result })
}

export interface RecheckOptions {
  side: Pick<Side, 'type' | 'kickoutWhere'>
  accounts: Pick<AccountSource, 'find' | 'endsWithRoles'>
  /** How often a source is asked about a user at most, in milliseconds. */
  interval: number
  clock: Clock
  log: Logger
  rechecked: RecheckCounter
}

export type Recheck = ReturnType<typeof createRecheck>

/**
 * Asks the source again for the account of a session in use, at most once in `interval` for each user and worker. If the
 * account is gone, all sessions of the user end but those that ask by another name, because the user may have been renamed; if it
 * is not ACTIVE, all do; if it has another password, those that carry an older one; if it has lost or replaced a second factor,
 * those that carry that one; with `endsWithRoles`, those that have a role which it has lost. A request never waits for the answer:
 * it is answered by the session's record, and the sessions end when the answer arrives. A source that fails ends nothing, and is
 * asked again after the interval. Sessions that carry no version, from earlier versions or through the operations, ask nothing.
 */
export function createRecheck({ side, accounts, interval, clock, log, rechecked }: RecheckOptions) {
  const asked = new Map<string, number>()
  const underWay = new Set<Promise<void>>()
  let isClosed = false
  let isFailing = false

  function remember(userId: string, now: number): void {
    asked.delete(userId)
    const [first] = asked.size >= MAX_REMEMBERED ? asked.keys() : []
    if (first !== undefined) asked.delete(first)
    asked.set(userId, now)
  }

  async function compare(record: SessionRecord, username: string): Promise<RecheckResult> {
    let present: Account | null = null
    const read = async (): Promise<void> => {
      const found = await accounts.find(username)
      present = found?.id === record.user_id ? found : null
    }
    await read()
    const reasonOf = (used: SessionRecord) =>
      present === null ? goneFor(used, username) : changeOf(used, present, accounts.endsWithRoles === true)
    const ended = await side.kickoutWhere(record.user_id, reasonOf, {}, read)
    // Those by another name have not been judged.
    if (present === null) asked.delete(record.user_id)
    return ended > 0 ? 'ended' : 'unchanged'
  }

  async function ask(record: SessionRecord, username: string): Promise<void> {
    try {
      rechecked(side.type, await compare(record, username))
      isFailing = false
    } catch (err) {
      rechecked(side.type, 'failed')
      const message = 'accounts cannot be checked again; their sessions stay'
      if (!(err instanceof Refusal)) log.error({ err, type: side.type }, message)
      else if (!isFailing) log.warn({ err, type: side.type }, message)
      isFailing = true
    }
  }

  return {
    /** A session was used. */
    used({ claims, record }: Session): void {
      const now = clock.elapsed()
      const askedAt = asked.get(record.user_id)
      if (askedAt === undefined ? isYoung(claims, interval, clock.now()) : now - askedAt < interval) return
      const username = nameOf(record)
      if (underWay.size >= AT_ONCE || isClosed || username === null) return
      remember(record.user_id, now)
      const question = ask(record, username).finally(() => underWay.delete(question))
      underWay.add(question)
    },
    /** Resolves when no question is under way. */
    async close(): Promise<void> {
      isClosed = true
      await Promise.all(underWay)
    },
  }
}

/** The name by which a session asks; `null` for one that asks nothing. */
function nameOf({ extra }: SessionRecord): string | null {
  const { username } = extra
  return typeof username === 'string' && versionsIn(extra).length > 0 ? username : null
}

/** The user has no account of a name. */
function goneFor(record: SessionRecord, username: string): AccountChange | null {
  const name = nameOf(record)
  return name === null || name === username ? 'account-changed' : null
}

/**
 * Other rights than lost roles are not compared: `permissions.source: accounts` has them at once, and ends no session for it.
 * Sessions without a version are not of this source.
 */
function changeOf({ extra }: SessionRecord, account: Account, endsWithRoles: boolean): AccountChange | null {
  const { version: present, status } = account
  if (status !== 'ACTIVE' || present === undefined) return 'account-changed'
  const carried = versionsIn(extra)
  if (carried.length === 0) return null
  if (!carried.some(version => samePassword(version, present))) return 'password-changed'
  if (carried.every(version => hasLostFactor(version, present))) return 'account-changed'
  return endsWithRoles && hasLostRole(extra, account.extra) ? 'account-changed' : null
}

function hasLostRole(carried: Extra, present: Extra): boolean {
  const roles = new Set(textsOf(present, 'roles'))
  return textsOf(carried, 'roles').some(role => !roles.has(role))
}

import { type Clock, DAY } from '../../../base/clock.ts'
import type { LoginType } from '../../../session/sides.ts'
import { sideKey } from '../file/members.ts'
import type { Expiries, ExpiringTable } from '../file/table.ts'

const MINUTE = 60_000

/** Eight days after the last login of a day, which comes at most 25 hours after the first. */
const DAY_KEPT = 10 * DAY
const MINUTE_KEPT = DAY + 2 * MINUTE

const DAY_LABEL = /^\d{4}-\d\d-\d\d/

/**
 * One table: side, `d` and a day or `m` and a minute -> the number of logins; each row expires when it is not needed
 * any more.
 */
export class LoginCounters {
  readonly #clock: Clock
  readonly #counts: ExpiringTable

  constructor(expiries: Expiries, clock: Clock) {
    this.#clock = clock
    this.#counts = expiries.table('logins', 'l')
  }

  /** Counts a login, now and on the day that its record names. Within a write. */
  count(type: LoginType, createdAt: string): void {
    const [day] = DAY_LABEL.exec(createdAt) ?? []
    if (day !== undefined) this.#increase(dayKey(type, day), DAY_KEPT)
    this.#increase(minuteKey(type, minuteOf(this.#clock.now())), MINUTE_KEPT)
  }

  on(type: LoginType, day: string): number {
    return this.#read(dayKey(type, day))
  }

  since(type: LoginType, timestamp: number): number {
    const last = minuteOf(this.#clock.now())
    const first = Math.max(minuteOf(timestamp), last - DAY / MINUTE)
    let sum = 0
    for (let minute = first; minute <= last; minute++) sum += this.#read(minuteKey(type, minute))
    return sum
  }

  #read(key: Buffer): number {
    return Number(this.#counts.get(key)?.text ?? 0)
  }

  #increase(key: Buffer, kept: number): void {
    const entry = this.#counts.get(key)
    this.#counts.put(key, String(Number(entry?.text ?? 0) + 1), entry?.expiresAt ?? this.#clock.now() + kept)
  }
}

const minuteOf = (timestamp: number): number => Math.floor(timestamp / MINUTE)
const dayKey = (type: LoginType, day: string): Buffer => sideKey(type, `d${day}`)
const minuteKey = (type: LoginType, minute: number): Buffer => sideKey(type, `m${minute}`)

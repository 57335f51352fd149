import type { LoginType } from '../../src/session/sides.ts'

/*
 * Every request and every operation of a run, and what they must not have come to (P1 to P9 of the store's law). Times
 * are milliseconds of one clock. What was requested and not acknowledged may have happened, at any time since.
 */

/** What ends all sessions of a person. */
export type AccountAct = 'kickout' | 'change of the account' | 'removal of the account' | 'required password change'

/** A request, and when it was acknowledged; `null` while it is not acknowledged. */
export interface Act {
  what: 'login' | 'end' | 'end of all others' | 'password change' | AccountAct
  asked: number
  acked: number | null
  /** The token that an end of all others spares. */
  spared?: string
}

interface KnownToken {
  token: string
  side: LoginType
  user: string
  login: Act & { acked: number }
  ends: Act[]
}

/** How a request ended: passed on, not logged in, or not served. */
export type Outcome = 'passed' | 'refused' | 'failed'

export interface Fault {
  name: string
  began: number
  /** `null` while it lasts. */
  ended: number | null
  /** What failed while it lasted, and until the next. */
  failed: number
  /** What it may lose: everything, or what was acknowledged so shortly before it that no replica has it. */
  loses: 'nothing' | 'recent' | 'everything'
  /** Processes of the gateway die: what they have not written is lost. */
  kills: boolean
  /** What the machine had withheld when the fault ended, in milliseconds. */
  withheld: number
}

/** What a run has come to, in numbers. */
export type Counts = typeof NOTHING

const NOTHING = {
  requests: 0,
  operations: 0,
  failed: 0,
  /** Those of them that failed late, in time that the machine withheld. */
  excused: 0,
  /** Answered once more with what a worker remembered, within the heartbeat. */
  late: 0,
  /** Codes of second factors that were tried with two tickets at once. */
  codes: 0,
  /** Tickets that were tried with several new passwords at once. */
  required: 0,
  /** Changes by the administrator that were answered, and those of them that had to be repeated. */
  changes: 0,
  repeated: 0,
  /** Changes by the command line. */
  commands: 0,
  /** Changes by the editor, and those of them that were lost. */
  saves: 0,
  /** Saves in which the file was empty for too long: the machine stalled the editor. */
  pauses: 0,
  lost: 0,
  /** Logins in the journal at the end. */
  journaled: 0,
}

/**
 * How long after a fault's end something may still fail, in milliseconds. The law of a busy machine: the time that the machine
 * has withheld from this process since then is added, and nothing else. No other violation is excused.
 */
const RECOVERY_LIMIT = 2000
/** Before a fault that loses what is recent. */
const RECENT = 1500

export interface HistoryOptions {
  /** For how long a token of the C side may be remembered by a worker that lost its connection (`session_cache.heartbeat`). */
  heartbeat: number
  /** What the machine has withheld from this process until now, in milliseconds. */
  withheld?: () => number
  /** Longest recovery, in milliseconds; `Infinity` where the machine itself may make something fail at any time. */
  patience?: number
}

export class History {
  readonly violations: string[] = []
  readonly counts = { ...NOTHING }
  readonly faults: Fault[] = []
  readonly #tokens = new Map<string, KnownToken>()
  readonly #kickouts = new Map<string, Act[]>()
  readonly #lastFailure = new Map<Fault, number>()
  readonly #heartbeat: number
  readonly #patience: number
  readonly #withheld: () => number

  constructor({ heartbeat, patience = RECOVERY_LIMIT, withheld = () => 0 }: HistoryOptions) {
    this.#heartbeat = heartbeat
    this.#patience = patience
    this.#withheld = withheld
  }

  now(): number {
    return performance.now()
  }

  beginFault(name: string, loses: Fault['loses'], kills = false): Fault {
    const fault: Fault = { name, began: this.now(), ended: null, failed: 0, loses, kills, withheld: 0 }
    this.faults.push(fault)
    return fault
  }

  endFault(fault: Fault): void {
    fault.ended = this.now()
    fault.withheld = this.#withheld()
  }

  /** Longest time from a fault's end to the last thing that failed because of it, in milliseconds. */
  recoveryOf(fault: Fault): number {
    return this.#lastFailure.get(fault) ?? 0
  }

  loggedIn(token: string, side: LoginType, user: string, asked: number): void {
    this.#tokens.set(token, { token, side, user, login: { what: 'login', asked, acked: this.now() }, ends: [] })
  }

  /** The end of one token is requested. */
  ends(token: string): Act {
    const act: Act = { what: 'end', asked: this.now(), acked: null }
    this.#tokens.get(token)?.ends.push(act)
    return act
  }

  /** The end of all tokens of a user is requested. */
  kicksOut(side: LoginType, user: string, what: AccountAct = 'kickout'): Act {
    return this.#endsAll(side, user, { what, asked: this.now(), acked: null })
  }

  /** The end of all other tokens of its user is requested with a token. */
  endsOthers(spared: string, what: 'end of all others' | 'password change' = 'end of all others'): Act {
    const { side, user } = this.#tokens.get(spared)!
    return this.#endsAll(side, user, { what, asked: this.now(), acked: null, spared })
  }

  /** It was refused, and ends nothing. */
  withdraw(act: Act): void {
    for (const [key, acts] of this.#kickouts)
      this.#kickouts.set(
        key,
        acts.filter(other => other !== act),
      )
  }

  #endsAll(side: LoginType, user: string, act: Act): Act {
    const key = `${side} ${user}`
    this.#kickouts.set(key, [...(this.#kickouts.get(key) ?? []), act])
    return act
  }

  /** Whether a fault may have lost what was acknowledged then. */
  mayBeLost(acked: number): boolean {
    return this.faults.some(({ began, ended, loses }) => {
      if (loses === 'nothing' || acked > (ended ?? Number.POSITIVE_INFINITY)) return false
      return loses === 'everything' || acked > began - RECENT
    })
  }

  /**
   * Whether a process of the gateway was killed while this was under way, or so soon after that it had not written what it
   * knew. The process may have answered and died before the answer was read here.
   */
  wasKilled({ began, acked }: { began: number; acked: number }, unwritten: number): boolean {
    return this.faults.some(
      ({ kills, ...fault }) =>
        kills && acked > fault.began - unwritten && began < (fault.ended ?? Number.POSITIVE_INFINITY),
    )
  }

  /** Judges an answer that came now to a request that was sent then. */
  answered(token: string, sent: number, outcome: Outcome): void {
    this.counts.requests++
    const known = this.#tokens.get(token)
    if (outcome === 'failed') this.failed('a request', sent)
    else if (known === undefined) {
      if (outcome === 'passed') this.violations.push('a token that was never issued was accepted')
    } else if (outcome === 'passed') this.#judgePassed(known, sent)
    else this.#judgeRefused(known)
  }

  #judgePassed(known: KnownToken, sent: number): void {
    for (const { what, acked } of this.#endsOf(known, 'surely')) {
      if (acked === null || acked >= sent) continue
      const after = Math.round(sent - acked)
      // A worker that cannot hear that the session ended serves it for a heartbeat more.
      if (known.side === 'CONSUMER' && after <= this.#heartbeat) this.counts.late++
      else {
        const age = Math.round(acked - known.login.acked)
        const passed = `a ${known.side} token was passed on ${after} ms after its ${what} was acknowledged (${age} ms old)`
        this.violations.push(`${passed}${this.placeOf(sent)}`)
      }
    }
  }

  /** How long before or after a fault a timestamp lies. */
  placeOf(timestamp: number): string {
    const fault = this.faults.findLast(({ began }) => began <= timestamp + RECENT)
    return fault === undefined
      ? ''
      : `, ${Math.round(timestamp - fault.began)} ms after the beginning of: ${fault.name}`
  }

  #judgeRefused(known: KnownToken): void {
    if (this.#endsOf(known, 'perhaps').length > 0 || this.mayBeLost(known.login.acked)) return
    const age = Math.round(this.now() - known.login.acked)
    const refused = `a ${known.side} token of ${known.user} was refused as not logged in, ${age} ms after its login`
    this.violations.push(`${refused}${this.placeOf(this.now())}`)
  }

  /**
   * What ended a token: kickouts surely end what was acknowledged before them, and perhaps what overlaps them. An end of all
   * others does the same, but never ends the token that it spares.
   */
  #endsOf({ token, side, user, login, ends }: KnownToken, how: 'surely' | 'perhaps'): Act[] {
    const kickouts = (this.#kickouts.get(`${side} ${user}`) ?? []).filter(({ asked, acked, spared }) => {
      if (spared === token) return false
      return how === 'surely' ? login.acked < asked : login.asked < (acked ?? Number.POSITIVE_INFINITY)
    })
    return [...ends, ...kickouts]
  }

  /** A request of that time failed: there must be a fault now, or just before. */
  failed(what: string, sent: number): void {
    this.counts.failed++
    const fault = this.faults.at(-1)
    if (fault === undefined) {
      if (this.#patience < Number.POSITIVE_INFINITY) this.violations.push(`${what} failed, and there was no fault yet`)
      return
    }
    fault.failed++
    if (fault.ended === null || sent <= fault.ended) return
    const after = sent - fault.ended
    this.#lastFailure.set(fault, Math.max(after, this.recoveryOf(fault)))
    if (after <= this.#patience) return
    const withheld = this.#withheld() - fault.withheld
    if (after <= this.#patience + withheld) {
      this.counts.excused++
      return
    }
    const when = `${Math.round(after)} ms after the end of: ${fault.name}`
    this.violations.push(`${what} failed ${when} (the machine withheld ${Math.round(withheld)} ms)`)
  }

  violated(what: string): void {
    this.violations.push(what)
  }

  /** `null` for a token that was never given out. */
  sideOf(token: string): LoginType | null {
    return this.#tokens.get(token)?.side ?? null
  }

  userOf(token: string): string {
    return this.#tokens.get(token)!.user
  }

  get known(): Iterable<[string, { side: LoginType; user: string }]> {
    return this.#tokens
  }
}

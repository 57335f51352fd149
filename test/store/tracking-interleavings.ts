import type { Store } from '../../src/store/store.ts'
import { random } from '../support/random.ts'

/*
 * Requests at the end of their session: many sessions at once, each requested in every turn of the event loop, and
 * ended at a moment of chance.
 */

/** What the gateway promises: milliseconds after the end of a session was acknowledged to whoever ended it. */
export const PROMISE = 5

/** Milliseconds on a clock that all processes of the machine share. */
export const sharedNow = (): number => Number(process.hrtime.bigint()) / 1e6

/** How a session is ended, by another gateway or with redis-cli, and how often. */
const WAYS = { remove: 0.2, removeAll: 0.05, 'renew-remove': 0.05, DEL: 0.3, UNLINK: 0.2, SET: 0.1, PEXPIRE: 0.1 }
export type Way = keyof typeof WAYS

function anyWay(): Way {
  let chance = random()
  for (const [way, share] of Object.entries(WAYS)) {
    chance -= share
    if (chance < 0) return way as Way
  }
  return 'DEL'
}

export interface Session {
  token: string
  userId: string
}

export interface Actors {
  /** Serves the requests. */
  serving: Store
  create(): Promise<Session>
  /** Ends a session and answers when that was acknowledged. */
  end(session: Session, way: Way): Promise<number>
}

export interface Outcome {
  interleavings: number
  /** Those in which a request was answered from memory before the session ended; else nothing was to be seen. */
  remembered: number
  /** Milliseconds from the acknowledged end to the last request that was served from memory; negative: never after it. */
  lateness: number[]
  /**
   * The same, to the last look at the sockets before that request: without what the machine took the processor away for
   * between the look and the request.
   */
  latenessOfLook: number[]
  /** When that look was: sessions that one stall of Redis has kept alive share it. */
  looks: number[]
  /** Requests that Redis itself answered with a session, asked after its end was acknowledged. */
  revived: number
  /** The longest time that the machine took the processor away from this busy process, and so perhaps from Redis. */
  stolen: number
}

const AT_ONCE = 50
/** A session that is served so long after its end will be for ever. */
const HOPELESS = 2000
/** How often the end is checked again after the first request without a session. */
const SECOND_LOOK = 0.2

export async function interleave(actors: Actors, count: number): Promise<Outcome> {
  const outcome: Outcome = {
    interleavings: 0,
    remembered: 0,
    lateness: [],
    latenessOfLook: [],
    looks: [],
    revived: 0,
    stolen: 0,
  }
  const turns = new Turns()
  let started = 0
  const lane = async (): Promise<void> => {
    while (started < count) {
      started++
      await oneSession(actors, turns, outcome)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  outcome.stolen = turns.stolen
  return outcome
}

/** Lets every lane act once in each turn, and knows when the sockets were last polled. */
class Turns {
  /** Everything that had arrived by then was processed before this turn began. */
  looked = sharedNow()
  stolen = 0
  #waiting: (() => void)[] = []
  #ended = this.looked
  #worked = process.cpuUsage()
  #isBusy = false

  next(): Promise<void> {
    return new Promise(resolve => {
      if (this.#waiting.push(resolve) === 1) setImmediate(() => this.#take())
    })
  }

  #take(): void {
    this.#measure()
    const waiting = this.#waiting
    this.#waiting = []
    this.looked = this.#ended
    for (const resolve of waiting) resolve()
    // After all that these do at once.
    queueMicrotask(() => {
      this.#ended = sharedNow()
      this.#worked = process.cpuUsage()
      this.#isBusy = this.#waiting.length > 0
    })
  }

  #measure(): void {
    // Without a next turn it may have waited for Redis.
    if (!this.#isBusy) return
    const took = sharedNow() - this.#ended
    // To ask for the processor time takes longer than most turns.
    if (took <= this.stolen) return
    const { user, system } = process.cpuUsage(this.#worked)
    this.stolen = Math.max(this.stolen, took - (user + system) / 1000)
  }
}

async function oneSession({ serving, create, end }: Actors, turns: Turns, outcome: Outcome): Promise<void> {
  const session = await create()
  const way = anyWay()
  let turnsToLive = Math.floor(random() * 12)
  let endedAt = Number.POSITIVE_INFINITY
  let lastServed = Number.NEGATIVE_INFINITY
  let lastLook = Number.NEGATIVE_INFINITY
  let refusals = random() < SECOND_LOOK ? -1 : 0
  let asking = 0
  // Mostly one question at a time, sometimes two.
  const mostAsking = random() < 0.2 ? 2 : 1

  const request = (): void => {
    const at = sharedNow()
    const found = serving.sessions.find('CONSUMER', session.token)
    if (found instanceof Promise) {
      asking++
      void found.then(record => {
        asking--
        if (at <= endedAt) return
        if (record === null) refusals++
        else outcome.revived++
      })
      return
    }
    lastServed = at
    lastLook = turns.looked
  }

  while (refusals < 1 && sharedNow() - endedAt < HOPELESS) {
    if (turnsToLive-- === 0) {
      void end(session, way).then(at => {
        endedAt = at
      })
    }
    if (asking < mostAsking) request()
    await turns.next()
  }
  outcome.interleavings++
  if (lastServed === Number.NEGATIVE_INFINITY) return
  outcome.remembered++
  outcome.lateness.push(lastServed - endedAt)
  outcome.latenessOfLook.push(lastLook - endedAt)
  outcome.looks.push(lastLook)
}

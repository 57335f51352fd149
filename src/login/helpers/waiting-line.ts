import { Refusal } from '../../base/refusal.ts'

/** How a task stands in line. */
export interface Place<K extends string> {
  kind: K
  /** The kind of the task that follows this one for the same client: its time counts, too. */
  leadsTo?: K
  /** A task that continues admitted work is never refused, and goes before those that begin. */
  continues?: boolean
}

/** Runs a task when its turn comes. Refuses with `BUSY` at once if the task would wait too long. */
export type Line<K extends string> = <T>(place: Place<K>, work: () => Promise<T>) => Promise<T>

export interface LineOptions<K extends string> {
  /** Tasks that run at a time. */
  atOnce: number
  /** The longest wait of a task that is admitted, in milliseconds. */
  maxWait: number
  /** Milliseconds that a task of each kind takes, until they have been measured. */
  durations: Readonly<Record<K, number>>
  /** A monotonic time in milliseconds. */
  now(): number
}

/** The share of the newest measurement in the average. */
const NEWEST = 0.125

interface Waiting<K extends string> {
  place: Place<K>
  start(): void
}

/** First come, first served. The expected wait is computed from the tasks in line and the measured duration of each kind. */
export function createLine<K extends string>(options: LineOptions<K>): Line<K> {
  const { atOnce, maxWait, now } = options
  const durations: Record<K, number> = { ...options.durations }
  const continuing: Waiting<K>[] = []
  const beginning: Waiting<K>[] = []
  const running = new Set<Place<K>>()

  const durationOf = ({ kind, leadsTo }: Place<K>): number =>
    durations[kind] + (leadsTo === undefined ? 0 : durations[leadsTo])

  function expectedWait(): number {
    const ahead = [...running, ...[...continuing, ...beginning].map(({ place }) => place)]
    return ahead.reduce((sum, place) => sum + durationOf(place), 0) / atOnce
  }

  async function begin(place: Place<K>): Promise<void> {
    if (running.size < atOnce) {
      running.add(place)
      return
    }
    const wait = place.continues ? 0 : expectedWait()
    if (wait > maxWait) throw new Refusal('BUSY', { retryAfter: Math.ceil(wait / 1000) })
    const queue = place.continues ? continuing : beginning
    await new Promise<void>(start => queue.push({ place, start }))
  }

  /** A finished task passes its turn on directly, so a newcomer cannot take it. */
  function end(place: Place<K>): void {
    running.delete(place)
    const next = continuing.shift() ?? beginning.shift()
    if (next === undefined) return
    running.add(next.place)
    next.start()
  }

  return async (given, work) => {
    const place = { ...given }
    await begin(place)
    const since = now()
    try {
      const result = await work()
      durations[place.kind] += NEWEST * (now() - since - durations[place.kind])
      return result
    } finally {
      end(place)
    }
  }
}

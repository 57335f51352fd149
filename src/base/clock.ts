/** The only place that reads the time. Timestamps are milliseconds since the Unix epoch, lifetimes are milliseconds too. */
export interface Clock {
  now(): number
}

/** A day of 24 hours, in milliseconds. */
export const DAY = 86_400_000

export const systemClock: Clock = { now: () => Date.now() }

/** Whole seconds from `now` until `timestamp`, rounded up, so that a new lifetime reads as it was written. */
export const secondsUntil = (timestamp: number, now: number): number => Math.ceil((timestamp - now) / 1000)

/** The time, in milliseconds. Steps of the system's clock, in either direction, change what `now` says, and not what `elapsed` says. */
export interface Clock {
  /** Since the Unix epoch: for timestamps and whatever ends at one. */
  now(): number
  /** Since the start of the process: for how long something may be used, or has taken, here. */
  elapsed(): number
}

/** A day of 24 hours, in milliseconds. */
export const DAY = 86_400_000

export const systemClock: Clock = { now: () => Date.now(), elapsed: () => performance.now() }

/**
 * Whether something ends later than it can, if it was to last `longest` milliseconds at most: the clock was set back since, and it
 * would last for as much longer.
 */
export const endsTooLate = (endsAt: number, longest: number, now: number): boolean => endsAt - now > longest

/** Whole seconds from `now` until `timestamp`, rounded up, so that a new lifetime reads as it was written. */
export const secondsUntil = (timestamp: number, now: number): number => Math.ceil((timestamp - now) / 1000)

/** The only place that reads the time. Moments are milliseconds since the Unix epoch, lifetimes are milliseconds too. */
export interface Clock {
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** Whole seconds from `now` until `moment`, rounded up so that a lifetime just given reads as it was given. */
export const secondsUntil = (timestamp: number, now: number): number => Math.ceil((timestamp - now) / 1000)

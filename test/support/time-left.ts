/** Whether a time that an answer names in seconds is what is left of a whole one, to the second, so many milliseconds after it began. */
export const isLeftOf = (whole: number, seconds: number, elapsed: number): boolean =>
  seconds <= whole && seconds >= whole - 1 - Math.ceil(elapsed / 1000)

/**
 * The same for the session of a user: its end is never named too late, but too early by the time that Redis takes to answer, which
 * is part of what has elapsed.
 */
export const isLeftOfSession = (whole: number, seconds: number, elapsed: number): boolean =>
  isLeftOf(whole, seconds, 2 * elapsed)

/** Whole seconds until an end, as answers name them. */
export const secondsUntil = (end: number, now: number): number => Math.floor((end - now) / 1000)

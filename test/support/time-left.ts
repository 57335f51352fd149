/** Whether a time that an answer names in seconds is what is left of a whole one, to the second, so many milliseconds after it began. */
export const isLeftOf = (whole: number, seconds: number, elapsed: number): boolean =>
  seconds <= whole && seconds >= whole - 1 - Math.ceil(elapsed / 1000)

/** Whole seconds until an end, as answers name them. */
export const secondsUntil = (end: number, now: number): number => Math.floor((end - now) / 1000)

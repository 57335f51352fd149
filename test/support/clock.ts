import { type Clock, systemClock } from '../../src/base/clock.ts'

/** A clock that says what `now` does; nothing sets it back. */
export const clockOf = (now: () => number): Clock => ({ now, elapsed: now })

interface TestClock extends Clock {
  /** So many milliseconds was the time of day set back. */
  setBack: number
}

/** A clock that stands still until the test moves it. */
export function createTestClock(time = 0): TestClock & { time: number } {
  const clock = { time, setBack: 0, now: () => clock.time - clock.setBack, elapsed: () => clock.time }
  return clock
}

/** A clock that goes on by itself, so many milliseconds ahead of the system's. */
export function createClockAhead(): TestClock & { ahead: number } {
  const clock = {
    ahead: 0,
    setBack: 0,
    now: () => systemClock.now() + clock.ahead - clock.setBack,
    elapsed: () => systemClock.elapsed() + clock.ahead,
  }
  return clock
}

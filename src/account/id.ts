import { randomInt } from 'node:crypto'
import { type Clock, systemClock } from '../base/clock.ts'

/** Milliseconds: 2010-11-04, the epoch that most snowflake ids count from; ids of today have 19 digits. */
const EPOCH = 1_288_834_974_657n
const RANDOM_BITS = 22

/** A snowflake-style id ("Session token record"): the time in milliseconds and 22 bits, here random ones. */
export function generateAccountId(clock: Clock = systemClock): string {
  const now = BigInt(clock.now())
  // A machine without a clock of its own begins in 1970: an id has digits alone, and no sign.
  const time = now < EPOCH ? now : now - EPOCH
  return String((time << BigInt(RANDOM_BITS)) | BigInt(randomInt(2 ** RANDOM_BITS)))
}

import type { Meter } from '../metrics/meter.ts'
import type { LoginType } from '../session/sides.ts'
import type { WrongKeys } from './lookup.ts'

/** Counts the wrong keys of a side, wherever their failures are counted by address. */
export function countWrongKeys(meter: Meter): (side: LoginType, wrong: WrongKeys) => WrongKeys {
  const counter = meter.counter({
    name: 'dualgate_wrong_keys_total',
    help: 'Wrong keys of programs: unknown, ended, or with another secret',
    labelNames: ['side'],
  })
  return (side, { check, count }) => ({
    check,
    count() {
      counter.inc({ side })
      return count()
    },
  })
}

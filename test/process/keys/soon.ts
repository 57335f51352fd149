import type { Test } from 'tap'
import { until } from '../../support/until.ts'

/** After so many milliseconds, and so many looks, it was not noticed at all. A busy machine takes long for each look. */
const TOO_LATE = { after: 20_000, looks: 20 }

/** Waits until `look` finds what every worker is to notice within a second; what never comes fails long before `until` gives up. */
export async function comesSoon(t: Test, what: string, look: () => boolean | Promise<boolean>): Promise<void> {
  const gaveUp = giveUp()
  let hasCome = false
  await until(async () => {
    hasCome = await look()
    return hasCome || gaveUp()
  })
  t.ok(hasCome, what)
}

/** Tells after each look whether it is time to give up. */
export function giveUp(): () => boolean {
  const began = performance.now()
  let looks = 0
  return () => ++looks > TOO_LATE.looks && performance.now() - began > TOO_LATE.after
}

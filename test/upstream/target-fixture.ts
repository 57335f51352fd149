import type { Test } from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { HttpTarget, type TargetOptions } from '../../src/upstream/targets.ts'
import { PATIENCE } from '../support/until.ts'

/** A target without TLS that is never ejected. It is closed with the test. */
export function openTarget(t: Test, url: string, connections: Partial<TargetOptions['connections']> = {}): HttpTarget {
  const target = new HttpTarget(url, {
    timeouts: { connect: PATIENCE, response: PATIENCE },
    connections: { limit: 100, queue: 100, wait: PATIENCE, idle: 60_000, lifetime: 60_000, ...connections },
    ejection: null,
    tls: {},
    clock: systemClock,
    report() {},
  })
  t.teardown(() => target.close())
  return target
}

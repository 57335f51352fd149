import type { Meter } from '../metrics/meter.ts'
import type { SessionStore } from './store.ts'

/** The measured operations, as named in metrics. */
const VERBS = ['add', 'find', 'remove', 'remove_all', 'renew', 'tokens', 'disable', 'disabled_until'] as const

type Verb = (typeof VERBS)[number]

/** Seconds. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]

/** Called with the duration of an operation and whether it failed. */
type Measure = (verb: Verb, seconds: number, failed: boolean) => void

function createMeasure(meter: Meter): Measure {
  const durations = meter.histogram({
    name: 'dualgate_store_duration_seconds',
    help: 'How long the store took to answer, where it did not answer at once',
    labelNames: ['verb'],
    buckets: BUCKETS,
  })
  const errors = meter.counter({
    name: 'dualgate_store_errors_total',
    help: 'Operations that the store could not do',
    labelNames: ['verb'],
  })
  // A counter that begins with its first failure would hide it from an alert, which needs a rise.
  for (const verb of VERBS) errors.inc({ verb }, 0)
  return (verb, seconds, failed) => {
    durations.observe({ verb }, seconds)
    if (failed) errors.inc({ verb })
  }
}

/** Measures the operations of a session store that return a promise; immediate answers cost nothing extra. */
export function measureSessions(sessions: SessionStore, meter: Meter): SessionStore {
  const measure = createMeasure(meter)
  const timed = <T>(verb: Verb, answer: T): T => {
    if (answer instanceof Promise) {
      // To begin an operation takes microseconds, and the clock is read for those only that take longer.
      const began = performance.now()
      const report = (failed: boolean) => (): void => measure(verb, (performance.now() - began) / 1000, failed)
      answer.then(report(false), report(true))
    }
    return answer
  }
  return {
    find: (type, token) => timed('find', sessions.find(type, token)),
    add: (type, token, record, end) => timed('add', sessions.add(type, token, record, end)),
    remove: (type, userId, token, note) => timed('remove', sessions.remove(type, userId, token, note)),
    removeAll: (type, userId, note) => timed('remove_all', sessions.removeAll(type, userId, note)),
    removeOthers: (type, userId, spared, note) =>
      timed('remove_all', sessions.removeOthers(type, userId, spared, note)),
    renew: (type, userId, token, end) => timed('renew', sessions.renew(type, userId, token, end)),
    tokens: (type, userId, limit) => timed('tokens', sessions.tokens(type, userId, limit)),
    overview: (type, userId) => timed('tokens', sessions.overview(type, userId)),
    replaceRecord: (type, userId, token, record) => sessions.replaceRecord(type, userId, token, record),
    removeSome: (type, userId, tokens, note) => sessions.removeSome(type, userId, tokens, note),
    whyEnded: (type, token) => sessions.whyEnded(type, token),
    batches: (type, userId) => sessions.batches(type, userId),
    count: (type, userId) => sessions.count(type, userId),
    disable: (type, userId, until) => timed('disable', sessions.disable(type, userId, until)),
    disabledUntil: (type, userId) => timed('disabled_until', sessions.disabledUntil(type, userId)),
    untieDisable: (type, userId) => sessions.untieDisable(type, userId),
    tokenExpiresAt: (type, token) => sessions.tokenExpiresAt(type, token),
    sessionExpiresAt: (type, userId) => sessions.sessionExpiresAt(type, userId),
  }
}

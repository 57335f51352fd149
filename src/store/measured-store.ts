import type { Meter } from '../metrics/meter.ts'
import type { CredentialStore } from './credentials.ts'
import type { SessionStore, Store } from './store.ts'

/** The measured operations, as named in metrics: of sessions, and of credentials. */
const VERBS = [
  ...(['add', 'find', 'remove', 'remove_all', 'renew', 'tokens', 'disable', 'disabled_until'] as const),
  ...(['credential_add', 'credential_find', 'credential_remove'] as const),
]

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

/** Measures an answer. */
type Timed = <T>(verb: Verb, answer: T) => T

/** Measures the operations of a store that return a promise; immediate answers cost nothing extra. */
export function measureStore(store: Pick<Store, 'sessions' | 'credentials'>, meter: Meter): typeof store {
  const measure = createMeasure(meter)
  const timed: Timed = (verb, answer) => {
    if (answer instanceof Promise) {
      // To begin an operation takes microseconds, and the clock is read for those only that take longer.
      const began = performance.now()
      const report = (failed: boolean) => (): void => measure(verb, (performance.now() - began) / 1000, failed)
      answer.then(report(false), report(true))
    }
    return answer
  }
  return { sessions: measureSessions(store.sessions, timed), credentials: measureCredentials(store.credentials, timed) }
}

function measureSessions(sessions: SessionStore, timed: Timed): SessionStore {
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
    replaceRecord: (type, userId, token, extraOf) => sessions.replaceRecord(type, userId, token, extraOf),
    removeSome: (type, userId, tokens, note) => sessions.removeSome(type, userId, tokens, note),
    whyEnded: (type, token) => sessions.whyEnded(type, token),
    batches: (type, userId) => sessions.batches(type, userId),
    count: (type, userId) => sessions.count(type, userId),
    disable: (type, userId, until) => timed('disable', sessions.disable(type, userId, until)),
    disabledUntil: (type, userId) => timed('disabled_until', sessions.disabledUntil(type, userId)),
    rememberedDisable: (type, userId) => timed('disabled_until', sessions.rememberedDisable(type, userId)),
    untieDisable: (type, userId) => sessions.untieDisable(type, userId),
    tokenExpiresAt: (type, token) => sessions.tokenExpiresAt(type, token),
    sessionExpiresAt: (type, userId) => sessions.sessionExpiresAt(type, userId),
  }
}

function measureCredentials(credentials: CredentialStore, timed: Timed): CredentialStore {
  return {
    find: (type, id) => timed('credential_find', credentials.find(type, id)),
    add: (type, credential, most) => timed('credential_add', credentials.add(type, credential, most)),
    remove: (type, owner, id) => timed('credential_remove', credentials.remove(type, owner, id)),
    removeAll: (type, owner) => credentials.removeAll(type, owner),
    succeed: (type, owner, id, next, until) => credentials.succeed(type, owner, id, next, until),
    rewrite: (type, id, from, to) => credentials.rewrite(type, id, from, to),
    of: (type, owner) => credentials.of(type, owner),
    page: (type, offset, limit) => credentials.page(type, offset, limit),
    all: type => credentials.all(type),
    used: (type, id, at) => credentials.used(type, id, at),
  }
}

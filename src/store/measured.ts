import type { SessionStore } from './store.ts'

/** The questions that are measured, as metrics name them. */
export type StoreVerb = 'add' | 'find' | 'remove' | 'remove_all' | 'renew' | 'tokens' | 'disable' | 'disabled_until'

/** Told how long a question took, and whether it could not be answered. */
export type Measure = (verb: StoreVerb, seconds: number, failed: boolean) => void

/** A store of sessions whose answers are measured where they take time; those that are there at once cost nothing more. */
export function measureSessions(sessions: SessionStore, measure: Measure): SessionStore {
  const timed = <T>(verb: StoreVerb, ask: () => T): T => {
    const began = performance.now()
    const answer = ask()
    if (answer instanceof Promise) {
      const told = (failed: boolean) => (): void => measure(verb, (performance.now() - began) / 1000, failed)
      answer.then(told(false), told(true))
    }
    return answer
  }
  return {
    find: (type, token) => timed('find', () => sessions.find(type, token)),
    add: (type, token, record, end) => timed('add', () => sessions.add(type, token, record, end)),
    remove: (type, userId, token) => timed('remove', () => sessions.remove(type, userId, token)),
    removeAll: (type, userId) => timed('remove_all', () => sessions.removeAll(type, userId)),
    renew: (type, userId, token, end) => timed('renew', () => sessions.renew(type, userId, token, end)),
    tokens: (type, userId) => timed('tokens', () => sessions.tokens(type, userId)),
    disable: (type, userId, until) => timed('disable', () => sessions.disable(type, userId, until)),
    disabledUntil: (type, userId) => timed('disabled_until', () => sessions.disabledUntil(type, userId)),
    untieDisable: (type, userId) => sessions.untieDisable(type, userId),
    tokenExpiresAt: (type, token) => sessions.tokenExpiresAt(type, token),
    sessionExpiresAt: (type, userId) => sessions.sessionExpiresAt(type, userId),
  }
}

import type { LoginType } from '../../../src/session/sides.ts'
import { createKeys } from '../../../src/store/redis/commands/key-names.ts'
import type { SessionStore } from '../../../src/store/store.ts'
import { record } from '../contract-fixture.ts'

export const PREFIX = 'p'
export const keys = createKeys(PREFIX)

/** Time passes. */
export type Wait = { verb: 'wait'; lifetime: number }

/** What an actor does to the sessions of a store. Lifetimes are milliseconds from the time it is done. */
export type Act =
  | { verb: 'login' | 'renew'; type: LoginType; user: string; token: string; lifetime: number }
  | { verb: 'logout' | 'rewrite' | 'end-others'; type: LoginType; user: string; token: string }
  | { verb: 'disable'; type: LoginType; user: string; lifetime: number }
  | { verb: 'kickout' | 'untie' | 'list'; type: LoginType; user: string }

export type Verbs = Pick<
  SessionStore,
  'add' | 'remove' | 'removeAll' | 'removeOthers' | 'renew' | 'replaceRecord' | 'tokens' | 'disable' | 'untieDisable'
>

export function perform(act: Act, verbs: Verbs, now: number): Promise<unknown> {
  const { verb, type, user } = act
  switch (verb) {
    case 'login':
      return verbs.add(type, act.token, record(type, user), now + act.lifetime)
    case 'renew':
      return verbs.renew(type, user, act.token, now + act.lifetime)
    case 'rewrite':
      return verbs.replaceRecord(type, user, act.token, () => ({ version: 'two' }))
    case 'logout':
      return verbs.remove(type, user, act.token)
    case 'disable':
      return verbs.disable(type, user, now + act.lifetime)
    case 'kickout':
      return verbs.removeAll(type, user)
    case 'end-others':
      return verbs.removeOthers(type, user, act.token)
    case 'untie':
      return verbs.untieDisable(type, user)
    case 'list':
      return verbs.tokens(type, user)
  }
}

export const printAct = (act: Act): string => {
  const { verb, type, user } = act
  const token = 'token' in act ? ` ${act.token}` : ''
  const lifetime = 'lifetime' in act ? ` for ${act.lifetime}` : ''
  return `${verb} ${type}:${user}${token}${lifetime}`
}

import type { LoginType } from '../../../src/session/sides.ts'
import type { Credential, CredentialStore } from '../../../src/store/credentials.ts'

/** Credentials of an owner that count. */
export const MOST = 2

interface Mine {
  type: LoginType
  user: string
}

/** What an actor does to the credentials of a store. Times are milliseconds from the time it is done. */
export type CredentialAct = Mine &
  (
    | { verb: 'add'; id: string; lifetime: number }
    | { verb: 'succeed'; id: string; next: string; lifetime: number; overlap: number }
    | { verb: 'remove' | 'rewrite' | 'find'; id: string }
    | { verb: 'remove-all' | 'list' }
  )

export function performCredentialAct(act: CredentialAct, verbs: CredentialStore, now: number): Promise<unknown> {
  const { type, user } = act
  const made = (id: string, lifetime: number): Credential => ({
    id,
    owner: user,
    text: 'one',
    expiresAt: now + lifetime,
  })
  switch (act.verb) {
    case 'add':
      return verbs.add(type, made(act.id, act.lifetime), MOST)
    case 'succeed':
      return verbs.succeed(type, user, act.id, made(act.next, act.lifetime), now + act.overlap)
    case 'remove':
      return verbs.remove(type, user, act.id)
    case 'rewrite':
      return verbs.rewrite(type, act.id, 'one', 'two')
    case 'find':
      return Promise.resolve(verbs.find(type, act.id))
    case 'remove-all':
      return verbs.removeAll(type, user)
    case 'list':
      return verbs.of(type, user)
  }
}

export function printCredentialAct(act: CredentialAct): string {
  const { verb, type, user } = act
  const of = 'id' in act ? ` ${act.id}` : ''
  const next = 'next' in act ? ` by ${act.next}` : ''
  return `${verb} ${type}:${user}${of}${next}`
}

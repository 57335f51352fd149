import { type AccountKeys, keptKeys } from '../../account/kept-keys.ts'
import type { PasswordPolicy } from '../../account/password-policy.ts'
import { type AccountUpdates, refuseUnwritable } from '../../account/source.ts'
import type { Clock } from '../../base/clock.ts'
import { invalid, Refusal } from '../../base/refusal.ts'
import type { Origin, Publish } from '../../event/event.ts'
import { eventNames } from '../../side/event-names.ts'
import type { Session, Side } from '../../side/side.ts'
import type { Sm2 } from '../sm2/sm2.ts'
import type { CurrentPassword } from './current-password.ts'
import { keepSession } from './keep-session.ts'

/** Both passwords are SM2 ciphertexts in hex. */
export interface PasswordChange {
  current_password: string
  new_password: string
}

/** Sets the password of the user of a session, and ends the other sessions of this user: answers how many there were. */
export type ChangePassword = (session: Session, change: PasswordChange, origin: Origin) => Promise<{ ended: number }>

export interface OwnPasswordOptions {
  side: Pick<Side, 'type' | 'getTokenValuesByLoginId' | 'kickoutWhere' | 'replaceExtra'>
  updates: AccountUpdates
  current: CurrentPassword
  sm2: Pick<Sm2, 'decrypt'>
  policy: PasswordPolicy
  /** `null` where users have none. */
  keys: Pick<AccountKeys, 'keptThrough'> | null
  clock: Clock
  publish: Publish
}

export function createChangePassword(options: OwnPasswordOptions): ChangePassword {
  const { side, updates, current, sm2, policy, keys, clock, publish } = options
  return async (session, { current_password, new_password }, origin) => {
    refuseUnwritable(updates)
    const { account, password: present } = await current.verify(session, current_password, origin)
    const password = await sm2.decrypt(new_password)
    if (password === null) throw invalid('new_password', 'must be encrypted with the public key')
    await policy.check({ username: account.username, password, isInUse: async text => text === present })
    const prepared = await updates.password(account, { password, changedAt: clock.now(), mustChange: false })
    const update = keptKeys(keys, account, prepared)
    // Account watches may end some of them before this request does.
    const others = (await side.getTokenValuesByLoginId(account.id)).filter(token => token !== session.token).length
    if (!(await keepSession(side, session, account, update))) throw new Refusal('WRONG_CREDENTIALS')
    const names = eventNames({ ...account.extra, username: account.username })
    publish({ event: 'password-changed', type: side.type, login_id: account.id, ...names, ...origin })
    const spared = session.token
    const ended = await side.kickoutWhere(
      account.id,
      (_, token) => (token === spared ? null : 'password-changed'),
      origin,
    )
    return { ended: Math.max(others, ended) }
  }
}

import { type Account, type AccountSource, findPerson, type SourceLogin } from '../../account/source.ts'
import { versionsIn } from '../../account/version.ts'
import { Refusal } from '../../base/refusal.ts'
import type { Origin, Publish } from '../../event/event.ts'
import type { SessionRecord } from '../../session/record.ts'
import { eventNames } from '../../side/event-names.ts'
import type { Session, Side } from '../../side/side.ts'
import { publishFailure } from '../protection/failure-event.ts'
import type { Lockout } from '../protection/lockout.ts'
import type { RateLimit } from '../protection/login-rate-limit.ts'
import { refuseInactive } from '../sign-in/login.ts'
import type { Sm2 } from '../sm2/sm2.ts'

export interface CurrentPasswordOptions {
  side: Pick<Side, 'type' | 'checkDisable'>
  accounts: Pick<AccountSource, 'find' | 'verify' | 'changes'>
  sm2: Pick<Sm2, 'decrypt'>
  lockout: Pick<Lockout, 'checkAddress' | 'subject' | 'counted'>
  rateLimit: RateLimit
  publish: Publish
}

export interface CurrentPassword {
  /**
   * The account of a session; `null` without an active one of a person, as for a session that a backend began for a user of its
   * own.
   */
  accountOf(session: Session): Promise<Account | null>
  /**
   * The account of a session and its password, once `ciphertext` has proved to be that password. A wrong one fails as a
   * login does: with the same text, counted in the same lockout. So does a right one that has expired.
   */
  verify(session: Session, ciphertext: string, origin: Origin): Promise<{ account: Account; password: string }>
}

export function createCurrentPassword(options: CurrentPasswordOptions): CurrentPassword {
  const { side, accounts, sm2, lockout, rateLimit, publish } = options

  /** A source that knows its accounts by their ids knows the present name of one that was renamed since the session began. */
  function nameOf({ user_id, extra }: SessionRecord): string | null {
    const { username } = extra
    if (typeof username !== 'string') return null
    const isOfSource = versionsIn(extra).length > 0
    return (isOfSource ? accounts.changes?.accountOf(user_id)?.username : undefined) ?? username
  }

  async function accountOf({ record }: Session, asked?: SourceLogin): Promise<Account | null> {
    const name = nameOf(record)
    const account = name === null ? null : await findPerson(accounts, name, asked)
    return account?.id === record.user_id && account.status === 'ACTIVE' ? account : null
  }

  async function verify(session: Session, ciphertext: string, origin: Origin) {
    const { user_id: userId } = session.record
    const { address = '' } = origin
    await rateLimit('login', address)
    await lockout.checkAddress(address)
    // Guesses lock the name also at the login, and a disabled user changes nothing.
    await side.checkDisable(userId)
    const asked: SourceLogin = { spent: 0 }
    const account = await accountOf(session, asked)
    const password = await sm2.decrypt(ciphertext)
    // No account has a name with a NUL: a user without an account counts against none.
    const subject = lockout.subject(account?.username ?? `\0${userId}`, userId)
    const proved = await lockout.counted(subject, address, origin, async () => {
      const isRight = await accounts.verify(account, password, asked)
      return isRight && account !== null && password !== null ? { account, password } : null
    })
    refuseInactive(proved.account)
    return proved
  }

  return {
    accountOf: session => accountOf(session),
    async verify(session, ciphertext, origin) {
      try {
        return await verify(session, ciphertext, origin)
      } catch (fault) {
        if (fault instanceof Refusal) {
          const { user_id: login_id, extra } = session.record
          publishFailure(publish, fault, { type: side.type, login_id, ...eventNames(extra), ...origin })
        }
        throw fault
      }
    },
  }
}

import type { Account, AccountSource } from '../../account/source.ts'
import { ACCOUNT_VERSION } from '../../account/version.ts'
import type { Logger } from '../../base/log/log.ts'
import { Refusal } from '../../base/refusal.ts'
import { type Extra, faultOfExtra } from '../../session/record.ts'
import type { LoginType } from '../../session/sides.ts'
import type { Side } from '../../side/side.ts'
import { endIfChanged } from '../account-changes.ts'
import type { Attempt, Device } from './attempt.ts'

/** Begins the session of an account that has proven everything that its login demands. */
export type Begin = (account: Account, device: Device, attempt: Attempt) => Promise<{ token: string }>

/** In the `extra` of a session: wrong codes of the second factor that were entered before its login. */
export const WRONG_CODES = 'wrong_codes'

export interface BeginOptions {
  side: Pick<Side, 'type' | 'login' | 'kickoutWhere'>
  accounts: Pick<AccountSource, 'changes' | 'updates' | 'find'>
  log: Logger
}

export function createBegin({ side, accounts, log }: BeginOptions): Begin {
  return async (account, device, attempt) => {
    warnOfLeftOut(log, side.type, account)
    const token = await side.login(undefined, account.id, extraOf(account, device, attempt), {
      by: account.id,
      by_type: side.type,
      ...attempt.origin,
      ...(attempt.proof !== undefined && { reason: attempt.proof }),
    })
    if (await endIfChanged(side, accounts, account)) {
      attempt.because = 'changed meanwhile'
      throw new Refusal('WRONG_CREDENTIALS')
    }
    return { token }
  }
}

/** Logs which columns of an account are not in its sessions. */
function warnOfLeftOut(log: Logger, type: LoginType, { id, leftOut }: Account): void {
  if (leftOut === undefined) return
  log.warn(
    { type, login_id: id, ...leftOut },
    'the account holds more than a session may: these columns are left out of it',
  )
}

/** The record's `extra` (design: B-side login). */
function extraOf(account: Account, device: Device, { wrongCodes }: Attempt): Extra {
  const extra = {
    ...account.extra,
    username: account.username,
    status: account.status,
    ...device,
    ...(wrongCodes !== undefined && { [WRONG_CODES]: wrongCodes }),
    ...(account.version !== undefined && { [ACCOUNT_VERSION]: account.version }),
  }
  const fault = faultOfExtra(extra)
  // The client cannot correct this: the account source returns more than a record may hold.
  if (fault !== null) throw new Error(`the extra data of account ${account.id} ${fault}`)
  return extra
}

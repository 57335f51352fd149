import { existsSync } from 'node:fs'
import { listAccounts } from '../account/file/source.ts'
import { faultText } from '../base/fault-text.ts'
import { Refusal } from '../base/refusal.ts'
import { isSocket } from '../http/server/private-socket.ts'
import { LOGIN_TYPES, type LoginType } from '../session/sides.ts'
import { ConfigurationError } from '../settings/notation/fault.ts'
import { accountsOf } from '../settings/served.ts'
import { ReloadError } from './running-gateway.ts'

type WithAccounts = Parameters<typeof accountsOf>[0]

/**
 * The accounts file of a first start, which creates it. A reload does not: no user could sign in afterwards. Consumers may have
 * none from the beginning.
 */
export function refuseMissingAccounts(running: WithAccounts, next: WithAccounts): void {
  for (const type of LOGIN_TYPES) {
    const path = accountsFileOf(next, type)
    if (path === null || existsSync(path)) continue
    const before = accountsFileOf(running, type)
    if (path === before && type === 'CONSUMER') continue
    if (path === before)
      throw new ReloadError(
        `the accounts file ${path} was removed; restore it, or add an account, which makes a new one`,
      )
    const stay = before === null ? '' : `; to keep the present accounts, name ${before} there`
    throw new ReloadError(`there is no accounts file ${path}; add an account to it, or correct accounts.path${stay}`)
  }
}

/** The new workers would share a socket that no client reaches: only a start makes it anew. */
export function refuseRemovedSocket({ internal: { socket } }: { internal: { socket?: string } }): void {
  if (socket === undefined || isSocket(socket)) return
  throw new ReloadError(
    `the socket ${socket} was removed, so no client reaches the internal listener; restart the gateway`,
  )
}

/**
 * Accounts files with faults. The running workers keep the accounts of the last version without faults; new ones would not know it,
 * and no user could sign in.
 */
export async function refuseFaultyAccounts(next: WithAccounts): Promise<void> {
  for (const type of LOGIN_TYPES) {
    const path = accountsFileOf(next, type)
    if (path === null) continue
    await listAccounts(path).catch((fault: unknown) => {
      if (fault instanceof ConfigurationError) throw fault
      throw new ReloadError(
        `the accounts file ${path} cannot be read: ${faultText(fault instanceof Refusal ? fault.cause : fault)}`,
      )
    })
  }
}

const accountsFileOf = (settings: WithAccounts, type: LoginType): string | null => {
  const source = accountsOf(settings, type)
  return source !== 'off' && source.kind === 'file' ? source.path : null
}

import { existsSync } from 'node:fs'
import { listAccounts } from '../account/file/source.ts'
import { faultText } from '../base/fault-text.ts'
import { Refusal } from '../base/refusal.ts'
import { isSocket } from '../http/server/private-socket.ts'
import { sealingKey } from '../second-factor/sealed.ts'
import { LOGIN_TYPES, type LoginType } from '../session/sides.ts'
import { ConfigurationError } from '../settings/notation/fault.ts'
import type { Settings } from '../settings/schema/settings.ts'
import { accountsOf, servesSecondFactors } from '../settings/served.ts'
import { placeOf } from '../store/redis/connection/shown-address.ts'
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

/** Where sessions are: another time limit, user or password of Redis is no other store. */
const storeOf = ({ store: { kind, prefix, redis } }: Settings): string =>
  kind === 'redis' && redis !== undefined ? `${prefix} at ${placeOf(redis)}` : kind

/** The key that opens stored second factors; `null` if no user can have one. */
const factorKeyOf = (settings: Settings): string | null =>
  LOGIN_TYPES.some(type => servesSecondFactors(settings, type))
    ? sealingKey(settings.login.second_factor.key, settings.login.sm2.private_key).toString('hex')
    : null

/** What else a changed configuration does to users, in sentences for operators. */
export function consequencesOf(running: Settings, next: Settings): string[] {
  const factorKeys = { running: factorKeyOf(running), next: factorKeyOf(next) }
  const notes: [isSo: boolean, text: string][] = [
    [running.jwt.secret_key !== next.jwt.secret_key, 'jwt.secret_key has changed: every earlier session is refused'],
    [
      running.login.sm2.private_key !== next.login.sm2.private_key,
      'login.sm2.private_key has changed: open sign-in pages get the new public key when they are loaded again',
    ],
    [
      factorKeys.running !== null && factorKeys.next !== null && factorKeys.running !== factorKeys.next,
      'the key of second factors (login.second_factor.key, else made from login.sm2.private_key) has changed: no earlier ' +
        'second factor can be checked; set the previous key again, or reset them',
    ],
    [
      running.internal.secret !== next.internal.secret,
      'internal.secret has changed: services that send the previous one are refused',
    ],
    [storeOf(running) !== storeOf(next), 'store has changed: sessions of another store are not found in this one'],
  ]
  return notes.filter(([isSo]) => isSo).map(([, text]) => text)
}

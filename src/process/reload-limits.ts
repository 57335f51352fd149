import { existsSync } from 'node:fs'
import { LOGIN_TYPES } from '../session/sides.ts'
import type { Settings } from '../settings/schema/settings.ts'
import { accountsOf } from '../settings/served.ts'
import { ReloadError } from './running-gateway.ts'

type WithAccounts = Parameters<typeof accountsOf>[0]

/** The accounts file of a first start, which creates it. A reload does not: no user could sign in afterwards. */
export function refuseMissingAccounts(running: WithAccounts, next: WithAccounts): void {
  for (const type of LOGIN_TYPES) {
    const path = accountsFileOf(next, type)
    if (path === null || path === accountsFileOf(running, type) || existsSync(path)) continue
    const before = accountsFileOf(running, type)
    const stay = before === null ? '' : `; to keep the present accounts, name ${before} there`
    throw new ReloadError(`there is no accounts file ${path}; add an account to it, or correct accounts.path${stay}`)
  }
}

const accountsFileOf = (settings: WithAccounts, type: (typeof LOGIN_TYPES)[number]): string | null => {
  const source = accountsOf(settings, type)
  return source !== 'off' && source.kind === 'file' ? source.path : null
}

/** What else a changed configuration does to users, in sentences for operators. */
export function consequencesOf(running: Settings, next: Settings): string[] {
  const notes: [isSo: boolean, text: string][] = [
    [running.jwt.secret_key !== next.jwt.secret_key, 'jwt.secret_key has changed: every earlier session is refused'],
    [
      running.login.sm2.private_key !== next.login.sm2.private_key,
      'login.sm2.private_key has changed: open sign-in pages get the new public key when they are loaded again',
    ],
    [
      running.internal.secret !== next.internal.secret,
      'internal.secret has changed: services that send the previous one are refused',
    ],
    [
      JSON.stringify(running.store) !== JSON.stringify(next.store),
      'store has changed: sessions of another store are not found in this one',
    ],
  ]
  return notes.filter(([isSo]) => isSo).map(([, text]) => text)
}

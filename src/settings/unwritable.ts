import { faultOfReplacing } from '../base/durable-file.ts'
import { DISK_FULL } from '../base/place-fault.ts'
import { LOGIN_TYPES } from '../session/sides.ts'
import type { Warning } from './notation/written.ts'
import type { DecodedSettings } from './schema/settings.ts'
import { accountsOf } from './served.ts'

/** What it means that the accounts file cannot be written, and what to do; `code` is that of the fault, such as EROFS. */
export function unwritable(code: string): string {
  const remedy = DISK_FULL.has(code)
    ? 'free space on its disk'
    : 'let the user of the gateway write to its folder, or keep the accounts in a database (kind: sql)'
  return `cannot be written (${code}): accounts, passwords and second factors cannot be changed; ${remedy}`
}

/** Warns of accounts files that cannot be written. Without a path: while it runs, the gateway itself finds what changes. */
export function warningsOfUnwritable(settings: DecodedSettings): Warning[] {
  return LOGIN_TYPES.flatMap(type => {
    const source = accountsOf(settings, type)
    const code = source === 'off' || source.kind !== 'file' ? null : faultOfReplacing(source.path)
    return code === null ? [] : [{ path: [], place: (source as { path: string }).path, message: unwritable(code) }]
  })
}

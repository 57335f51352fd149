import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import bcrypt from 'bcrypt'
import { createFileAccounts } from '../../src/account/file/source.ts'

/* Accounts in a file. */

export const HASH = bcrypt.hashSync('correct horse', 4)
export const OTHER_HASH = bcrypt.hashSync('battery staple', 4)
export const FACTOR = 'abcdefghijkl.sealed'
export const entry = (id: string, username: string, rest = ''): string =>
  `  - { id: "${id}", username: ${username}, password: "${HASH}"${rest} }\n`

export const SERVICE = '  - { id: "1", username: robot, service: true }\n'

/** A source on a file in a folder of its own, with what it logged. */
export function open(folder: string, text?: string) {
  const path = join(folder, 'accounts.yaml')
  if (text !== undefined) writeFileSync(path, text)
  const logged: unknown[] = []
  const log = { error: (...line: unknown[]) => void logged.push(line), info: () => undefined }
  const source = createFileAccounts({ kind: 'file', path }, log)
  return { path, logged, log, source, find: (name: string) => source.find(name) }
}

/** Adds an account as an administrator does. */
export const addBy = ({ management }: ReturnType<typeof open>['source']) => {
  const password = { hash: HASH, changedAt: 0, mustChange: false }
  const add = { id: 'b', username: 'b', nickname: 'b', status: 'ACTIVE' as const, roles: [], permissions: [], password }
  return management!.edit(() => ({ edit: { add }, result: null }))
}

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import bcrypt from 'bcrypt'
import { parse, stringify } from 'yaml'

/** The login id and the name of the administrator. */
export const CHIEF = 'chief'
/** Each signs in with the name as the first password. */
export const PERSONS = ['person-one', 'person-two', 'person-three'] as const
/** Its account changes with an editor only. */
export const EDITED = 'person-edited'
/** The text in the permissions of `EDITED` that the editor changes; always as long. */
export const noteOf = (number: number): string => `note:${String(number).padStart(6, '0')}`

export interface FoundPerson {
  id: string
  username: string
  nickname: string
  roles: readonly string[]
  status: string
  hasFactor: boolean
  mustChange: boolean
  hash: string
}

export const fileIn = (folder: string): string => join(folder, 'config/accounts.yaml')

export function writePeople(folder: string): void {
  const accounts = [CHIEF, ...PERSONS, EDITED].map(username => ({
    ...{ id: username, username, nickname: username, status: 'ACTIVE' },
    permissions: username === EDITED ? [noteOf(0)] : [],
    // At the lowest cost: this is a light load.
    password: bcrypt.hashSync(username, 4),
    roles: username === CHIEF ? ['SUPER_ADMIN'] : [],
  }))
  writeFileSync(fileIn(folder), stringify({ accounts }))
}

/** As the file has it now; `null` without such an account. A file that cannot be read throws. */
export function personIn(folder: string, username: string): FoundPerson | null {
  const { accounts } = parse(readFileSync(fileIn(folder), 'utf8')) as { accounts: Record<string, any>[] }
  const found = accounts.find(account => account.username === username)
  if (found === undefined) return null
  const { id, nickname, roles, status, password: hash } = found
  const hasFactor = found.second_factor !== undefined
  return { id, username, nickname, roles, status, hash, hasFactor, mustChange: found.must_change_password === true }
}

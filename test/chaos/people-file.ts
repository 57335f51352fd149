import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import bcrypt from 'bcrypt'
import { parse, stringify } from 'yaml'

/** The login id and the name of the administrator. */
export const CHIEF = 'chief'
/** Each signs in with the name as the first password. */
export const PERSONS = ['person-one', 'person-two', 'person-three'] as const

export interface FoundPerson {
  id: string
  username: string
  nickname: string
  roles: readonly string[]
  status: string
  hasFactor: boolean
  hash: string
}

/** What is known of a person: what was acknowledged last. */
export interface Person extends Omit<FoundPerson, 'hash'> {
  password: string
  /** Of the second factor. */
  secret: string | null
  codes: string[]
  /** Tokens. */
  held: string[]
  /** Every value that was requested, by field: without an acknowledgement it may have been written or not. */
  requested?: Record<string, unknown[]>
}

const fileIn = (folder: string): string => join(folder, 'config/accounts.yaml')

export function writePeople(folder: string): void {
  const accounts = [CHIEF, ...PERSONS].map(username => ({
    ...{ id: username, username, nickname: username, status: 'ACTIVE', permissions: [] },
    // At the lowest cost: this is a light load.
    password: bcrypt.hashSync(username, 4),
    roles: username === CHIEF ? ['SUPER_ADMIN'] : [],
  }))
  writeFileSync(fileIn(folder), stringify({ accounts }))
}

/** As the file has it now; a file that cannot be read throws. */
export function personIn(folder: string, username: string): FoundPerson {
  const { accounts } = parse(readFileSync(fileIn(folder), 'utf8')) as { accounts: Record<string, any>[] }
  const found = accounts.find(account => account.username === username)
  if (found === undefined) throw new Error(`${username} has disappeared from the accounts file`)
  const { id, nickname, roles, status, password: hash } = found
  return { id, username, nickname, roles, status, hash, hasFactor: found.second_factor !== undefined }
}

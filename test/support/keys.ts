import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import bcrypt from 'bcrypt'
import { parse, stringify } from 'yaml'
import { crc32 } from '../../src/workarounds/node-crc32.ts'
import type { Call } from './client.ts'
import { ADMIN, type Fixture, sm2KeyPath, someone } from './gateway-fixture.ts'
import { encrypt } from './login-work.ts'
import { until } from './until.ts'

/** Of each user that `addUser` adds. */
export const PASSWORD = 'correct horse 2'
export const HASH = bcrypt.hashSync(PASSWORD, 4)

export interface WrittenAccount {
  id: string
  username: string
  [field: string]: unknown
}

/** Changes the accounts file as an editor does. */
export function editAccounts(fixture: Fixture, change: (accounts: WrittenAccount[]) => WrittenAccount[]): void {
  const file = join(fixture.folder, 'accounts.yaml')
  const { accounts } = parse(readFileSync(file, 'utf8'))
  writeFileSync(file, stringify({ accounts: change(accounts) }))
}

/** A user of the accounts file who is signed in. */
export async function addUser(
  fixture: Fixture,
  fields: Record<string, unknown> = {},
): Promise<{ id: string; token: string }> {
  const id = someone()
  editAccounts(fixture, accounts => [...accounts, { id, username: id, password: HASH, ...fields }])
  let token = ''
  await until(async () => {
    const answer = await fixture.post('/api/v1/public/b/login', await fixture.credentials(id, PASSWORD))
    token = answer.json().data?.token ?? ''
    return token !== ''
  })
  return { id, token }
}

/** A password as clients send it. */
export async function encrypted(fixture: Fixture, password = ADMIN.password): Promise<string> {
  return encrypt(password, (await fixture.get(sm2KeyPath(fixture.profile))).json().data)
}

export interface MadeKey {
  id: string
  key: string
  expires_at: string
}

/** Makes a key of one's own, as a page does. */
export async function makeOwnKey(
  fixture: Fixture,
  token: string,
  fields: Record<string, unknown> = {},
  password = ADMIN.password,
): Promise<MadeKey> {
  const current_password = await encrypted(fixture, password)
  const answer = await fixture.post(
    '/api/v1/b/account/keys/add',
    { name: 'nightly report', current_password, ...fields },
    token,
  )
  const { code, data, message } = answer.json()
  if (code !== 200) throw new Error(`no key was made: ${message}`)
  return data
}

/** The request for an access token of the B side. */
export const grantFor = ({ id, key }: Pick<MadeKey, 'id' | 'key'>): Call => ({
  method: 'POST',
  path: '/api/v1/public/b/token',
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: `grant_type=client_credentials&client_id=${id}&client_secret=${key}`,
})

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** The checksum of a key by its definition: CRC-32 in base 62, most significant digit first, padded with 0. */
export function keyChecksum(text: string): string {
  let rest = BigInt(crc32(text))
  const digits = Array.from({ length: 6 }, () => {
    const digit = ALPHABET[Number(rest % 62n)]!
    rest /= 62n
    return digit
  })
  return digits.reverse().join('')
}

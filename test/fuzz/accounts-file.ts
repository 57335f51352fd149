import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import bcrypt from 'bcrypt'
import { isMap, parseDocument } from 'yaml'
import { readAccounts } from '../../src/account/file/source.ts'
import type { ModelAccount, Status } from './accounts-model.ts'

/* The accounts file as people write and read it: in several forms of YAML, with comments that no change may lose. */

/** A second factor as it is stored. These tests never open it. */
export const SEALED = 'abcdefghijkl.c2VhbGVk'
/** At the lowest cost, so that no sequence waits for it. */
const HASH = bcrypt.hashSync('correct horse 1', 4)

const HEAD = '# accounts of this gateway, by hand'
const TAIL = '# the end of the accounts'
const aboveOf = (id: string): string => `# above ${id}.`
const besideOf = (id: string): string => `# beside ${id}.`

export const FORMS = ['indented', 'flush', 'document', 'flow'] as const
export type Form = (typeof FORMS)[number]

export function writeFirst(path: string, accounts: readonly ModelAccount[], form: Form): void {
  const indent = form === 'flush' ? '' : '  '
  const items = accounts.map(({ id, username, nickname, roles, permissions }) => {
    if (form === 'flow') {
      const entry = { id, username, password: HASH, nickname, roles, permissions, department: `of ${id}` }
      return `  ${aboveOf(id)}\n  - ${JSON.stringify(entry)} ${besideOf(id)}`
    }
    const lines = [
      `${indent}${aboveOf(id)}`,
      `${indent}- id: '${id}' ${besideOf(id)}`,
      `${indent}  username: ${username}`,
      `${indent}  password: '${HASH}'`,
      `${indent}  nickname: ${nickname}`,
      `${indent}  roles: ${JSON.stringify(roles)}`,
      `${indent}  permissions: ${JSON.stringify(permissions)}`,
      `${indent}  department: 'of ${id}'`,
    ]
    return lines.join('\n')
  })
  const text = [...(form === 'document' ? ['---'] : []), HEAD, 'accounts:', ...items, TAIL, ''].join('\n')
  save(path, text, 'renamed')
}

/** As editors do: in place, or under another name first. */
export function save(path: string, text: string, how: 'in place' | 'renamed'): void {
  const written = how === 'in place' ? path : `${path}~`
  writeFileSync(written, text)
  if (written !== path) renameSync(written, path)
}

/** What a person changes of one account with an editor; nothing if it is not there. */
export function editByHand(
  path: string,
  id: string,
  set: Readonly<Record<string, unknown>>,
  how: 'in place' | 'renamed',
) {
  const document = parseDocument(readFileSync(path, 'utf8'))
  const list = document.get('accounts') as { items: unknown[] }
  const at = list.items.findIndex(item => isMap(item) && item.get('id') === id)
  if (at === -1) return false
  for (const [key, value] of Object.entries(set)) document.setIn(['accounts', at, key], value)
  save(path, document.toString({ lineWidth: 0 }), how)
  return true
}

/** Another hash of the first password. */
export const otherHash = (): string => bcrypt.hashSync('correct horse 1', 4)

export interface Found {
  accounts: Omit<ModelAccount, 'password' | 'resets'>[]
  /** By id. */
  hashes: Map<string, string>
}

export async function readFound(path: string): Promise<Found> {
  const { byId, listed } = await readAccounts(path)
  const accounts = listed.map(({ id, username, nickname, status, roles, permissions, ...rest }) => ({
    ...{ id, username, nickname, status: status as Status, roles, permissions },
    mustChange: rest.mustChangePassword,
    hasFactor: rest.secondFactor,
  }))
  return { accounts, hashes: new Map(Array.from(byId, ([id, { passwordHash }]) => [id, passwordHash])) }
}

/** What is missing of the comments and of the keys that the gateway does not know; empty for nothing. */
export function missingIn(text: string, first: readonly string[], accounts: readonly { id: string }[]): string[] {
  const ids = first.filter(id => accounts.some(account => account.id === id))
  const kept = [HEAD, TAIL, ...ids.flatMap(id => [aboveOf(id), besideOf(id), `of ${id}`])]
  return kept.filter(part => !text.includes(part))
}

import { dirname } from 'node:path'
import type { FieldFault } from '../../base/refusal.ts'
import { faultOfExtra, isLoginId } from '../../session/record.ts'
import { ConfigurationError, type Fault } from '../../settings/notation/fault.ts'
import { read } from '../../settings/notation/read.ts'
import { type KeyPath, textOf, Written } from '../../settings/notation/written.ts'
import { parseYamlFile } from '../../settings/notation/yaml.ts'
import { isPrintable } from '../management.ts'
import { isBcryptHash } from '../password.ts'
import { MAX_USERNAME_LENGTH } from '../source.ts'
import { type AccountEntry, AccountsFileSchema } from './schema.ts'

/** A name that can be signed in with: printable, no space at its ends. */
export const isUsername = (text: string): boolean =>
  text.length >= 1 && text.length <= MAX_USERNAME_LENGTH && text.trim() === text && isPrintable(text)

/** Names that differ in case only are the same name. */
export const nameKey = (username: string): string => username.toLowerCase()

/** The fields with rules that JSON Schema cannot express. */
const CHECKS = { id: isLoginId, username: isUsername, password: isBcryptHash } as const
const FIELDS = AccountsFileSchema.properties.accounts.items.properties

/** What is wrong with the value of a field, as the file says it; `null` if nothing is. */
export function faultOfValue(field: 'nickname' | 'roles', value: unknown): string | null {
  const written = new Written(value, { label: field, folder: '' })
  read(FIELDS[field], written, '')
  return written.faults[0]?.message ?? null
}

/** Bytes of JSON, so that what a login adds still fits into a record (`MAX_EXTRA_BYTES`). */
const MAX_ENTRY_BYTES = 6144

export interface AccountsDocument {
  entries: AccountEntry[]
  /** `false` for a file without a list of accounts, such as an empty one. */
  hasList: boolean
}

/** What is wrong with a file that has lost its list. */
export const listMissing = (path: string): Fault => ({
  place: path,
  message: 'the list of accounts is missing; write `accounts: []` to have none',
})

/** The places of accounts in the whole list, where a text has some of them; otherwise they are where they stand. */
type Places = readonly number[]

/** Reads the text of the accounts file at `path`. Throws one `ConfigurationError` with all of its faults. */
export function parseAccounts(text: string, path: string, places: Places = []): AccountsDocument {
  const folder = dirname(path)
  const written = parseYamlFile(text, path, folder)
  const entries = written.legible ? readEntries(written, folder, places) : []
  if (written.faults.length > 0) throw new ConfigurationError(written.faults.map(fault => inWhole(fault, places)))
  return { entries, hasList: Array.isArray(written.get(['accounts'])) }
}

/** The fault of an account, which is named by its place in the whole list. */
function inWhole(fault: Written['faults'][number], places: Places): Fault {
  const { place, path } = fault
  const named = textOf(path)
  const [list, index, ...below] = path
  if (typeof index !== 'number' || !place.endsWith(named)) return fault
  return { ...fault, place: place.slice(0, -named.length) + textOf([list!, places[index] ?? index, ...below]) }
}

/** Further keys go into the session as they are. */
const ALTERED = 'would be changed when it is read, as numbers of many digits are rounded; put it in quotes'

function readEntries(written: Written, folder: string, places: Places): AccountEntry[] {
  const { accounts } = read(AccountsFileSchema, written, folder) as { accounts?: unknown }
  for (const path of written.altered()) if (!written.isFaulty(path)) written.report(path, ALTERED)
  const entries = (Array.isArray(accounts) ? accounts : []) as (AccountEntry | undefined)[]
  const faulty = new Set(written.faults.flatMap(({ path, isUnknown }) => (isUnknown === true ? [] : [path[1]])))
  for (const [index, entry] of entries.entries()) {
    if (entry !== undefined) checkEntry(entry, index, !faulty.has(index), written)
  }
  checkRepetitions(entries, written, places)
  return entries as AccountEntry[]
}

/** Checks the values that were read; the entry as a whole only if it `isRead` whole. */
function checkEntry(entry: AccountEntry, index: number, isRead: boolean, written: Written): void {
  const path = ['accounts', index]
  let isSound = isRead
  for (const [field, isValid] of Object.entries(CHECKS) as [keyof typeof CHECKS, (text: string) => boolean][]) {
    if (entry[field] === undefined || isValid(entry[field])) continue
    written.report([...path, field], `must be ${FIELDS[field]['x-form']}`)
    isSound = false
  }
  checkTime(entry, 'password_changed_at', path, written)
  if (entry.service === true) checkService(entry, path, written)
  else checkPerson(entry, path, written)
  const fault = isSound ? faultOfSize(entry) : null
  if (fault !== null) written.report(path, fault)
}

function checkTime(entry: AccountEntry, field: 'password_changed_at' | 'added', path: KeyPath, written: Written): void {
  const time = entry[field]
  if (time === undefined || !Number.isNaN(Date.parse(time))) return
  written.report([...path, field], `must be ${FIELDS[field]['x-form']}`)
}

/** What only the account of a person has. */
const OF_PERSONS = ['password', 'must_change_password', 'second_factor'] as const

function checkService(entry: AccountEntry, path: KeyPath, written: Written): void {
  // Of a person it is a further key like any other.
  checkTime(entry, 'added', path, written)
  for (const field of OF_PERSONS) {
    if (entry[field] === undefined) continue
    written.report(
      [...path, field],
      'a service account cannot have this; remove this line, or the line `service: true`',
    )
  }
}

function checkPerson({ password }: AccountEntry, path: KeyPath, written: Written): void {
  const isUnread = (field: string): boolean => written.isFaulty([...path, field])
  if (password !== undefined || isUnread('password') || isUnread('service')) return
  written.report([...path, 'password'], `is missing; it must be ${FIELDS.password['x-form']}`)
}

/** Why an entry does not fit into a session; `null` if it does. */
export function faultOfSize(entry: AccountEntry): FieldFault | null {
  const fault = faultOfExtra(entry)
  if (fault !== null) return fault
  return Buffer.byteLength(JSON.stringify(entry)) > MAX_ENTRY_BYTES
    ? `must be at most ${MAX_ENTRY_BYTES} bytes as JSON`
    : null
}

const UNIQUE = [
  ['id', String],
  ['username', nameKey],
] as const

/** The index of an entry whose id or name an earlier one has, and that of the first which has it. */
export type Repetition = readonly [index: number, earlier: number]

export const repetitionsIn = (entries: readonly (AccountEntry | null)[]): Repetition[] =>
  UNIQUE.flatMap(([field, keyOf]) => repetitionsOf(field, keyOf, entries))

/** Reports ids and names that occur more than once. */
function checkRepetitions(entries: readonly (AccountEntry | undefined)[], written: Written, places: Places): void {
  for (const [field, keyOf] of UNIQUE) {
    for (const [index, earlier] of repetitionsOf(field, keyOf, entries)) {
      const number = (places[earlier] ?? earlier) + 1
      written.report(['accounts', index, field], `is also that of account ${number} in the list; each needs its own`)
    }
  }
}

function repetitionsOf(
  field: 'id' | 'username',
  keyOf: (value: string) => string,
  entries: readonly (AccountEntry | null | undefined)[],
): Repetition[] {
  const first = new Map<string, number>()
  const found: Repetition[] = []
  for (const [index, entry] of entries.entries()) {
    const value = entry?.[field]
    if (typeof value !== 'string') continue
    const earlier = first.get(keyOf(value))
    if (earlier === undefined) first.set(keyOf(value), index)
    else found.push([index, earlier])
  }
  return found
}

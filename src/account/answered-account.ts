import { LOGIN_ID_FORM } from '../base/refusal.ts'
import { type Extra, faultOfExtra, isLoginId } from '../session/record.ts'
import { listOf, plain, secondFactorOf, switchOf, textOf, timeOf } from './answer-value.ts'
import type { HashAccount } from './hash-accounts.ts'
import { type Account, type AccountStatus, type LeftOut, MAX_USERNAME_LENGTH, type Rights } from './source.ts'

/**
 * Reads the answer of a database or a backend for a name. `id`, `username`, `password` and `status` are required, in
 * any case; `second_factor`, `password_changed_at`, `must_change_password` and `service` may be there, for a service account also
 * `added`. Every other field that is not null goes into `extra` under its own name.
 *
 * An answer that does not clearly identify one account throws, as a fault of the source, and no login succeeds. If the
 * stored password is null or not a bcrypt hash, no password matches: such an account exists, but cannot be used to sign
 * in. A service account must have none.
 */
export function readAccount(
  fields: readonly (readonly [name: string, value: unknown])[],
  source: 'sql' | 'http',
): HashAccount {
  checkNames(fields)
  const isService = switchOf('service', fields.find(([name]) => name.toLowerCase() === 'service')?.[1])
  const known = new Map<string, unknown>()
  const extra: [string, unknown][] = []
  for (const [name, value] of fields) {
    const lower = name.toLowerCase()
    if (REQUIRED.has(lower) || OPTIONAL.has(lower) || (isService && lower === 'added')) known.set(lower, value)
    else if (value !== null && value !== undefined)
      extra.push([name, LISTS.has(lower) ? listOf(name, value) : plain(name, value)])
  }
  checkRequired(known, ACCOUNT_FIELDS)
  const id = textOf('id', known.get('id'))
  if (!isLoginId(id)) throw new Error(`the field "id" is not a login id: ${LOGIN_ID_FORM}`)
  const username = textOf('username', known.get('username'))
  if (username === null || username === '') throw new Error('the field "username" is empty')
  if (username.length > MAX_USERNAME_LENGTH)
    throw new Error(`the field "username" has more than ${MAX_USERNAME_LENGTH} characters`)
  return {
    id,
    username,
    passwordHash: textOf('password', known.get('password')) ?? '',
    status: statusOf(known.get('status')),
    ...credentialsOf(known),
    ...(isService && serviceOf(known)),
    ...fittingExtra(extra, source),
  }
}

/** What goes into the session of an account, and what is too large for it. Throws if it cannot be stored all the same. */
export function fittingExtra(
  entries: readonly [string, unknown][],
  source: LeftOut['source'],
): Pick<Account, 'extra' | 'leftOut'> {
  const columns = tooLargeOf(entries)
  const extra = checkedExtra(entries.filter(([name]) => !columns.includes(name)))
  return { extra, ...(columns.length > 0 && { leftOut: { columns, source } }) }
}

/**
 * Reads the answer for a login id: `id`, `status`, `roles` and `permissions`; the lists may be absent or null; other
 * fields are ignored. `null` if the account is not active, or is another one: some databases find 1 for the text 01.
 */
export function readRights(id: string, fields: readonly (readonly [name: string, value: unknown])[]): Rights | null {
  checkNames(fields)
  const known = new Map(fields.map(([name, value]) => [name.toLowerCase(), value]))
  checkRequired(known, RIGHTS_FIELDS)
  if (textOf('id', known.get('id')) !== id || statusOf(known.get('status')) !== 'ACTIVE') return null
  const list = (name: string): string[] => (known.get(name) == null ? [] : listOf(name, known.get(name)))
  return { roles: list('roles'), permissions: list('permissions') }
}

/** What is known of the password and the second factor beside the hash. It never goes into a session. */
function credentialsOf(
  known: ReadonlyMap<string, unknown>,
): Pick<HashAccount, 'secondFactor' | 'passwordChangedAt' | 'mustChangePassword'> {
  const secondFactor = secondFactorOf('second_factor', known.get('second_factor'))
  const passwordChangedAt = timeOf('password_changed_at', known.get('password_changed_at'))
  return {
    ...(secondFactor !== null && { secondFactor }),
    ...(passwordChangedAt !== null && { passwordChangedAt }),
    ...(switchOf('must_change_password', known.get('must_change_password')) && { mustChangePassword: true }),
  }
}

/** An answer that also has what only a person has could mean either. */
function serviceOf(known: ReadonlyMap<string, unknown>): Pick<HashAccount, 'service' | 'added'> {
  const { secondFactor, mustChangePassword = false } = credentialsOf(known)
  const given = {
    password: (textOf('password', known.get('password')) ?? '') !== '',
    second_factor: secondFactor !== undefined,
    must_change_password: mustChangePassword,
  }
  for (const [name, isGiven] of Object.entries(given))
    if (isGiven) throw new Error(`the field "service" is true, and so "${name}" must be null`)
  const added = textOf('added', known.get('added'))
  return { service: true, ...(added !== null && { added }) }
}

/** A join can yield two columns of one name: then it is unknown which of two ids is the user's. */
function checkNames(fields: readonly (readonly [name: string, value: unknown])[]): void {
  const names = new Set<string>()
  for (const [name] of fields) {
    if (names.has(name.toLowerCase())) throw new Error(`two fields are named "${name}"`)
    names.add(name.toLowerCase())
  }
}

function checkRequired(known: ReadonlyMap<string, unknown>, names: readonly string[]): void {
  for (const name of names) if (!known.has(name)) throw new Error(`there is no field "${name}"`)
}

/** What an answer for a name must have, in any case. */
export const ACCOUNT_FIELDS: readonly string[] = ['id', 'username', 'password', 'status']
/** The same of an answer for a login id. */
export const RIGHTS_FIELDS: readonly string[] = ['id', 'status']

const REQUIRED: ReadonlySet<string> = new Set(ACCOUNT_FIELDS)
const OPTIONAL: ReadonlySet<string> = new Set([
  'second_factor',
  'password_changed_at',
  'must_change_password',
  'service',
])
/** Of JSON, so that what a login adds still fits into a record. */
const MAX_BYTES = 6144
const LISTS: ReadonlySet<string> = new Set(['roles', 'permissions'])

/** `ACTIVE` and `LOCKED` are used as they are; every other status prevents a login. */
const statusOf = (value: unknown): AccountStatus => (value === 'ACTIVE' || value === 'LOCKED' ? value : 'INACTIVE')

function checkedExtra(entries: [string, unknown][]): Extra {
  const extra: Extra = Object.fromEntries(entries)
  const fault = faultOfExtra(extra)
  if (fault !== null) throw new Error(`what goes into the session ${fault}`)
  return extra
}

/**
 * The columns to leave out so that the others fit into a session, the largest first: a picture in a column must not
 * prevent a login.
 */
function tooLargeOf(entries: readonly [string, unknown][]): string[] {
  const sizes = entries
    .map(([name, value]) => ({ name, bytes: Buffer.byteLength(JSON.stringify({ [name]: value })) }))
    .sort((a, b) => b.bytes - a.bytes)
  let sum = sizes.reduce((bytes, entry) => bytes + entry.bytes, 0)
  const columns: string[] = []
  for (const { name, bytes } of sizes) {
    if (sum <= MAX_BYTES) break
    columns.push(name)
    sum -= bytes
  }
  return columns
}

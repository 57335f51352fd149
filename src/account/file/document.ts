import Type, { type Static } from 'typebox'
import Value from 'typebox/value'
import { type Document, LineCounter, parseDocument } from 'yaml'
import { ConfigurationError, type Fault } from '../../config/fault.ts'
import { faultOfExtra, isLoginId } from '../../session.ts'
import { isBcryptHash } from '../password.ts'

/** A name that can be signed in with: no control characters, no space at its ends. */
export const isUsername = (text: string): boolean =>
  text.length >= 1 && text.length <= 128 && text.trim() === text && !/[\p{Cc}\p{Cs}]/u.test(text)

/** Names that differ in case only are the same name. */
export const nameKey = (username: string): string => username.toLowerCase()

/** A text that has to pass a check; `must` is what a fault is answered with, and never quotes what is written. */
const Text = (check: (text: string) => boolean, must: string) =>
  Type.Refine(Type.String({ description: must }), check, () => must)

const Words = (must: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 128 }), { maxItems: 256, description: must })

const Entry = Type.Object({
  id: Text(
    isLoginId,
    'must be text in quotes, 1 to 128 characters of A-Z a-z 0-9 . _ @ : - (a bare number would be rounded)',
  ),
  username: Text(isUsername, 'must be text of 1 to 128 characters without spaces at its ends; a number needs quotes'),
  password: Text(
    isBcryptHash,
    'must be a bcrypt hash of cost 4 to 15 in quotes; `dualgate account passwd NAME` writes one',
  ),
  nickname: Type.Optional(Type.String({ maxLength: 128, description: 'must be text of at most 128 characters' })),
  avatar: Type.Optional(Type.String({ maxLength: 2048, description: 'must be text of at most 2048 characters' })),
  status: Type.Optional(
    Type.Union([Type.Literal('ACTIVE'), Type.Literal('INACTIVE'), Type.Literal('LOCKED')], {
      description: 'must be ACTIVE, INACTIVE or LOCKED',
    }),
  ),
  roles: Type.Optional(Words('must be a list of roles, such as [SUPER_ADMIN]')),
  permissions: Type.Optional(Words('must be a list of permissions, such as ["sys:session:page"]')),
})

/** One entry of the file; it may have further keys, which go into the session as they are. */
export type AccountEntry = Static<typeof Entry> & Record<string, unknown>

/** Bytes of JSON, so that what a login adds still fits into a record (`MAX_EXTRA_BYTES`). */
const MAX_ENTRY_BYTES = 6144

export interface AccountsDocument {
  /** With its comments, for whoever writes the file again. */
  document: Document
  entries: AccountEntry[]
}

/** Reads the text of an accounts file. Throws one `ConfigurationError` with everything that is wrong with it. */
export function parseAccounts(text: string, label: string): AccountsDocument {
  const lines = new LineCounter()
  // The parser's own messages quote the line, and with it perhaps a hash.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const unreadable = document.errors.map(({ code, pos }) => ({
    place: `${label}:${lines.linePos(pos[0]).line}`,
    message:
      code === 'DUPLICATE_KEY'
        ? 'the key is written twice; keep one of them'
        : `is no YAML (${code}); check quotes, brackets and indentation`,
  }))
  if (unreadable.length > 0) throw new ConfigurationError(unreadable)
  const value = readValue(document, label)
  const list = typeof value === 'object' && value !== null ? ((value as Record<string, unknown>).accounts ?? []) : value
  const unknown = Object.keys(value as object).filter(key => key !== 'accounts')
  if (!Array.isArray(list) || unknown.length > 0) {
    throw new ConfigurationError([{ place: label, message: 'must hold one key, `accounts:`, with a list of accounts' }])
  }
  const faults = [...list.flatMap((entry, index) => faultsOfEntry(entry, index, label)), ...repetitions(list, label)]
  if (faults.length > 0) throw new ConfigurationError(faults)
  return { document, entries: list as AccountEntry[] }
}

function readValue(document: Document, label: string): unknown {
  try {
    return document.toJS() ?? {}
  } catch {
    throw new ConfigurationError([
      { place: label, message: 'uses an alias (*) that is not defined, or too many of them' },
    ])
  }
}

const placeOf = (label: string, index: number, field?: string): string =>
  `${label} account ${index + 1}${field === undefined ? '' : `, ${field}`}`

function faultsOfEntry(entry: unknown, index: number, label: string): Fault[] {
  const errors = Value.Errors(Entry, entry)
  if (errors.length === 0) {
    const fault = faultOfSize(entry)
    return fault === null ? [] : [{ place: placeOf(label, index), message: fault }]
  }
  const fields = new Set<string>()
  for (const error of errors) {
    if (error.keyword === 'required') for (const field of error.params.requiredProperties) fields.add(field)
    else fields.add(error.instancePath.split('/')[1] ?? '')
  }
  return [...fields].map(field => {
    const description = (Entry.properties as Record<string, { description?: string }>)[field]?.description
    return field === '' || description === undefined
      ? { place: placeOf(label, index), message: 'must be a set of keys: id, username, password, …' }
      : { place: placeOf(label, index, field), message: description }
  })
}

function faultOfSize(entry: unknown): string | null {
  const fault = faultOfExtra(entry)
  if (fault !== null) return fault
  return Buffer.byteLength(JSON.stringify(entry)) > MAX_ENTRY_BYTES
    ? `must be at most ${MAX_ENTRY_BYTES} bytes as JSON`
    : null
}

/** Ids and names that stand more than once. */
function repetitions(list: unknown[], label: string): Fault[] {
  const faults: Fault[] = []
  for (const [field, keyOf] of [
    ['id', String],
    ['username', nameKey],
  ] as const) {
    const first = new Map<string, number>()
    for (const [index, entry] of list.entries()) {
      const value = (entry as Record<string, unknown> | null)?.[field]
      if (typeof value !== 'string') continue
      const earlier = first.get(keyOf(value))
      if (earlier === undefined) first.set(keyOf(value), index)
      else
        faults.push({
          place: placeOf(label, index, field),
          message: `is that of account ${earlier + 1} too; each needs its own`,
        })
    }
  }
  return faults
}

import type { Filter } from '../../base/ldap/filter.ts'
import { LOGIN_ID_FORM } from '../../base/refusal.ts'
import { isLoginId } from '../../session/record.ts'
import type { DirectorySettings } from '../../settings/directory.ts'
import { plain } from '../answer-value.ts'
import { fittingExtra } from '../answered-account.ts'
import { type Account, MAX_USERNAME_LENGTH } from '../source.ts'
import type { Obstacle } from './bind-result.ts'
import { guidBytes, guidText, sidBytes, sidText } from './identifiers.ts'
import type { Entry } from './operations.ts'
import { type EntryState, STATE_ATTRIBUTES, stateOf } from './state.ts'

/** An entry as an account, without its groups and what follows from them. */
export interface EntryAccount {
  account: Account
  /** Changes with the password, as far as the gateway may read when it was set. */
  passwordState: string
  obstacle: Obstacle | undefined
}

type AttributeSettings = Pick<DirectorySettings, 'id' | 'attributes'>

/** The attributes of an account. */
export const accountAttributes = ({ id, attributes }: AttributeSettings): string[] => [
  ...new Set([id, ...Object.values(attributes), ...STATE_ATTRIBUTES]),
]

/**
 * Reads an entry. One that does not clearly identify an account throws, as a fault of the directory, and no login succeeds. Id
 * and name are those of the entry, however the name was typed.
 */
export function readAccount(entry: Entry, settings: AttributeSettings, now: number): EntryAccount {
  const { username: nameAttribute, ...others } = settings.attributes
  const username = firstText(entry, nameAttribute)
  if (username === null || username === '') throw faultIn(entry, `has no ${nameAttribute} ${UNREADABLE}`)
  if (username.length > MAX_USERNAME_LENGTH)
    throw faultIn(entry, `has a ${nameAttribute} of more than ${MAX_USERNAME_LENGTH} characters`)
  const extra = Object.entries(others).flatMap(([name, attribute]): [string, unknown][] => {
    const value = name === 'permissions' ? textsIn(entry, attribute) : firstText(entry, attribute)
    return value === null ? [] : [[name, value]]
  })
  const { status, obstacle, passwordChangedAt, passwordState }: EntryState = stateOf(entry, now)
  const account: Account = {
    id: idOf(entry, settings.id),
    username,
    status,
    ...fittingExtra(extra, 'ldap'),
    ...(passwordChangedAt !== null && { passwordChangedAt }),
  }
  return { account, passwordState, obstacle }
}

const UNREADABLE = 'that the account of the gateway may read'

function idOf(entry: Entry, attribute: string): string {
  const [bytes, ...others] = entry.values(attribute)
  if (bytes === undefined) throw faultIn(entry, `has no ${attribute} ${UNREADABLE}`)
  if (others.length > 0) throw faultIn(entry, `has several values of ${attribute}, of which none is its id`)
  const id = (BINARY[attribute.toLowerCase()]?.text ?? (value => textOf(attribute, value)))(bytes)
  if (!isLoginId(id)) throw faultIn(entry, `has a value of ${attribute} that is not a login id: ${LOGIN_ID_FORM}`)
  return id
}

/** Finds the entry of a login id; `null` if no entry can have it. */
export function idFilter(attribute: string, id: string): Filter | null {
  const binary = BINARY[attribute.toLowerCase()]
  const value = binary === undefined ? id : binary.bytes(id)
  return value === null ? null : { kind: 'equal', attribute, value }
}

/** Attributes whose values are bytes, and not text. */
const BINARY: Readonly<Record<string, { text(bytes: Buffer): string | null; bytes(text: string): Buffer | null }>> = {
  objectguid: { text: guidText, bytes: guidBytes },
  objectsid: { text: sidText, bytes: sidBytes },
}

const textOf = (attribute: string, value: Buffer): string => String(plain(attribute, value))

const textsIn = (entry: Entry, attribute: string): string[] =>
  entry.values(attribute).map(value => textOf(attribute, value))

/** The first in the alphabet: a directory returns values in any order. */
const firstText = (entry: Entry, attribute: string): string | null => textsIn(entry, attribute).sort()[0] ?? null

const faultIn = ({ dn }: Entry, fault: string): Error => new Error(`the entry ${dn} ${fault}`)

import type { Credential } from '../../credentials.ts'

/** What a record is: written and not yet in the list of its owner, so that it cannot be found; live; live and succeeded. */
export type State = 'pending' | 'live' | 'succeeded'

/** A credential as Redis has it. */
export interface StoredCredential extends Credential {
  readonly state: State
  /** When it was entered into the list of its owner, in microseconds by the clock of Redis. */
  readonly storedAt: number
  /** The id of the one that was to take its place last. Of a live one it is no successor yet, and perhaps will never be. */
  readonly by?: string
}

const LETTERS: Readonly<Record<State, string>> = { pending: 'p', live: 'l', succeeded: 's' }
const STATES = Object.keys(LETTERS) as readonly State[]

interface Fields {
  owner: string
  text: string
  ends: number
  stored: number
  by?: string
}

/** The letter of its state, then its fields as JSON: two records are the same exactly if their texts are. */
export function writeCredential({ owner, text, expiresAt, state, storedAt, by }: StoredCredential): string {
  const fields: Fields = { owner, text, ends: expiresAt, stored: storedAt, ...(by !== undefined && { by }) }
  return LETTERS[state] + JSON.stringify(fields)
}

/** The credential in a record; `null` for a text that no gateway wrote. */
export function readCredential(id: string, record: string | null): StoredCredential | null {
  if (record === null) return null
  const state = STATES.find(state => record.startsWith(LETTERS[state]))
  try {
    const { owner, text, ends, stored, by } = JSON.parse(record.slice(1)) as Fields
    if (state === undefined || typeof owner !== 'string' || typeof text !== 'string') return null
    return { id, owner, text, expiresAt: ends, state, storedAt: stored, ...(by !== undefined && { by }) }
  } catch {
    return null
  }
}

/** The same of one that can be found. */
export function readLive(id: string, record: string | null): StoredCredential | null {
  const stored = readCredential(id, record)
  return stored?.state === 'pending' ? null : stored
}

export const credentialOf = ({ id, owner, text, expiresAt }: Credential): Credential => ({ id, owner, text, expiresAt })

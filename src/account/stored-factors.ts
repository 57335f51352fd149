import { isPlainObject } from '../base/plain-object.ts'
import { Refusal, Unavailable } from '../base/refusal.ts'
import type { LoginType } from '../session/sides.ts'
import type { Account, AccountUpdates } from './source.ts'
import { type Versions, versionsOf } from './version.ts'

/** Where the gateway keeps second factors of accounts whose source has no place for them; the factors of the store are one. */
export interface FactorPlace {
  read(type: LoginType, loginId: string): Promise<string | null>
  /** `false`, and nothing is changed, if the stored text is not `from`. */
  replace(type: LoginType, loginId: string, from: string | null, to: string): Promise<boolean>
}

/** The second factors of one side. */
export interface FactorsOfSide {
  type: LoginType
  place: FactorPlace
}

/** What completes the accounts of a source, and stores their second factors. */
export interface StoredFactors {
  /**
   * Adds what is stored of its second factor to an account, and the versions that follow; `passwordHash` stands for its password.
   * A place that fails throws `Unavailable`: the account never counts as one without a second factor.
   */
  complete(account: Account, passwordHash: string): Promise<void>
  readonly updates: AccountUpdates
}

type Factor = Pick<Account, 'secondFactor' | 'secondFactorResetAt'>

/** Tries to reset a second factor that is changed meanwhile. */
const MAX_TRIES = 5

export function createStoredFactors({ type, place }: FactorsOfSide): StoredFactors {
  const completed = new WeakMap<Account, { text: string | null; passwordHash: string }>()
  return {
    async complete(account, passwordHash) {
      const text = await place.read(type, account.id)
      const factor = readFactor(text)
      completed.set(account, { text, passwordHash })
      Object.assign(account, factor, versionsWith(account, factor, passwordHash))
    },
    updates: {
      can: new Set(['second-factor'] as const),
      async password() {
        throw new Error('the source of these accounts stores no password')
      },
      secondFactor(account, sealed) {
        const known = completed.get(account)
        if (known === undefined) throw new Error('the account is not of this source')
        const { secondFactorResetAt } = account
        const factor: Factor = {
          ...(sealed !== null && { secondFactor: sealed }),
          ...(secondFactorResetAt !== undefined && { secondFactorResetAt }),
        }
        return {
          ...versionsWith(account, factor, known.passwordHash),
          store: () => place.replace(type, account.id, known.text, writeFactor(factor)),
        }
      },
    },
  }
}

const versionsWith = ({ extra }: Account, factor: Factor, passwordHash: string): Versions =>
  versionsOf({ passwordHash, extra, ...factor })

/** Whether a login id has a second factor there. */
export async function hasSecondFactor({ type, place }: FactorsOfSide, loginId: string): Promise<boolean> {
  return readFactor(await place.read(type, loginId)).secondFactor !== undefined
}

/**
 * Removes a second factor for an operator, at this time in milliseconds; `false` if the login id has none. `end` ends the sessions and
 * keys from before. Where that fails, the reset is noted as unfinished, and can be repeated although there is no factor any more.
 */
export async function resetSecondFactor(
  side: FactorsOfSide,
  loginId: string,
  now: number,
  end: () => Promise<void>,
): Promise<boolean> {
  if (!(await beginReset(side, loginId, now))) return false
  await end()
  await finishReset(side, loginId)
  return true
}

async function beginReset({ type, place }: FactorsOfSide, loginId: string, now: number): Promise<boolean> {
  const reset = writeFactor({ secondFactorResetAt: new Date(now).toISOString() }, true)
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const text = await place.read(type, loginId)
    if (isUnfinished(text)) return true
    if (readFactor(text).secondFactor === undefined) return false
    if (await place.replace(type, loginId, text, reset)) return true
  }
  throw new Refusal('BUSY')
}

/** A factor that was stored meanwhile has taken the place of the note. */
async function finishReset({ type, place }: FactorsOfSide, loginId: string): Promise<void> {
  const text = await place.read(type, loginId)
  if (isUnfinished(text)) await place.replace(type, loginId, text, writeFactor(readFactor(text)))
}

/** As it is stored; absent is what an account does not have. */
interface Written {
  second_factor?: string | undefined
  reset_at?: string | undefined
  /** Sessions and keys from before the reset may live. */
  unfinished?: true | undefined
}

const writeFactor = ({ secondFactor, secondFactorResetAt }: Factor, isUnfinished = false): string =>
  JSON.stringify({
    second_factor: secondFactor,
    reset_at: secondFactorResetAt,
    unfinished: isUnfinished || undefined,
  } satisfies Written)

const isUnfinished = (text: string | null): boolean => text !== null && parsed(text).unfinished === true

/** What no gateway wrote is a fault: it must not count as no second factor. */
function readFactor(text: string | null): Factor {
  if (text === null) return {}
  const { second_factor, reset_at } = parsed(text)
  if (![second_factor, reset_at].every(value => value === undefined || typeof value === 'string')) throw unreadable()
  return {
    ...(second_factor !== undefined && { secondFactor: second_factor }),
    ...(reset_at !== undefined && { secondFactorResetAt: reset_at }),
  }
}

function parsed(text: string): Written {
  try {
    const value: unknown = JSON.parse(text)
    if (isPlainObject(value)) return value
  } catch {
    // The same as any other text that was not written here. The fault would quote it.
  }
  throw unreadable()
}

const unreadable = (): Unavailable => new Unavailable('a stored second factor has another form')

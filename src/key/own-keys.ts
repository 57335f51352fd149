import { isPrintable } from '../account/management.ts'
import type { Permissions } from '../account/permissions.ts'
import type { Account, Rights } from '../account/source.ts'
import { DAY } from '../base/clock.ts'
import { invalid, Refusal } from '../base/refusal.ts'
import type { Origin } from '../event/event.ts'
import type { KeyLimits } from '../gate/key-credential.ts'
import { readTarget } from '../gate/path.ts'
import type { LoginType } from '../session/sides.ts'
import { isAddressRange } from '../settings/check/address-range.ts'
import type { Session } from '../side/side.ts'
import type { KeySettings, Keys, ListedKey, MadeKey, NewKey } from './keys.ts'

/** What a client sends for a new key; what is `null` or absent has its default. */
export interface WantedKey {
  name: string
  days?: number | null
  permissions?: readonly string[] | null
  paths?: readonly string[] | null
  addresses?: readonly string[] | null
}

/** Characters of the name of a key. */
export const MAX_NAME = 64
/** Entries of each limit of a key, and characters of each. */
export const MAX_LIMITS = 64
export const MAX_LIMIT = 128
/**
 * Bytes of all limits of a key as JSON. A credential has 8 KiB (store/credentials.ts): the rest is for the names of the key and of its
 * owner, and for what an account adds that changes later.
 */
export const MAX_LIMITS_BYTES = 6144

/** The whole days in a lifetime. */
export const daysOf = (lifetime: number): number => Math.floor(lifetime / DAY)

/** Proves that a request comes from the user: the password, and a code where the account has a second factor. */
export interface Proof {
  current_password: string
  code?: string | null
}

/** The account of a session, once the proof was right. A wrong one fails as a login does. */
export type Prove = (session: Session, proof: Proof, origin: Origin) => Promise<Account>

/** What users do with their own keys. */
export type OwnKeys = ReturnType<typeof createOwnKeys>

export interface OwnKeysOptions {
  type: LoginType
  keys: Keys
  settings: KeySettings
  prove: Prove
  permissions: Pick<Permissions, 'lacking' | 'rightsOf'>
}

export function createOwnKeys({ type, keys, settings, prove, permissions }: OwnKeysOptions) {
  return {
    list: ({ record }: Session): Promise<ListedKey[]> => keys.of(record.user_id),
    async add(session: Session, wanted: WantedKey & Proof, origin: Origin): Promise<MadeKey> {
      const key = readWanted(wanted, settings)
      return keys.exclusively(session.record.user_id, async () => {
        const account = await prove(session, wanted, origin)
        refuseNotHeld(key, await permissions.rightsOf(account, type), permissions)
        return keys.add(account, key, { id: account.id, type }, origin)
      })
    },
    async rotate(session: Session, { id, ...proof }: { id: string } & Proof, origin: Origin): Promise<MadeKey> {
      return keys.exclusively(session.record.user_id, async () => {
        const account = await prove(session, proof, origin)
        return keys.rotate(account, id, { id: account.id, type }, origin)
      })
    },
    revoke: ({ record }: Session, id: string, origin: Origin): Promise<void> => keys.revoke(record.user_id, id, origin),
  }
}

/** A key grants no more than its maker holds, now and later. */
export function refuseNotHeld(
  { permissions: granted }: Pick<KeyLimits, 'permissions'>,
  held: Rights,
  { lacking }: Pick<Permissions, 'lacking'>,
): void {
  const missing = lacking(held, { roles: [], permissions: granted ?? [] })
  if (missing.length > 0) throw new Refusal('RIGHTS_NOT_HELD', { params: { rights: missing.join(', ') } })
}

/** Reads what a client wants. Refuses with `INVALID`, by the first field that is wrong. */
export function readWanted(wanted: WantedKey, { max_age }: Pick<KeySettings, 'max_age'>): NewKey {
  const { name, days, permissions = null, paths = null, addresses = null } = wanted
  if (name.trim() === '') throw invalid('name', 'must not be empty')
  if ([...name].length > MAX_NAME) throw invalid('name', 'must be at most {maximum} characters', { maximum: MAX_NAME })
  if (!isPrintable(name)) throw invalid('name', 'must not contain control characters or noncharacters')
  const maximum = daysOf(max_age)
  if (typeof days === 'number' && (days < 1 || days > maximum))
    throw invalid('days', 'must be a whole number from {minimum} to {maximum}', { minimum: 1, maximum })
  for (const [field, values] of Object.entries({ permissions, paths, addresses })) refuseMany(field, values)
  refuseUnknown(
    'paths',
    paths,
    isPathPrefix,
    'must be paths as they are sent, with a slash at the beginning and none at the end',
  )
  refuseUnknown('addresses', addresses, isAddressRange, 'must be addresses or CIDR ranges')
  refuseLong({ permissions, paths, addresses })
  return { name: name.trim(), lifetime: days == null ? max_age : days * DAY, permissions, paths, addresses }
}

function refuseMany(field: string, values: readonly string[] | null): void {
  if (
    values === null ||
    (values.length <= MAX_LIMITS && values.every(({ length }) => length > 0 && length <= MAX_LIMIT))
  )
    return
  throw invalid(field, 'must be a list of at most {maximum} texts of 1 to 128 characters', { maximum: MAX_LIMITS })
}

/** Refuses limits that are too long together, by the longest one. */
function refuseLong(limits: KeyLimits): void {
  const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))
  if (bytesOf(limits) <= MAX_LIMITS_BYTES) return
  const [longest] = Object.entries(limits).sort(([, one], [, other]) => bytesOf(other) - bytesOf(one))
  const fault = 'must be shorter: the limits of a key are at most {maximum} bytes together, as JSON'
  throw invalid(longest![0], fault, { maximum: MAX_LIMITS_BYTES })
}

function refuseUnknown(
  field: string,
  values: readonly string[] | null,
  isKnown: (value: string) => boolean,
  fault: Parameters<typeof invalid>[1],
): void {
  if (values?.length === 0) throw invalid(field, 'must not be empty')
  if (values?.every(isKnown) === false) throw invalid(field, fault)
}

/** The beginning of paths, as the gate judges them: another spelling would never fit. */
function isPathPrefix(text: string): boolean {
  if (!text.startsWith('/') || text.endsWith('/') || text.includes('?')) return false
  try {
    return readTarget(text).path === text
  } catch {
    return false
  }
}

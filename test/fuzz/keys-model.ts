/* What keys and their users are, in a model that knows no store, no cache and no version. */

export const PATHS = [
  '/api/v1/b/orders',
  '/api/v1/b/orders/7',
  '/api/v1/b/ordersx',
  '/api/v1/sys/session/page',
] as const
/** Of clients, and of the lists in keys. */
export const ADDRESSES = ['127.0.0.1', '127.0.0.9'] as const
export const USERS = ['u1', 'u2'] as const
export const MOST = 3

const HOUR = 3_600_000
const OVERLAP = 24 * HOUR
const TOKEN_LIFETIME = HOUR

export interface Limits {
  paths: readonly string[] | null
  addresses: readonly string[] | null
}

export interface ModelKey extends Limits {
  id: string
  key: string
  owner: string
  madeAt: number
  /** Also of a key that ended for good before. */
  endsAt: number
  isSucceeded: boolean
  /** The last access token that was made with it. */
  token: { text: string; endsAt: number } | null
}

export interface ModelUser {
  name: string
  /** Another one each time that the account is added. */
  id: string
  isThere: boolean
  status: string
  password: string
  disabledUntil: number
}

export interface Use {
  path: (typeof PATHS)[number]
  address: (typeof ADDRESSES)[number]
  as: 'header' | 'access token' | 'query' | 'cookie'
}

export class KeysModel {
  readonly users: ModelUser[] = USERS.map(name => ({
    name,
    id: '',
    isThere: false,
    status: 'ACTIVE',
    password: '',
    disabledUntil: 0,
  }))
  /** All that were ever made. */
  readonly keys: ModelKey[] = []

  live(owner: string, now: number): ModelKey[] {
    return this.keys.filter(key => key.owner === owner && now < key.endsAt)
  }

  hasRoom(owner: string, now: number): boolean {
    return this.live(owner, now).filter(({ isSucceeded }) => !isSucceeded).length < MOST
  }

  /** Whether a user has a session, or could have one. */
  isIn({ isThere, status, disabledUntil }: ModelUser, now: number): boolean {
    return isThere && status === 'ACTIVE' && disabledUntil <= now
  }

  endAll(owner: string): void {
    for (const key of this.keys) if (key.owner === owner) key.endsAt = 0
  }

  /** The new key is one more of the list; `null` if the old one cannot be replaced. */
  successor(key: ModelKey, now: number): Omit<ModelKey, 'id' | 'key'> | null {
    if (now >= key.endsAt || key.isSucceeded) return null
    return { ...key, madeAt: now, endsAt: now + key.endsAt - key.madeAt, token: null }
  }

  succeed(key: ModelKey, now: number): void {
    key.isSucceeded = true
    key.endsAt = Math.min(key.endsAt, now + OVERLAP)
  }

  tokenEndsAt = ({ endsAt }: ModelKey, now: number): number => Math.min(endsAt, now + TOKEN_LIFETIME)

  /** 200 for a key that can be used somewhere, or the code of the refusal. */
  stateOf({ owner, endsAt }: ModelKey, now: number): number {
    const user = this.users.find(({ id }) => id === owner)
    if (now >= endsAt || user?.isThere !== true) return 401
    if (user.disabledUntil > now) return 403
    return user.status === 'ACTIVE' ? 200 : 401
  }

  isFor = ({ addresses }: ModelKey, address: string): boolean => addresses === null || addresses.includes(address)

  /** What a use answers: 200, or the code of the refusal. */
  codeOf(key: ModelKey, { path, address, as }: Use, now: number): number {
    const isSent = as === 'header' || (as === 'access token' && key.token !== null && now < key.token.endsAt)
    const state = isSent ? this.stateOf(key, now) : 401
    if (state !== 200) return state
    const isOnPath = key.paths === null || key.paths.some(prefix => path === prefix || path.startsWith(`${prefix}/`))
    return isOnPath && this.isFor(key, address) && path !== '/api/v1/sys/session/page' ? 200 : 403
  }
}

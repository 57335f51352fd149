import type { Permissions } from '../account/permissions.ts'
import type { TimestampFormat } from '../base/timestamp.ts'
import type { Publish } from '../event/event.ts'
import type { GateSides } from '../gate/live-session.ts'
import { createKeys, type Keys } from '../key/keys.ts'
import type { FoundByKey } from '../key/lookup.ts'
import { countWrongKeys } from '../key/metrics.ts'
import { type KeysOfSide, openKeys } from '../key/open.ts'
import type { Logins } from '../login/open.ts'
import { bySide, type LoginType } from '../session/sides.ts'
import { keysOf } from '../settings/served.ts'
import type { Session, Side } from '../side/side.ts'
import type { Store } from '../store/store.ts'
import type { Jwt } from '../token/jwt.ts'
import type { Setup } from './setup.ts'

/** How often the accounts of owners are requested again where the settings request none again, in milliseconds. */
const RECHECK_KEYS = 60_000

/** The keys of each side, as they are stored; `null` for a side without keys. The logins need them. */
export const createStoredKeys = (
  { settings, clock }: Setup,
  store: Pick<Store, 'credentials' | 'attempts'>,
  publish: Publish,
): Readonly<Record<LoginType, Keys | null>> =>
  bySide(type => {
    const settingsOfSide = keysOf(settings, type)
    if (settingsOfSide === 'off') return null
    const { credentials, attempts } = store
    return createKeys({ type, credentials, attempts, settings: settingsOfSide, clock, publish })
  })

export interface KeyParts {
  stored: Readonly<Record<LoginType, Keys | null>>
  store: Pick<Store, 'credentials' | 'sessions'>
  login: Pick<Logins, 'sources' | 'proofs'>
  jwt: Jwt
  permissions: Permissions
  timestamps: TimestampFormat
  recheckOf(type: LoginType): number | 'off'
}

/** All that is done with the keys of each side. */
export const createKeysOfSides = (
  { settings, clock, meter }: Setup,
  { stored, login, recheckOf, ...parts }: KeyParts,
): Readonly<Record<LoginType, KeysOfSide | null>> => {
  const counted = countWrongKeys(meter)
  return bySide(type => {
    const [keys, settingsOfSide] = [stored[type], keysOf(settings, type)]
    const [accounts, proof, administrators] = [login.sources[type], login.proofs[type], login.proofs.BUSINESS]
    if (keys === null || settingsOfSide === 'off' || accounts === null || proof === null || administrators === null)
      return null
    const recheck = recheckOf(type)
    return openKeys({
      ...parts,
      type,
      settings: settingsOfSide,
      keys,
      accounts,
      recheck: recheck === 'off' ? RECHECK_KEYS : recheck,
      prove: proof.prove,
      proveAdministrator: administrators.prove,
      wrongFrom: address => counted(type, proof.lockout.wrongKeysFrom(address)),
      clock,
    })
  })
}

type Sides = Readonly<Record<LoginType, Side>>
type KeysOfSides = Readonly<Record<LoginType, KeysOfSide | null>>

/**
 * By what the gate finds sessions: tokens and keys of each side. A token that was made for a program is refused in a cookie: a key
 * never becomes the session of a browser.
 */
export const createGateSides = (sides: Sides, keys: KeysOfSides, jwt: Jwt): GateSides<Session> =>
  bySide(type => gateSideOf(sides[type], sides[type].authenticate, keys[type]?.sessions ?? null, jwt))

/** The same for an explanation: sessions and keys do not count as used, nor wrong keys as failures. */
export const createExplainedSides = (sides: Sides, keys: KeysOfSides, jwt: Jwt): GateSides<Session> =>
  bySide(type => gateSideOf(sides[type], sides[type].inspectForGate, keys[type]?.sessions.inspected ?? null, jwt))

function gateSideOf(
  { whyEnded }: Side,
  live: Side['authenticate'],
  keys: FoundByKey | null,
  jwt: Jwt,
): GateSides<Session>[LoginType] {
  if (keys === null) return { authenticate: live, whyEnded }
  return {
    whyEnded,
    authenticateKey: keys.find,
    authenticate(token, source) {
      const claims = jwt.read(token)
      const byKey = claims === null ? null : keys.findByClaims(claims)
      if (byKey === undefined) return live(token)
      return source === 'cookie' ? null : byKey
    },
  }
}

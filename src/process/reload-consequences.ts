import { sealingKey } from '../second-factor/sealed.ts'
import { LOGIN_TYPES } from '../session/sides.ts'
import type { Settings } from '../settings/schema/settings.ts'
import { servesSecondFactors, signsAssertions } from '../settings/served.ts'
import { placeOf } from '../store/redis/connection/shown-address.ts'

/** What else a changed configuration does to users and services, in sentences for operators. */
export function consequencesOf(running: Settings, next: Settings): string[] {
  const notes: [isSo: boolean, text: string][] = [
    [running.jwt.secret_key !== next.jwt.secret_key, 'jwt.secret_key has changed: every earlier session is refused'],
    [
      running.login.sm2.private_key !== next.login.sm2.private_key,
      'login.sm2.private_key has changed: open sign-in pages get the new public key when they are loaded again',
    ],
    [
      losesSecondFactors(running, next),
      'the key of second factors (login.second_factor.key, else made from login.sm2.private_key) has changed: no earlier ' +
        'second factor can be checked; set the previous key again, or reset them',
    ],
    [
      running.internal.secret !== next.internal.secret,
      'internal.secret has changed: services that send the previous one are refused',
    ],
    [
      signsWithUnknownKey(running, next),
      'identity.key_file has a key that was not published before: services refuse requests until they have read it; to avoid ' +
        'this, name it in identity.previous_key_file first',
    ],
    [storeOf(running) !== storeOf(next), 'store has changed: sessions of another store are not found in this one'],
  ]
  return notes.filter(([isSo]) => isSo).map(([, text]) => text)
}

function losesSecondFactors(running: Settings, next: Settings): boolean {
  const [before, after] = [factorKeyOf(running), factorKeyOf(next)]
  return before !== null && after !== null && before !== after
}

/** The key that opens stored second factors; `null` if no user can have one. */
const factorKeyOf = (settings: Settings): string | null =>
  LOGIN_TYPES.some(type => servesSecondFactors(settings, type))
    ? sealingKey(settings.login.second_factor.key, settings.login.sm2.private_key).toString('hex')
    : null

function signsWithUnknownKey(running: Settings, next: Settings): boolean {
  const [published, [signing]] = [assertionKeysOf(running), assertionKeysOf(next)]
  return published.length > 0 && signing !== undefined && !published.includes(signing)
}

/** The published keys of assertions as PEM texts, first the one that signs; none if no upstream gets assertions. */
function assertionKeysOf(settings: Settings): string[] {
  if (!signsAssertions(settings)) return []
  const { key_file, previous_key_file } = settings.identity
  return [key_file, previous_key_file].flatMap(file => (file === undefined ? [] : (settings.pem[file] ?? [])))
}

/** Where sessions are: another time limit, user or password of Redis is no other store. */
const storeOf = ({ store: { kind, prefix, redis } }: Settings): string =>
  kind === 'redis' && redis !== undefined ? `${prefix} at ${placeOf(redis)}` : kind

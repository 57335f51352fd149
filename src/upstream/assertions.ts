import type { Clock } from '../base/clock.ts'
import { createRecent } from '../base/recent.ts'
import { type SessionRecord, textsOf } from '../session/record.ts'
import type { AssertionSettings } from '../settings/schema/upstreams.ts'
import type { Session } from '../side/side.ts'
import type { Assertion, AssertionSigner } from '../token/assertion.ts'

/** The assertions that an upstream gets about the users of its requests. */
export interface Assertions {
  /** The header that carries them. */
  readonly header: string
  /**
   * The assertion about the user of a session. It is valid for half of its lifetime at least: until then, all requests of the
   * session bring the same one. A promise where it has to be signed.
   */
  of(session: Pick<Session, 'token' | 'record'>): string | Promise<string>
}

interface Signed {
  record: SessionRecord
  /** When it was signed, in milliseconds since 1970. */
  at: number
  assertion: string | Promise<string>
}

/** How many sessions of an upstream have theirs kept; an entry takes less than a kilobyte. */
const REMEMBERED = 20_000

export function createAssertions(
  { header, lifetime }: AssertionSettings,
  audience: string,
  signer: AssertionSigner,
  clock: Clock,
): Assertions {
  const recent = createRecent<Signed>(REMEMBERED)
  /** When those were dropped that are of no more use. */
  let aged = clock.elapsed()

  /** The memory is that of the sessions of the last minute, not of all that ever were. */
  function forgetUnused(): void {
    const now = clock.elapsed()
    if (now - aged < lifetime / 2) return
    aged = now
    recent.age()
  }

  function sign(record: SessionRecord, at: number): Signed {
    const signed: Signed = { record, at, assertion: '' }
    signed.assertion = signer.sign(assertionOf(record, audience), Math.floor(at / 1000), lifetime / 1000).then(
      text => {
        signed.assertion = text
        return text
      },
      fault => {
        signed.at = Number.NEGATIVE_INFINITY
        throw fault
      },
    )
    return signed
  }

  return {
    header,
    of({ token, record }) {
      const now = clock.now()
      const known = recent.get(token)
      // Signed before the clock was set back, one is not valid yet.
      const isYoung = known !== undefined && known.at <= now && now - known.at < lifetime / 2
      if (isYoung && isSame(known.record, record)) return known.assertion
      const signed = sign(record, now)
      recent.set(token, signed)
      forgetUnused()
      return signed.assertion
    },
  }
}

function assertionOf(record: SessionRecord, audience: string): Assertion {
  const { user_id, type, extra } = record
  return {
    sub: user_id,
    aud: audience,
    login_type: type,
    ...(typeof extra.username === 'string' && { username: extra.username }),
    roles: textsOf(extra, 'roles'),
  }
}

/** Whether two records say the same. A store may read the record of a session anew for each request. */
const isSame = (one: SessionRecord, other: SessionRecord): boolean =>
  one === other || JSON.stringify(assertionOf(one, '')) === JSON.stringify(assertionOf(other, ''))

import type { Clock } from '../base/clock.ts'
import type { TimestampFormat } from '../base/timestamp.ts'
import type { Publish } from '../event/event.ts'
import type { EndReason } from '../session/end-reason.ts'
import type { LoginType } from '../session/sides.ts'
import { createAges } from '../store/age.ts'
import type { AttemptStore, EndNote, ExtraOf, SessionStore } from '../store/store.ts'
import type { Jwt } from '../token/jwt.ts'
import { createBegin } from './begin-session.ts'
import { createDisable } from './disable.ts'
import { createEnd } from './end-sessions.ts'
import { createLiveSessions, type Session } from './live.ts'
import { createPolicy, type SessionPolicy } from './policy.ts'
import { createRequestQueries, createUserQueries } from './queries.ts'
import { createConfirmed, type IsReplicated } from './replicated-events.ts'

export type { Session, WithHeaders } from './live.ts'

export interface SideOptions {
  type: LoginType
  jwt: Jwt
  store: SessionStore
  attempts: Pick<AttemptStore, 'read' | 'set' | 'clear'>
  clock: Clock
  timestamps: TimestampFormat
  /** Lifetime of a session in seconds. */
  expireSeconds: number
  /** Name of the header that carries the token. */
  tokenName: string
  /** Whether a disabled login id is refused on every request. */
  enforceDisable: boolean
  /** How long clients receive the reason for which their session has ended, in milliseconds. */
  tellEnd: 'off' | number
  policy: SessionPolicy
  publish: Publish
  /** Called with each session that is found, in addition to the policies. */
  used?: ((session: Session) => void) | undefined
  isReplicated?: IsReplicated | undefined
}

export type Side = ReturnType<typeof createSide>

/** The operations of one side ("Internal authentication operations"). Invalid input is refused with `INVALID`. */
export function createSide(options: SideOptions) {
  const { type, timestamps } = options
  const confirmed = createConfirmed(type, options.publish, options.isReplicated)
  const noteOf = createNotes(options)
  const policy = createPolicy({ ...options, confirmed, noteOf, ages: createAges(timestamps) })
  const { enforce, checkLock, ...disable } = createDisable({ ...options, confirmed })
  const reading = {
    ...options,
    headerName: options.tokenName.toLowerCase(),
    tellsEnd: options.tellEnd !== 'off',
    enforceDisable: options.enforceDisable ? enforce : null,
  }
  const live = createLiveSessions({ ...reading, used: bothOf(policy.used, options.used) })
  const unused = createLiveSessions({ ...reading, used: () => null })
  const renewing = createLiveSessions({ ...reading, used: bothOf(() => null, options.used) })
  const { headerName, getTokenValue, authenticate, whyEnded, sessionOf } = live
  return {
    type,
    headerName,
    getLoginType: (): LoginType => type,
    getTokenValue,
    authenticate,
    whyEnded,
    sessionOf,
    /** As `find` and `authenticate`, for an explanation: the session does not count as used, so it is not renewed. */
    inspect: unused.find,
    inspectForGate: unused.authenticate,
    ...createBegin({
      ...options,
      live: renewing,
      policy,
      checkLock,
      publish: event => options.publish({ ...event, type }),
    }),
    ...createEnd({ ...options, live, confirmed, noteOf }),
    /** How long a session with this `extra` lives from now on if it begins or is renewed now, in seconds. */
    lifetimeOf: policy.lifetimeOf,
    /** Another `extra` for a live session, made of the one that it has now; `false` if it has ended. */
    replaceExtra: ({ token, record }: Session, extraOf: ExtraOf): Promise<boolean> =>
      options.store.replaceRecord(type, record.user_id, token, extraOf),
    ...createRequestQueries({ ...options, live }),
    ...createUserQueries({ ...options, live }),
    ...disable,
  }
}

/** Makes the notes with which sessions end; `undefined` where no reason is kept. */
export function createNotes({ tellEnd, clock }: Pick<SideOptions, 'tellEnd' | 'clock'>) {
  return (reason: EndReason): EndNote | undefined =>
    tellEnd === 'off' ? undefined : { reason, until: clock.now() + tellEnd }
}

/** Calls both; a side without the second has nothing more to do for a request. */
function bothOf(first: (session: Session) => number | null, second: ((session: Session) => void) | undefined) {
  if (second === undefined) return first
  return (session: Session): number | null => {
    second(session)
    return first(session)
  }
}

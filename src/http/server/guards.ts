import type { FastifyRequest, onRequestHookHandler } from 'fastify'
import type { PermissionMode, Permissions } from '../../account/permissions.ts'
import { Refusal } from '../../refusal.ts'
import type { LoginType, SessionRecord } from '../../session.ts'
import type { Session } from '../../side/side.ts'
import type { Upstream } from '../../upstream/upstream.ts'
// request.session is declared there.
import type {} from './authenticate.ts'

/**
 * Guards of single routes ("Authentication", rule 6), as hooks: `onRequest: guards.requireLogin('BUSINESS')`, or at any
 * later stage. They judge the session that the gate found; they stand behind it, never in its place.
 */
export interface Guards {
  /** Refuses with NOT_LOGGED_IN who has no live session of this side. */
  requireLogin(type: LoginType): onRequestHookHandler
  /**
   * Refuses with NOT_LOGGED_IN who has no live session of this side, and with NOT_PERMITTED whose session lacks the
   * codes: one of them where `mode` is `all` (the default), every one where it is `any`. Codes are no patterns; a list
   * that is empty or holds a pattern is a mistake and throws at once.
   */
  requirePermission(
    type: LoginType,
    codes: readonly string[],
    options?: { mode?: PermissionMode },
  ): onRequestHookHandler
}

export function createGuards(permissions: Permissions): Guards {
  return {
    requireLogin: type => (request, _reply, done) => {
      sessionOf(request, type)
      done()
    },
    requirePermission(type, codes, { mode = 'all' } = {}) {
      const fault = faultOfCodes(codes)
      if (fault !== null) throw new TypeError(`requirePermission: ${fault}`)
      return (request, _reply, done) => {
        const judged = judgePermitted(permissions, sessionOf(request, type), codes, mode)
        if (judged === undefined) done()
        else judged.then(() => done(), done)
      }
    },
  }
}

/** Refuses who is not permitted, at once where the rights are at hand: then there is nothing to wait for. */
function judgePermitted(
  permissions: Permissions,
  record: SessionRecord,
  codes: readonly string[],
  mode: PermissionMode,
): Promise<void> | undefined {
  const holder = permissions.holderOf(record)
  if (holder instanceof Promise) return holder.then(found => refuseUnpermitted(permissions, found, codes, mode))
  refuseUnpermitted(permissions, holder, codes, mode)
  return undefined
}

/** Refuses with NOT_PERMITTED a session that lacks the codes, and names those that are missing. */
function refuseUnpermitted(
  permissions: Permissions,
  record: SessionRecord,
  codes: readonly string[],
  mode: PermissionMode,
): void {
  if (permissions.allows(record, codes, mode)) return
  const missing = codes.filter(code => !permissions.allows(record, [code], 'all'))
  throw new Refusal('NOT_PERMITTED', { params: { permissions: listed(missing) } })
}

/**
 * Refuses clients that may not use an upstream: without a session nothing is permitted, whatever the path's rule needs.
 * Answers a promise only where the rights have to be read first.
 */
export function refuseForUpstream(
  permissions: Permissions,
  { permission }: Upstream,
  session: Session | null,
): Promise<void> | undefined {
  if (permission === null) return undefined
  if (session === null) throw new Refusal('NOT_LOGGED_IN')
  return judgePermitted(permissions, session.record, permission.codes, permission.mode)
}

function sessionOf(request: FastifyRequest, type: LoginType): SessionRecord {
  const record = request.session?.record
  if (record === undefined || record.type !== type) throw new Refusal('NOT_LOGGED_IN')
  return record
}

const CODE = /^[^\s:*']+(:[^\s:*']+)*$/

function faultOfCodes(codes: readonly string[]): string | null {
  if (codes.length === 0) return 'no permission is named'
  const wrong = codes.find(code => !CODE.test(code))
  return wrong === undefined ? null : `not a permission code: ${wrong}`
}

/** As the clients in use print it: `['sys:session:page']`. */
const listed = (codes: readonly string[]): string => `[${codes.map(code => `'${code}'`).join(', ')}]`

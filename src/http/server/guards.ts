import type { FastifyRequest, onRequestHookHandler } from 'fastify'
import type { PermissionMode, Permissions } from '../../account/permissions.ts'
import { Refusal } from '../../base/refusal.ts'
import type { SessionRecord } from '../../session/record.ts'
import type { LoginType } from '../../session/sides.ts'

/**
 * Guards of single routes ("Authentication", rule 6), as hooks: `onRequest: guards.requireLogin('BUSINESS')`, or at any
 * later stage. They check the session that the gate found; they never replace the gate. What a guard protects is not for keys:
 * sessions by key are refused with NOT_FOR_KEYS.
 */
export interface Guards {
  /** Refuses with NOT_LOGGED_IN requests without a live session of this side. */
  requireLogin(type: LoginType): onRequestHookHandler
  /**
   * Refuses with NOT_LOGGED_IN requests without a live session of this side, and with NOT_PERMITTED a session that lacks
   * a code (where `mode` is `all`, the default) or every code (where it is `any`). Codes are not patterns: an empty list
   * or a pattern in it is a mistake and throws at once.
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
        const permitted = permissions.require(sessionOf(request, type), { codes, mode })
        if (permitted === undefined) done()
        else permitted.then(() => done(), done)
      }
    },
  }
}

function sessionOf(request: FastifyRequest, type: LoginType): SessionRecord {
  const { session } = request
  if (session === null || session.record.type !== type) throw new Refusal('NOT_LOGGED_IN')
  if (session.key !== undefined) throw new Refusal('NOT_FOR_KEYS')
  return session.record
}

const CODE = /^[^\s:*']+(:[^\s:*']+)*$/

function faultOfCodes(codes: readonly string[]): string | null {
  if (codes.length === 0) return 'no permission is named'
  const wrong = codes.find(code => !CODE.test(code))
  return wrong === undefined ? null : `not a permission code: ${wrong}`
}

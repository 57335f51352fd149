import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { readTarget, type Target } from '../gate/path.ts'
import { decide, type PathRules, type Verdict } from '../gate/rules.ts'
import { Refusal } from '../refusal.ts'
import type { LoginType } from '../side/record.ts'
import type { Session, Side } from '../side/side.ts'
import { refuseAmbiguous, refuseInvalid, refuseMisframed } from './ambiguous.ts'
import { tokenOfUpgrade } from './websocket/upgrade.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The canonical path and the raw query: what was judged is what is forwarded. */
    target: Target
    /** What the gate decided; `null` until then, and for a request that was refused before. */
    verdict: Verdict | null
    /** The caller's live session; `null` where none was needed. */
    session: Session | null
  }
}

export type Sides = Readonly<Record<LoginType, Side>>

/**
 * The first hook of every request, whatever its method or route: reads the target once, refuses what is ambiguous, and
 * lets the rules decide. A path that no rule names is not found.
 */
export function createJudge(rules: PathRules, tokenHeader: string) {
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    refuseMisframed(request.raw, reply.raw)
    refuseInvalid(request.raw, request.host)
    request.target = readTarget(request.raw.url ?? '')
    const verdict = decide(request.target.path, request.method, rules)
    refuseAmbiguous(request.raw, tokenHeader, verdict)
    if (verdict === null) throw new Refusal('NOT_FOUND')
    request.verdict = verdict
    done()
  }
}

/** The gate: a request that needs a session of a side passes with a live one of that side, and is refused otherwise. */
export function createGate(sides: Sides) {
  return (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const need = request.verdict?.need
    if (need === undefined) throw new Refusal('NOT_FOUND')
    if (need === 'none') {
      done()
      return
    }
    const side = sides[need]
    const token = side.getTokenValue(request) ?? tokenOfUpgrade(request.raw)
    if (token === null) throw new Refusal('NOT_LOGGED_IN')

    const admit = (session: Session | null): void => {
      request.session = session
      done(session === null ? new Refusal('NOT_LOGGED_IN') : undefined)
    }
    // A store that answers at once costs no turn of the event loop.
    const session = side.authenticate(token)
    if (session instanceof Promise) session.then(admit, done)
    else admit(session)
  }
}

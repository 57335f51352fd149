import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { Refusal } from '../../base/refusal.ts'
import {
  admit,
  allowAddress,
  findOptional,
  type GateSides,
  isOptional,
  judge,
  serveOrRefuse,
} from '../../gate/decide.ts'
import type { PathRules } from '../../gate/rules.ts'
import type { LoginType } from '../../session.ts'
import type { Session, Side } from '../../side/side.ts'
import type { Token } from '../../token/bearer.ts'
import type { UpstreamTable } from '../../upstream/table.ts'
import { refuseAmbiguous, refuseInvalid, refuseMisframed } from './ambiguous.ts'
import type { OwnPaths } from './own-paths.ts'
import { tokenOfUpgrade } from './upgrade.ts'

export type Sides = Readonly<Record<LoginType, Side>>

/**
 * The first hook of every request, for all methods and routes: parses the target once, refuses ambiguous requests, and
 * applies the rules. A path without a rule is not found.
 */
export function createJudge(rules: PathRules, tokenHeader: string, ownPaths: OwnPaths) {
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    refuseMisframed(request.raw, reply.raw)
    refuseInvalid(request.raw, request.host)
    const { target, verdict } = judge(request.raw.url ?? '', request.method, rules)
    request.target = target
    ownPaths.refuseUnknownMethod(request.method, target.path)
    refuseAmbiguous(request.raw, tokenHeader, verdict)
    if (verdict === null) throw new Refusal('NOT_FOUND')
    request.verdict = verdict
    done()
  }
}

/** Refuses clients whose address may not call a path, on own routes too, ahead of everything that costs more. */
export function createAddressHook(rules: Pick<PathRules, 'access'>) {
  return (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    allowAddress(request.target.path, request.ip ?? null, rules)
    done()
  }
}

/** Refuses requests to upstreams under maintenance, ahead of the gate. The gateway's own routes stay in service. */
export function createMaintenanceHook({ find }: Pick<UpstreamTable, 'find'>) {
  return (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    if (request.routeOptions.config.isForwarded === true) serveOrRefuse(find(request.target.path), request.ip ?? null)
    done()
  }
}

type GatingSides = GateSides<Session> & { BUSINESS: Pick<Side, 'getTokenValue'> }

/** Both sides read the same header. */
const tokenOf = (request: FastifyRequest, sides: GatingSides): Token | null =>
  sides.BUSINESS.getTokenValue(request) ?? tokenOfUpgrade(request.raw)

/** Finds the session of requests that need none, for upstreams with `identity.optional`. It comes behind the gate. */
export function createOptionalHook(sides: GatingSides, { find }: Pick<UpstreamTable, 'find'>) {
  return (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const { verdict, target } = request
    const isForwarded = request.routeOptions.config.isForwarded === true
    if (verdict?.need !== 'none' || !isForwarded || !isOptional(verdict, find(target.path))) {
      done()
      return
    }
    const pass = (session: Session | null): void => {
      request.session = session
      done()
    }
    const session = findOptional(verdict, tokenOf(request, sides), sides)
    if (session instanceof Promise) session.then(pass, done)
    else pass(session)
  }
}

/** The gate: a request passes with the session that its verdict requires, and is refused otherwise. */
export function createGate(sides: GatingSides) {
  return (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const { verdict } = request
    // If no session is needed, the token is not read.
    const token = verdict === null || verdict.need === 'none' ? null : tokenOf(request, sides)
    const pass = (session: Session | null): void => {
      request.session = session
      done()
    }
    const session = admit(verdict, token, sides)
    if (session instanceof Promise) session.then(pass, done)
    else pass(session)
  }
}

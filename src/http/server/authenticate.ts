import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { Refusal } from '../../base/refusal.ts'
import {
  type CookieCredential,
  type Credential,
  type CredentialRules,
  cookiesOf,
  keyOf,
} from '../../gate/credential.ts'
import { decide, type Gate, type GatedRequest, judge } from '../../gate/decide.ts'
import type { GateSides } from '../../gate/live-session.ts'
import type { CanonicalPath } from '../../gate/path.ts'
import type { PathRules, Verdict } from '../../gate/rules.ts'
import type { LoginType } from '../../session/sides.ts'
import type { Session, Side } from '../../side/side.ts'
import { readBearer } from '../../token/bearer.ts'
import type { UpstreamTable } from '../../upstream/table.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import { refuseAmbiguous, refuseInvalid, refuseMisframed } from './ambiguous-request.ts'
import { clientNetworkOf } from './client-network.ts'
import type { OwnPaths } from './own-paths.ts'
import { tokenOfUpgrade, upgradeOf } from './upgrade.ts'

export type Sides = Readonly<Record<LoginType, Side>>

export interface JudgeOptions {
  rules: PathRules
  /** Lower-case name of the header that carries the token. */
  tokenHeader: string
  ownPaths: OwnPaths
  upstreams: Pick<UpstreamTable, 'find'>
}

/**
 * The first hook of every request, for all methods and routes: parses the target once, refuses ambiguous requests, applies
 * the rules, and finds the upstream. A path without a rule is not found.
 */
export function createJudge({ rules, tokenHeader, ownPaths, upstreams }: JudgeOptions) {
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    refuseMisframed(request.raw, reply.raw)
    refuseInvalid(request.raw, request.host)
    const { target, verdict } = judge(request.raw.url ?? '', request.method, rules)
    request.target = target
    ownPaths.refuseUnknownMethod(request.method, target.path)
    refuseAmbiguous(request.raw, tokenHeader, verdict)
    if (verdict === null) throw new Refusal('NOT_FOUND')
    request.verdict = verdict
    if (!ownPaths.has(target.path)) {
      const upstream = upstreams.find(target.path, rules)
      // Not found either way, once the gate has let the request pass.
      request.destination = upstream === 'other-spelling' ? null : upstream
    }
    done()
  }
}

export interface GateOptions extends Gate<Session> {
  sides: GateSides<Session>
  credentials: CredentialRules
}

/** The gate: a request passes with the session that its verdict requires, and is refused otherwise. */
export function createGate(gate: GateOptions) {
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const decided = decide(new ClientRequest(request, gate), gate)
    if (decided instanceof Promise) decided.then(() => pass(request, reply, gate, done), done)
    else pass(request, reply, gate, done)
  }
}

function pass(request: FastifyRequest, reply: FastifyReply, gate: GateOptions, done: HookHandlerDoneFunction): void {
  if (request.hasCookieSession) renewCookie(request.session, reply, gate.credentials)
  done()
}

/** The cookies of a client of the public listener, as far as they count. */
export function cookiesOfClient(
  request: FastifyRequest,
  isOfPage: boolean,
  credentials: CredentialRules,
): CookieCredential | null {
  const { raw, method } = request
  const handshakeTokens = upgradeOf(raw)?.tokens ?? null
  return cookiesOf({ headers: raw.headers, method, handshakeTokens, own: request, isOfPage }, credentials)
}

/** Sends the cookie again where the request that it came with has renewed its session: it lives as long. */
export function renewCookie(session: Session | null, reply: FastifyReply, { cookies }: CredentialRules): void {
  if (session?.renewedFor === undefined) return
  reply.header('set-cookie', cookies!.set(session.record.type, session.token, session.renewedFor))
}

/** A request of the public listener, as the gate reads it. */
class ClientRequest implements GatedRequest<Session> {
  readonly #request: FastifyRequest
  readonly #gate: GateOptions

  constructor(request: FastifyRequest, gate: GateOptions) {
    this.#request = request
    this.#gate = gate
  }

  get path(): CanonicalPath {
    return this.#request.target.path
  }

  get verdict(): Verdict | null {
    return this.#request.verdict
  }

  get upstream(): Upstream | null {
    return this.#request.destination
  }

  get address(): string | null {
    return this.#request.ip ?? null
  }

  get network(): string {
    return clientNetworkOf(this.#request)
  }

  /** Both sides read the same header. */
  get credential(): Credential | null {
    const { credentials } = this.#gate
    const { raw } = this.#request
    const found =
      keyOf(raw, credentials, this) ?? readBearer(raw.headers[credentials.tokenHeader]) ?? tokenOfUpgrade(raw)
    return found ?? (credentials.cookies === null ? null : this.#cookies(credentials))
  }

  #cookies(credentials: CredentialRules): Credential | null {
    const cookies = cookiesOfClient(this.#request, this.#request.verdict!.page !== undefined, credentials)
    this.#request.hasCookieSession = cookies !== null
    return cookies
  }

  onAdmitted(session: Session | null): void {
    this.#request.session = session
    this.#request.upstream = this.#request.destination?.name ?? null
  }
}

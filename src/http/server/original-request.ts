import type { FastifyRequest } from 'fastify'
import { isIdentity, isOverriding, isUnusualSpelling } from '../../base/header-names.ts'
import { Refusal } from '../../base/refusal.ts'
import { METHODS } from './ambiguous-request.ts'

/* The request that a proxy asks about: how proxies tell it, and what a client could have forged of it. */

/** A request as the proxy that asks has received it. */
export interface Original {
  method: string
  target: string
}

/** How proxies tell the original request: nginx as its configuration says, Traefik and Caddy by themselves. */
const CONVENTIONS = [
  { target: 'x-original-uri', method: 'x-original-method' },
  { target: 'x-forwarded-uri', method: 'x-forwarded-method' },
] as const

/** The path behind ours, and our method. */
export const originalBehind =
  (path: string) =>
  ({ raw }: FastifyRequest): Original => ({ method: raw.method ?? '', target: (raw.url ?? '').slice(path.length) })

/**
 * The headers of one convention, target and method both. A proxy replaces what a client sent in those that it sets itself,
 * and passes the others on: with the headers of two conventions, or with half of one, a client may have chosen.
 */
export function originalFromHeaders({ headers }: FastifyRequest): Original {
  const told = CONVENTIONS.filter(
    ({ target, method }) => headers[target] !== undefined || headers[method] !== undefined,
  )
  const [convention] = told
  if (told.length !== 1 || convention === undefined) throw misconfigured()
  const [target, method] = [headers[convention.target], headers[convention.method]]
  if (typeof target !== 'string' || typeof method !== 'string' || !METHODS.has(method)) throw misconfigured()
  return { method, target }
}

const misconfigured = (): Refusal =>
  new Refusal('BAD_REQUEST', {
    params: {
      fault: 'the proxy has to name path and method, in X-Original-URI and -Method or X-Forwarded-Uri and -Method',
    },
  })

/**
 * Refuses what a backend could take for our identity headers, and what could make it serve another path or method than the one
 * that is judged, in every spelling: the proxy forwards the headers of the client and adds ours, so a spelling that it does
 * not replace would arrive beside them. It removes the plain ones before it asks.
 */
export function refuseForged(rawHeaders: readonly string[]): void {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    if (isIdentity(name)) throw forged('identity headers, which the proxy has to remove first')
    if (isOverriding(name)) throw forged('a header that overrides path or method, which the proxy has to remove first')
    if (isUnusualSpelling(name)) throw forged('a header of proxies in another spelling')
  }
}

const forged = (fault: string): Refusal => new Refusal('BAD_REQUEST', { params: { fault } })

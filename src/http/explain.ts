import { Refusal } from '../base/refusal.ts'
import type { AccessRule } from '../gate/address-rules.ts'
import { accessRuleOf, isOptional, judge } from '../gate/decide.ts'
import { signInFor } from '../gate/navigation.ts'
import type { CanonicalPath } from '../gate/path.ts'
import type { RequiredSession } from '../gate/required-session.ts'
import type { PathRules, Verdict } from '../gate/rules.ts'
import { ownMethods, ownRoutes } from '../settings/own-routes.ts'
import { PROFILES } from '../settings/profile.ts'
import type { Settings } from '../settings/schema/settings.ts'
import type { UpstreamSettings } from '../settings/schema/upstreams.ts'
import { cookieSides, pathRulesOf } from '../settings/served.ts'
import { describeTarget } from '../settings/targets.ts'
import { workerCount } from '../settings/worker-count.ts'
import type { UpstreamTable } from '../upstream/table.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { headersOf } from './explain-headers.ts'
import { METHODS } from './server/ambiguous-request.ts'

/** The settings that decide about requests. */
export type DecidingSettings = Omit<Settings, 'jwt' | 'login' | 'internal' | 'warnings' | 'pem'> & {
  jwt: Pick<Settings['jwt'], 'token_name'>
  login: Pick<Settings['login'], 'consumer' | 'logout_routes' | 'second_factor' | 'providers'>
}

export type Row = [name: string, value: string]

/** The rows of an explanation, and what it found on the way. */
export interface Explanation {
  rows: Row[]
  /** `null` where the request is refused, or answered, before a session counts. */
  found: Found | null
}

interface Found {
  path: CanonicalPath
  verdict: Verdict
  /** `null` where the gateway answers itself. */
  upstream: Upstream | null
}

const NEEDS: Record<RequiredSession, string> = {
  none: 'no session',
  BUSINESS: 'a live B-side session (BUSINESS)',
  CONSUMER: 'a live C-side session (CONSUMER)',
  either: 'a live session of either side (BUSINESS or CONSUMER)',
}

/** What becomes of a request by its method, its target and, where it is known, its client's address. Nothing is sent. */
export function explainRequest(
  method: string,
  text: string,
  settings: DecidingSettings,
  { find }: Pick<UpstreamTable, 'find'>,
  address: string | null = null,
): Explanation {
  const profile = PROFILES[settings.profile]
  const rules = pathRulesOf(settings, profile)
  const judged = orRefusal(() => judge(text, method, rules))
  if (judged instanceof Refusal) return refusedWith([], describeRefusal(judged))
  const { target, verdict } = judged
  const query = withoutToken(target.query)
  const rows: Row[] = [['path', target.path]]
  if (!METHODS.has(method)) return refusedWith(rows, `METHOD_NOT_ALLOWED: only ${[...METHODS].join(', ')} are served`)
  if (query !== '') rows.push(['query', query])
  if (verdict === null) return refusedWith([...rows, ['rule', 'no rule applies']], 'NOT_FOUND')
  rows.push(...ruleRows(verdict, rules, profile.number), ...signInRows(verdict, settings))
  // As a preflight, ahead of the gate.
  if (method === 'OPTIONS' && settings.cors !== 'off')
    return { rows: [...rows, ['answered by', 'the gateway itself: cors is on']], found: null }
  const access = accessRuleOf(target.path, rules)
  if (access !== null) {
    rows.push(['access', describeAccess(access, rules)])
    if (address !== null && !access.admits(address)) return refusedWith(rows, `ADDRESS_NOT_ALLOWED: ${address}`)
  }

  const own = ownMethods(ownRoutes(settings, profile), target.path)
  if (own.includes(method)) {
    return {
      rows: [...rows, ['answered by', 'the gateway itself']],
      found: { path: target.path, verdict, upstream: null },
    }
  }
  if (own.length > 0)
    return refusedWith(rows, `METHOD_NOT_ALLOWED: the gateway serves this path itself, with ${own.join(', ')}`)
  const upstream = find(target.path, rules)
  if (upstream === null) return refusedWith(rows, 'NOT_FOUND: no upstream matches')
  if (upstream === 'other-spelling')
    return refusedWith(
      rows,
      'NOT_FOUND: a backend could read it as a path with a longer match; if it is another one, name it as a match',
    )
  const path = orRefusal(() => upstream.pathFor(target.path))
  if (path instanceof Refusal)
    return refusedWith([...rows, answeredBy(upstream)], `${describeRefusal(path)}, after its rewrite`)
  return {
    rows: [...rows, ...explainUpstream(upstream, `${method} ${path}${query}`, method, verdict, settings)],
    found: { path: target.path, verdict, upstream },
  }
}

const refusedWith = (rows: Row[], why: string): Explanation => ({ rows: [...rows, ['refused', why]], found: null })

const answeredBy = ({ name, match }: Upstream): Row => ['answered by', `upstream ${name} (${match})`]

/** A token in a query is never shown, whoever wrote it there. */
const withoutToken = (query: string): string => query.replace(/([?&]token=)[^&]+/g, '$1<token>')

function ruleRows(verdict: Verdict, rules: PathRules, profile: number): Row[] {
  const rows: Row[] = [['rule', `${verdict.rule.number} of profile ${profile}`]]
  if (verdict.exception !== undefined) {
    const { path, methods } = verdict.exception
    const index = rules.exceptions.indexOf(verdict.exception)
    rows.push(['exception', `gate.exceptions[${index}] ${path} (${[...methods].join(', ')})`])
  }
  if (verdict.page !== undefined) {
    const { path, methods } = verdict.page
    const named = methods === null ? '' : ` (${[...methods].join(', ')})`
    rows.push(['page', `gate.pages[${rules.pages.indexOf(verdict.page)}] ${path}${named}`])
  }
  return [...rows, ['needs', NEEDS[verdict.need]]]
}

/** Where people are led who want a page and are not signed in. */
function signInRows(verdict: Verdict, settings: DecidingSettings): Row[] {
  const page = signInFor(verdict, new Set(cookieSides(settings)))
  return page === null ? [] : [['sign-in', `${page} for people without a session; programs get 401`]]
}

function describeAccess(rule: AccessRule, { access }: PathRules): string {
  const { path, allow, deny } = rule
  const allowed = allow === undefined ? 'every client address' : `only ${allow.join(', ')}`
  const except = deny === undefined ? '' : ` except ${deny.join(', ')}`
  return `access[${access.indexOf(rule)}] ${path}: ${allowed}${except}`
}

function orRefusal<T>(act: () => T): T | Refusal {
  try {
    return act()
  } catch (refusal) {
    if (refusal instanceof Refusal) return refusal
    throw refusal
  }
}

const describeRefusal = ({ reason, params }: Refusal): string => `${reason}: ${params.fault ?? 'the path is too long'}`

function explainUpstream(
  upstream: Upstream,
  forwarded: string,
  method: string,
  verdict: Verdict,
  settings: DecidingSettings,
): Row[] {
  return [
    answeredBy(upstream),
    ['sent to', sentTo(upstream).join(' or ')],
    ...resolveOf(upstream, settings),
    ...maintenanceOf(upstream, settings),
    ...rateLimitOf(upstream, settings),
    ...(isOptional(verdict, upstream) ? [OPTIONAL] : []),
    ...(upstream.targets.length > 1 ? [['balance', balanceOf(upstream, settings)] as Row] : []),
    ['as', forwarded],
    ...responseEditsOf(upstream, settings),
    ...headersOf(upstream, settingsOf(upstream, settings), { method, verdict, tokenName: settings.jwt.token_name }).map(
      (line, index): Row => [index === 0 ? 'headers' : '', line],
    ),
  ]
}

const OPTIONAL: Row = ['identity', 'x-login-id and x-login-type, if the request has a live session of either side']

const sentTo = ({ targets, urls }: Upstream): readonly string[] =>
  targets.length === 0 ? urls : targets.map(describeTarget)

const settingsOf = ({ name }: Upstream, { upstreams }: DecidingSettings): UpstreamSettings =>
  upstreams.find(upstream => upstream.name === name)!

function responseEditsOf(upstream: Upstream, settings: DecidingSettings): Row[] {
  const { set = {}, remove = [] } = settingsOf(upstream, settings).response_headers ?? {}
  const edits = [...Object.keys(set).map(name => `set ${name}`), ...remove.map(name => `remove ${name}`)]
  return edits.length === 0 ? [] : [['response', edits.join(', ')]]
}

function maintenanceOf(upstream: Upstream, settings: DecidingSettings): Row[] {
  const { maintenance } = settingsOf(upstream, settings)
  if (maintenance === 'off') return []
  const except = maintenance.allow.length === 0 ? '' : `, except from ${maintenance.allow.join(', ')}`
  return [['refused', `MAINTENANCE: 503, Retry-After ${upstream.maintenance!.retryAfter}${except}`]]
}

function resolveOf(upstream: Upstream, settings: DecidingSettings): Row[] {
  const { resolve } = settingsOf(upstream, settings)
  if (resolve === 'off') return []
  return [['resolve', `each address of a name is a target; names are looked up every ${resolve / 1000} s`]]
}

function rateLimitOf({ rateLimit }: Upstream, settings: DecidingSettings): Row[] {
  if (rateLimit === null) return []
  const { requests, window, burst = requests, per } = rateLimit.settings
  const workers = workerCount(settings)
  const shares = workers === 1 ? '' : `; each of ${workers} workers admits its share`
  return [['limit', `${requests} requests in ${window / 1000} s per ${per}, ${burst} at once${shares}`]]
}

function balanceOf(upstream: Upstream, settings: DecidingSettings): string {
  const { balance } = settingsOf(upstream, settings)
  return typeof balance === 'string' ? balance : `by ${balance.hash}; requests without one in turn`
}

import { isDroppedFromRequests, isFixedInRequests, reservedForm } from '../../base/header-names.ts'
import type { KeyPath, Report } from '../notation/written.ts'
import type { UpstreamSettings } from '../schema/upstreams.ts'
import { isHeaderName } from './header-edits.ts'

/** Headers that other settings decide. */
const DECIDED = new Set(['authorization', 'cookie', 'content-type', 'content-encoding'])

/** Whether the gateway, the connection or the request itself decides a header, so that it can carry nothing else. */
export const isDecided = (name: string): boolean =>
  isDroppedFromRequests(name) || isFixedInRequests(name) || DECIDED.has(reservedForm(name))

/** Headers of proxies that are about the user. Clients cannot send them, and software reads the user from them. */
const OF_USERS = new Set([
  'x-forwarded-user',
  'x-forwarded-email',
  'x-forwarded-groups',
  'x-forwarded-preferred-username',
])

/** Checks that each header of `identity` has one meaning, and takes none that is decided elsewhere. */
export function checkIdentityHeaders(upstream: UpstreamSettings, path: KeyPath, report: Report): void {
  const { set = {}, remove = [] } = upstream.request_headers ?? {}
  const edited = new Set([...Object.keys(set), ...remove].map(reservedForm))
  const seen = new Set<string>()
  for (const [name, place] of namesOf(upstream.identity, [...path, 'identity'])) {
    const reserved = reservedForm(name)
    if (!isHeaderName(name)) report(place, 'is not the name of a header; write one such as X-WEBAUTH-USER')
    else if (isDecided(name) && !OF_USERS.has(reserved))
      report(place, 'cannot carry the identity: the gateway or the request decides this header; choose another name')
    else if (edited.has(reserved)) report(place, 'is edited by request_headers, too; remove one')
    else if (seen.has(reserved)) report(place, 'is there twice, perhaps in another spelling; remove one')
    seen.add(reserved)
  }
}

/** The names, and where each is written. */
const namesOf = ({ headers, assertion }: UpstreamSettings['identity'], path: KeyPath): [string, KeyPath][] => [
  ...Object.keys(headers).map((name): [string, KeyPath] => [name, [...path, 'headers', name]]),
  ...(assertion === 'off' ? [] : [[assertion.header, [...path, 'assertion', 'header']] as [string, KeyPath]]),
]

const SHORTEST = 10_000
const LONGEST = 3_600_000

/** Checks what the schema does not say of `identity.assertion`. */
export function checkAssertion({ identity: { assertion } }: UpstreamSettings, path: KeyPath, report: Report): void {
  if (assertion === 'off') return
  const { lifetime } = assertion
  if (lifetime >= SHORTEST && lifetime <= LONGEST && lifetime % 1000 === 0) return
  report([...path, 'identity', 'assertion', 'lifetime'], 'must be 10s to 1h, in whole seconds, as claims have them')
}

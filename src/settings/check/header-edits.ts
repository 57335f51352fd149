import { isFixedInRequests, isFixedInResponses, reservedForm } from '../../base/header-names.ts'
import { HEADER_NAME } from '../header-field.ts'
import type { KeyPath, Report } from '../notation/written.ts'
import type { UpstreamSettings } from '../schema/upstreams.ts'

const EDITS = [
  { key: 'request_headers', isFixed: isFixedInRequests },
  { key: 'response_headers', isFixed: isFixedInResponses },
] as const

const NAME = new RegExp(`^${HEADER_NAME}$`)

export const isHeaderName = (text: string): boolean => NAME.test(text)

/** Checks that headers are edited once each, and none whose meaning the gateway answers for. */
export function checkHeaderEdits(upstream: UpstreamSettings, path: KeyPath, report: Report): void {
  for (const { key, isFixed } of EDITS) {
    const edits = upstream[key]
    if (edits === undefined) continue
    const places: [name: string, place: KeyPath][] = [
      ...Object.keys(edits.set).map((name): [string, KeyPath] => [name, [...path, key, 'set', name]]),
      ...edits.remove.map((name, index): [string, KeyPath] => [name, [...path, key, 'remove', index]]),
    ]
    const seen = new Set<string>()
    for (const [name, place] of places) {
      const fault = faultOfName(name, isFixed, seen)
      if (fault !== null) report(place, fault)
      seen.add(reservedForm(name))
    }
  }
  if (upstream.response_headers !== undefined && upstream.target === 'builtin:echo') {
    report(
      [...path, 'response_headers'],
      'has no effect, because the gateway itself answers for builtin:echo; name a server as target, or remove it',
    )
  }
}

function faultOfName(name: string, isFixed: (name: string) => boolean, seen: ReadonlySet<string>): string | null {
  if (!isHeaderName(name)) return 'is not the name of a header; write one such as X-Env'
  if (isFixed(name)) {
    return (
      'cannot be edited: headers of identity, framing, one connection, tracing and CORS, and Host, are decided by the ' +
      'gateway alone; remove it'
    )
  }
  return seen.has(reservedForm(name)) ? 'is there twice, perhaps in another spelling; remove one' : null
}

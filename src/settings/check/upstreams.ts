import { isIP } from 'node:net'
import { isIdentity } from '../../base/header-names.ts'
import { hostOf } from '../../base/url-host.ts'
import { isPagePattern } from '../../gate/page-rules.ts'
import { readTarget } from '../../gate/path.ts'
import type { KeyPath, Report, Written } from '../notation/written.ts'
import type { UpstreamSettings } from '../schema/upstreams.ts'
import { targetsOf, UNIX } from '../targets.ts'
import { readUpstreamTls } from '../tls.ts'
import { isAddressRange } from './address-range.ts'
import { reportFaults } from './files.ts'
import { checkHeaderEdits } from './header-edits.ts'
import { checkAssertion, checkIdentityHeaders } from './identity-headers.ts'
import { checkOrigins } from './origins.ts'
import { faultOfSocket } from './socket-path.ts'

/** The checks of a list of upstreams, which is written at `base`. */
export function checkUpstreams(upstreams: readonly UpstreamSettings[], written: Written, base: KeyPath): void {
  const report: Report = (path, message) => written.report([...base, ...path], message)
  const files = new Map<string, KeyPath[]>()
  const reportFile: Report = (path, message) => {
    const paths = files.get(message)
    if (paths === undefined) files.set(message, [path])
    else paths.push(path)
  }
  const seen = { name: new Map<string, number>(), match: new Map<string, number>() }
  for (const [index, upstream] of upstreams.entries()) {
    // First the quick answer: there may be thousands of upstreams, and mostly no faults.
    const isSound = (key: keyof UpstreamSettings): boolean =>
      written.faults.length === 0 || !written.isFaulty([...base, index, key])
    if (written.isUnread([...base, index])) continue
    for (const key of ['name', 'match'] as const) {
      if (!isSound(key)) continue
      const first = seen[key].get(upstream[key])
      if (first === undefined) seen[key].set(upstream[key], index)
      else report([index, key], `is also that of upstream ${first + 1} in the list; each needs its own`)
    }
    if (isSound('target') && isSound('targets') && !written.hasUnknown([...base, index]))
      checkTargetOrTargets(upstream, [index], report)
    for (const { looksAt, run } of CHECKS) if (looksAt.every(isSound)) run(upstream, [index], report, reportFile)
  }
  for (const [message, [first, ...others]] of files) {
    const more = others.length === 0 ? '' : `; ${others.length} more of the upstreams name this file`
    report(first!, `${message}${more}`)
    for (const path of others) written.reportFollowing([...base, ...path])
  }
}

/** A check of one upstream; it is left out when something that it looks at is faulty already. */
interface Check {
  looksAt: (keyof UpstreamSettings)[]
  /** `reportFile` reports a fault of a file, which many upstreams may name. */
  run(upstream: UpstreamSettings, path: KeyPath, report: Report, reportFile: Report): void
}

const CHECKS: readonly Check[] = [
  { looksAt: ['target', 'targets'], run: checkTargets },
  { looksAt: ['match', 'rewrite'], run: checkPaths },
  { looksAt: ['target', 'websocket'], run: checkWebSocket },
  { looksAt: ['target', 'request_headers', 'response_headers'], run: checkHeaderEdits },
  { looksAt: ['identity', 'request_headers'], run: checkIdentityHeaders },
  { looksAt: ['identity'], run: checkAssertion },
  { looksAt: ['maintenance'], run: checkMaintenance },
  { looksAt: ['rate_limit'], run: checkRateLimit },
  { looksAt: ['target', 'targets', 'resolve'], run: checkResolve },
  { looksAt: ['target', 'targets', 'balance'], run: checkHash },
  { looksAt: ['target', 'targets', 'tls'], run: checkUpstreamTls },
]

function checkTargetOrTargets({ target, targets }: UpstreamSettings, path: KeyPath, report: Report): void {
  if ((target === undefined) === (targets === undefined)) report(path, 'needs either target or targets')
}

function checkPaths(upstream: UpstreamSettings, base: KeyPath, report: Report): void {
  for (const key of ['match', 'rewrite'] as const) {
    const path = upstream[key]
    if (path !== undefined && !isPath(path)) {
      report([...base, key], 'is not a valid path; write it without escapes, query, // and dot segments')
    }
  }
  if (isPath(upstream.match) && !hasOneSpelling(upstream.match)) {
    report(
      [...base, 'match'],
      'must have letters, digits and - . _ ~ only: other characters have several spellings, and only one of ' +
        'them would be matched; end it before the segment that has them',
    )
  }
  if (LOOKS_LIKE_PATTERN.test(upstream.rewrite ?? '')) {
    report([...base, 'rewrite'], "is not a pattern; write it without ! ' ( ) *")
  }
}

function checkWebSocket({ target, websocket }: UpstreamSettings, path: KeyPath, report: Report): void {
  if (websocket === 'off') return
  if (target === 'builtin:echo') {
    report(
      [...path, 'websocket'],
      'has no effect, because builtin:echo opens no WebSocket; name a server as target, or remove it',
    )
  }
  checkOrigins(websocket.origins ?? [], [...path, 'websocket', 'origins'], report)
}

function checkTargets(upstream: UpstreamSettings, path: KeyPath, report: Report): void {
  const { target, targets = [] } = upstream
  const urls: [url: string, path: KeyPath][] = targets.map((one, index) => {
    const place = [...path, 'targets', index]
    return typeof one === 'string' ? [one, place] : [one.url, [...place, 'url']]
  })
  if (target !== undefined) urls.push([target, [...path, 'target']])
  for (const [url, place] of urls) {
    const fault = url.startsWith(UNIX) ? faultOfSocket(url.slice(UNIX.length)) : null
    if (fault !== null) report(place, fault)
  }
  if (targets.length > 0 && targetsOf({ targets }).every(({ weight }) => weight === 0)) {
    report([...path, 'targets'], 'all have weight 0, so that none gets requests; give one of them another weight')
  }
}

function checkMaintenance({ maintenance }: UpstreamSettings, path: KeyPath, report: Report): void {
  if (maintenance === 'off') return
  for (const [index, range] of maintenance.allow.entries()) {
    if (isAddressRange(range)) continue
    report([...path, 'maintenance', 'allow', index], 'must be an address or a CIDR range such as 10.0.0.0/8')
  }
}

function checkResolve(upstream: UpstreamSettings, base: KeyPath, report: Report): void {
  const { resolve } = upstream
  const path = [...base, 'resolve']
  if (resolve === 'off') return
  if (resolve < 1000) report(path, 'is too short; write 1s or more')
  const isLookedUp = ({ url }: { url: string }): boolean => /^https?:/.test(url) && isIP(hostOf(new URL(url))) === 0
  if (!targetsOf(upstream).some(isLookedUp)) report(path, 'has no effect, because no target is a name; remove it')
}

function checkRateLimit({ rate_limit }: UpstreamSettings, path: KeyPath, report: Report): void {
  if (rate_limit === 'off' || rate_limit.window % 1000 === 0) return
  report([...path, 'rate_limit', 'window'], 'must be whole seconds, as clients read it; write 1s and fewer requests')
}

function checkHash(upstream: UpstreamSettings, path: KeyPath, report: Report): void {
  const { balance } = upstream
  if (typeof balance === 'string') return
  const name = /^header:(.*)$/.exec(balance.hash)?.[1]
  if (name !== undefined && isIdentity(name)) {
    report([...path, 'balance', 'hash'], 'names a header of the gateway, which clients must not send; write login-id')
  }
  const urls = targetsOf(upstream).map(({ url }) => url)
  const twice = urls.findIndex((url, index) => urls.indexOf(url) !== index)
  if (twice !== -1) {
    report([...path, 'targets', twice], 'is listed before, which has no effect with a hash; give that one a weight')
  }
}

function checkUpstreamTls(upstream: UpstreamSettings, base: KeyPath, report: Report, reportFile: Report): void {
  const { tls } = upstream
  const path = [...base, 'tls']
  if (tls === undefined) return
  if (!targetsOf(upstream).some(({ url }) => url.startsWith('https://'))) {
    report(path, 'has no effect, because no target begins with https://; remove it, or use https:// targets')
  }
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    report(path, 'has only one of cert and key; set both, or neither')
  } else {
    reportFaults(() => readUpstreamTls(tls), path, reportFile)
  }
}

/** Whether it is a path as rules name one: no request can spell it in another way. */
const hasOneSpelling = (match: string): boolean => isPagePattern(match) && !match.endsWith('*')

/** Other characters of a rewrite are sent as they are written: no request is compared with it. */
const LOOKS_LIKE_PATTERN = /[!'()*]/

function isPath(text: string): boolean {
  try {
    return readTarget(text).query === '' && !text.includes('%')
  } catch {
    return false
  }
}

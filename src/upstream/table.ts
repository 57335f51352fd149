import { folded, isFolded } from '../gate/address-rules.ts'
import type { CanonicalPath } from '../gate/path.ts'
import { isForwardable, type PathRules } from '../gate/rules.ts'
import type { UpstreamSettings } from '../settings/schema/upstreams.ts'
import type { TargetStatus } from './targets.ts'
import { createUpstream, type Upstream, type UpstreamCircumstances } from './upstream.ts'

/** The state of an upstream, as seen by this process. */
export interface UpstreamStatus {
  name: string
  targets: TargetStatus[]
}

export interface UpstreamTable {
  readonly upstreams: readonly Upstream[]
  /**
   * The upstream with the longest `match` that is the path or ends where a segment of it ends; `null` for none, and for a
   * path that these rules do not forward. `other-spelling` where a backend could read the path as another spelling of a longer
   * `match`: a shorter one does not have the permission and the limits of that upstream, so the path is not found.
   */
  find(path: CanonicalPath, rules: Pick<PathRules, 'pages'>): Upstream | 'other-spelling' | null
  /**
   * Begins to look names up and to check targets, where that is configured. Before it, nothing is sent. Resolves when the names
   * are known, or after a while.
   */
  start(): Promise<void>
  status(): UpstreamStatus[]
  /** Whether a target has few connections left for requests to come. */
  isCrowded(): boolean
  /** Ends the requests at the targets and closes the connections. */
  close(): void
}

/** Throws on invalid settings: an upstream without a target, or two upstreams with the same prefix. */
export function createUpstreamTable(
  settings: readonly UpstreamSettings[],
  circumstances: UpstreamCircumstances = {},
): UpstreamTable {
  const upstreams = settings.map(one => createUpstream(one, circumstances))
  const byMatch = new Map<string, Upstream>()
  for (const upstream of upstreams) {
    const other = byMatch.get(upstream.match)
    if (other !== undefined)
      throw new Error(`upstreams ${other.name} and ${upstream.name} both match ${upstream.match}`)
    byMatch.set(upstream.match, upstream)
  }
  const findExact = createFind(byMatch)
  const findInAnySpelling = createFind(bySpelling(upstreams))
  const haveOneSpelling = upstreams.every(({ match }) => isFolded(match))

  return {
    upstreams,
    find(path, rules) {
      if (!isForwardable(path, rules)) return null
      const upstream = findExact(path)
      if (haveOneSpelling && isFolded(path)) return upstream
      const alike = findInAnySpelling(folded(path))
      return alike === null || (upstream !== null && alike.includes(upstream)) ? upstream : 'other-spelling'
    },
    async start() {
      await Promise.all(upstreams.map(upstream => upstream.start()))
    },
    isCrowded: () => upstreams.some(({ targets }) => targets.some(({ isCrowded }) => isCrowded)),
    status: () => upstreams.map(({ name, targets }) => ({ name, targets: targets.map(target => target.status()) })),
    close() {
      for (const upstream of upstreams) upstream.close()
    },
  }
}

/** Finds what belongs to the longest match that is a path or ends where a segment of it ends. */
function createFind<T>(byMatch: ReadonlyMap<string, T>): (path: string) => T | null {
  const longest = Math.max(0, ...Array.from(byMatch.keys(), match => match.length))
  return path => {
    // The longest possible match ends here, so a long path costs no more than a short one.
    let end = path.length <= longest ? path.length : path.lastIndexOf('/', longest)
    while (end > 0) {
      const found = byMatch.get(path.slice(0, end))
      if (found !== undefined) return found
      end = path.lastIndexOf('/', end - 1)
    }
    return byMatch.get('/') ?? null
  }
}

/** The upstreams by their folded matches. */
function bySpelling(upstreams: readonly Upstream[]): ReadonlyMap<string, readonly Upstream[]> {
  const alike = new Map<string, Upstream[]>()
  for (const upstream of upstreams) {
    const match = folded(upstream.match) || '/'
    alike.set(match, [...(alike.get(match) ?? []), upstream])
  }
  return alike
}

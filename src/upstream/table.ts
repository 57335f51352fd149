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
   * `match`, or as that with a suffix: a shorter one does not have the permission and the limits of that upstream, so the path is not found.
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
  const findExact = createFind(byMatch, endOfSegment)
  const findInAnySpelling = createFind(bySpelling(upstreams), endOfName)
  const haveOneSpelling = upstreams.every(({ match }) => isFolded(match))

  return {
    upstreams,
    find(path, rules) {
      if (!isForwardable(path, rules)) return null
      const upstream = findExact(path)
      if (haveOneSpelling && isFolded(path) && !hasFormat(path)) return upstream
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

/** The last place before another where a path can end; `-1` for none. */
type EndBefore = (path: string, place: number) => number

const endOfSegment: EndBefore = (path, place) => path.lastIndexOf('/', place - 1)

/** The same where a backend could read `/orders.json` as `/orders`. */
const endOfName: EndBefore = (path, place) => {
  const dot = hasFormat(path) ? path.lastIndexOf('.', place - 1) : -1
  return dot > path.lastIndexOf('/') ? dot : endOfSegment(path, place)
}

/**
 * Whether a path has a suffix that some routers, such as that of Rails, take for the format of the answer. Outside of `/api` it
 * belongs to the name of a file.
 */
function hasFormat(path: string): boolean {
  const last = path.length - (path.endsWith('/') ? 2 : 1)
  return path.startsWith('/api/') && path.lastIndexOf('.', last) > path.lastIndexOf('/', last)
}

/** Finds what belongs to the longest match that is a path or ends where one can end. */
function createFind<T>(byMatch: ReadonlyMap<string, T>, endBefore: EndBefore): (path: string) => T | null {
  const longest = Math.max(0, ...Array.from(byMatch.keys(), match => match.length))
  return path => {
    // The longest possible match ends here, so a long path costs no more than a short one.
    let end = path.length <= longest ? path.length : endBefore(path, longest + 1)
    while (end > 0) {
      const found = byMatch.get(path.slice(0, end))
      if (found !== undefined) return found
      end = endBefore(path, end)
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

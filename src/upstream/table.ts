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
   * path that these rules do not forward.
   */
  find(path: CanonicalPath, rules: Pick<PathRules, 'pages'>): Upstream | null
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
  const longest = Math.max(0, ...upstreams.map(({ match }) => match.length))

  return {
    upstreams,
    find(path, rules) {
      if (!isForwardable(path, rules)) return null
      // The longest possible match ends here, so a long path costs no more than a short one.
      let end = path.length <= longest ? path.length : path.lastIndexOf('/', longest)
      while (end > 0) {
        const upstream = byMatch.get(path.slice(0, end))
        if (upstream !== undefined) return upstream
        end = path.lastIndexOf('/', end - 1)
      }
      return byMatch.get('/') ?? null
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

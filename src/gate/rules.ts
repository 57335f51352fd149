import type { LoginType } from '../side/record.ts'
import type { CanonicalPath } from './path.ts'

/** What a request must prove: nothing, or a session of one side. */
export type Need = 'none' | LoginType

export interface PathRules {
  /** Exact paths that need no session (rule 1). */
  open: ReadonlySet<string>
  /** The sections below `/api/v<n>/public/` that need no session (rule 3), or all of them. */
  publicSections: ReadonlySet<string> | 'any'
}

export interface Verdict {
  need: Need
  /** The number of the rule that spoke ("Authentication gate"); logged and counted. */
  rule: 1 | 2 | 3 | 4 | 5 | 6
}

interface Rule {
  rule: Verdict['rule']
  need: Need
  applies(path: string, method: string, rules: PathRules): boolean
}

/** The specification's pattern. `\d` is ASCII only, and the segment counts only when a slash follows it. */
const FIRST_SEGMENT = /^\/api\/v\d+\/([^/]+)\//
const PUBLIC_SECTION = /^\/api\/v\d+\/public\/([^/]+)\//
const VERSIONED = /^\/api\/v\d+(?:\/|$)/

const firstSegment = (path: string): string | undefined => FIRST_SEGMENT.exec(path)?.[1]

/** The table of "Authentication gate", first match wins. */
const RULES: readonly Rule[] = [
  { rule: 1, need: 'none', applies: (path, _method, rules) => rules.open.has(path) },
  { rule: 2, need: 'none', applies: (_path, method) => method === 'OPTIONS' },
  { rule: 3, need: 'none', applies: (path, _method, rules) => isPublic(path, rules) },
  { rule: 4, need: 'CONSUMER', applies: path => firstSegment(path) === 'c' },
  { rule: 5, need: 'BUSINESS', applies: path => firstSegment(path) === 'b' },
  { rule: 6, need: 'BUSINESS', applies: path => VERSIONED.test(path) },
]

function isPublic(path: string, { publicSections }: PathRules): boolean {
  if (firstSegment(path) !== 'public') return false
  if (publicSections === 'any') return true
  const section = PUBLIC_SECTION.exec(path)?.[1]
  return section !== undefined && publicSections.has(section)
}

/** What the path and method alone say. `null` where no rule speaks: such a request is not found, never open. */
export function decide(path: CanonicalPath, method: string, rules: PathRules): Verdict | null {
  const spoken = RULES.find(rule => rule.applies(path, method, rules))
  return spoken === undefined ? null : { need: spoken.need, rule: spoken.rule }
}

/** Whether the path lies below `/api/v<n>`: only those are ever forwarded. */
export const isVersioned = (path: CanonicalPath): boolean => VERSIONED.test(path)

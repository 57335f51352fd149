import type { LoginType } from '../session.ts'
import type { Exception } from './exceptions.ts'
import type { CanonicalPath } from './path.ts'

/** What a request must prove: nothing, a session of one side, or a session of one side or the other. */
export type Need = 'none' | LoginType | 'either'

export interface PathRules {
  /** Exact paths that need no session (rule 1). */
  open: ReadonlySet<string>
  /** The sections below `/api/v<n>/public/` that need no session (rule 3), or all of them. */
  publicSections: ReadonlySet<string> | 'any'
  /** What the operator excepted from rules 4 to 6; the first that fits decides. */
  exceptions: readonly Exception[]
}

export interface Verdict {
  readonly need: Need
  /** The number of the rule that applies ("Authentication gate"); logged and counted. */
  readonly rule: 1 | 2 | 3 | 4 | 5 | 6
  /** The exception from that rule that decided, where one did. */
  readonly exception?: Exception
}

interface Rule {
  verdict: Verdict
  applies(path: string, method: string, rules: PathRules): boolean
  /** Whether operators can except paths from it. */
  hasExceptions?: true
}

/** The specification's pattern. `\d` is ASCII only, and the segment counts only when a slash follows it. */
const FIRST_SEGMENT = /^\/api\/v\d+\/([^/]+)\//
const PUBLIC_SECTION = /^\/api\/v\d+\/public\/([^/]+)\//
const VERSIONED = /^\/api\/v\d+(?:\/|$)/

const firstSegment = (path: string): string | undefined => FIRST_SEGMENT.exec(path)?.[1]

/** The table of "Authentication gate", first match wins. */
const RULES: readonly Rule[] = [
  { verdict: { rule: 1, need: 'none' }, applies: (path, _method, rules) => rules.open.has(path) },
  { verdict: { rule: 2, need: 'none' }, applies: (_path, method) => method === 'OPTIONS' },
  { verdict: { rule: 3, need: 'none' }, applies: (path, _method, rules) => isPublic(path, rules) },
  { verdict: { rule: 4, need: 'CONSUMER' }, applies: path => firstSegment(path) === 'c', hasExceptions: true },
  { verdict: { rule: 5, need: 'BUSINESS' }, applies: path => firstSegment(path) === 'b', hasExceptions: true },
  { verdict: { rule: 6, need: 'BUSINESS' }, applies: path => VERSIONED.test(path), hasExceptions: true },
]

function isPublic(path: string, { publicSections }: PathRules): boolean {
  if (firstSegment(path) !== 'public') return false
  if (publicSections === 'any') return true
  const section = PUBLIC_SECTION.exec(path)?.[1]
  return section !== undefined && publicSections.has(section)
}

/** What the path and method alone say. `null` where no rule applies: such a request is not found, never open. */
export function verdictOf(path: CanonicalPath, method: string, rules: PathRules): Verdict | null {
  for (const rule of RULES) {
    if (rule.applies(path, method, rules))
      return rule.hasExceptions ? excepted(rule.verdict, path, method, rules) : rule.verdict
  }
  return null
}

function excepted(verdict: Verdict, path: CanonicalPath, method: string, { exceptions }: PathRules): Verdict {
  for (const exception of exceptions) {
    if (exception.methods.has(method) && exception.covers(path)) {
      return { need: exception.need, rule: verdict.rule, exception }
    }
  }
  return verdict
}

/** Whether operators can except paths from the rule of a verdict. */
export const canBeExcepted = ({ rule }: Verdict): boolean => RULES[rule - 1]!.hasExceptions === true

/** Whether the path lies below `/api/v<n>`: only those are ever forwarded. */
export const isVersioned = (path: CanonicalPath): boolean => VERSIONED.test(path)

import { bySide, type LoginType, SIDES } from '../session/sides.ts'
import type { AccessRule } from './address-rules.ts'
import type { Exception } from './exceptions.ts'
import { type PageRule, pageOf } from './page-rules.ts'
import type { CanonicalPath } from './path.ts'
import type { RequiredSession } from './required-session.ts'

export interface PathRules {
  /** Exact paths that need no session (rule 1). */
  open: ReadonlySet<string>
  /** The sections below `/api/v<n>/public/` that need no session (rule 3), or all of them. */
  publicSections: ReadonlySet<string> | 'any'
  /** The operator's exceptions from rules that allow them; the first that matches decides. */
  exceptions: readonly Exception[]
  /** The operator's pages, outside of `/api`; the first that covers a path decides. */
  pages: readonly PageRule[]
  /** The operator's rules about client addresses; the first that covers a path decides. */
  access: readonly AccessRule[]
}

/** What a rule of "Authentication gate" means. */
export interface Rule {
  /** As the specification counts; logged and counted by it. */
  readonly number: number
  /** The side whose session a request must have; `null` for none. Where either side will do, this one is tried first. */
  readonly side: LoginType | null
  /**
   * What requests carry beside their head: the authorization and the cookies of the client, and a body. A request that
   * passes only because of its method carries nothing.
   */
  readonly carries: 'nothing' | 'everything'
  /** Whether operators can except paths from it. */
  readonly exceptable: boolean
  applies(path: string, method: string, rules: PathRules): boolean
}

export interface Verdict {
  readonly need: RequiredSession
  /** The rule that applies, or that an exception was made from. */
  readonly rule: Rule
  /** The exception that decided, where one did. */
  readonly exception?: Exception
  /** The page that decided, where one did. */
  readonly page?: PageRule
}

/** The specification's pattern for a first segment. `\d` is ASCII only, and the segment counts only when a slash follows it. */
const withFirst = (segment: string): RegExp => new RegExp(`^/api/v\\d+/${segment}/`)

const PUBLIC = withFirst('public')
const OF_SIDE = bySide(type => withFirst(SIDES[type].section))
const PUBLIC_SECTION = /^\/api\/v\d+\/public\/([^/]+)\//
const VERSIONED = /^\/api\/v\d+(?:\/|$)/

/** What the specification's table says. */
const SPECIFIED: readonly Rule[] = [
  {
    number: 1,
    side: null,
    carries: 'everything',
    exceptable: false,
    applies: (path, _method, rules) => rules.open.has(path),
  },
  {
    number: 2,
    side: null,
    carries: 'nothing',
    exceptable: false,
    applies: (_path, method) => method === 'OPTIONS',
  },
  {
    number: 3,
    side: null,
    carries: 'everything',
    exceptable: false,
    applies: (path, _method, rules) => isPublic(path, rules),
  },
  {
    number: 4,
    side: 'CONSUMER',
    carries: 'everything',
    exceptable: true,
    applies: path => OF_SIDE.CONSUMER.test(path),
  },
  {
    number: 5,
    side: 'BUSINESS',
    carries: 'everything',
    exceptable: true,
    applies: path => OF_SIDE.BUSINESS.test(path),
  },
  {
    number: 6,
    side: 'BUSINESS',
    carries: 'everything',
    exceptable: true,
    applies: path => VERSIONED.test(path),
  },
]

/** Paths outside of `/api`, which the operator names. Each page says itself what it needs. */
const PAGES: Rule = {
  number: 7,
  side: null,
  carries: 'everything',
  exceptable: false,
  applies: (path, method, { pages }) => pageOf(path, pages, method) !== null,
}

/** The table of "Authentication gate", and the rule for pages; the first rule that applies decides. */
export const RULES: readonly Rule[] = [...SPECIFIED, PAGES]

/** The verdict of each rule where no exception applies: made once, not for every request. */
const VERDICTS: readonly Verdict[] = SPECIFIED.map(rule => ({ need: rule.side ?? 'none', rule }))

/** The verdict about a path whose only rule is that of a side. By it the gateway's own pages look for a session. */
export const verdictOfSide = (side: LoginType): Verdict => VERDICTS.find(({ need }) => need === side)!

function isPublic(path: string, { publicSections }: PathRules): boolean {
  if (!PUBLIC.test(path)) return false
  if (publicSections === 'any') return true
  const section = PUBLIC_SECTION.exec(path)?.[1]
  return section !== undefined && publicSections.has(section)
}

/** The verdict by path and method alone; `null` where no rule applies: such a request is not found, never open. */
export function verdictOf(path: CanonicalPath, method: string, rules: PathRules): Verdict | null {
  for (const verdict of VERDICTS) {
    const { rule } = verdict
    if (rule.applies(path, method, rules)) return rule.exceptable ? excepted(verdict, path, method, rules) : verdict
  }
  const page = pageOf(path, rules.pages, method)
  return page === null ? null : { need: page.need, rule: PAGES, page }
}

function excepted(verdict: Verdict, path: CanonicalPath, method: string, { exceptions }: PathRules): Verdict {
  for (const exception of exceptions) {
    if (exception.methods.has(method) && exception.covers(path)) {
      return { need: exception.need, rule: verdict.rule, exception }
    }
  }
  return verdict
}

/** Whether a path may be forwarded: it lies below `/api/v<n>`, or a page covers it. */
export const isForwardable = (path: CanonicalPath, { pages }: Pick<PathRules, 'pages'>): boolean =>
  VERSIONED.test(path) || pageOf(path, pages) !== null

import { bySideName, type SideName } from '../session/sides.ts'
import type { RequiredSession } from './required-session.ts'

/** Methods that an exception can name. OPTIONS is not among them: rule 2 decides it. */
export const EXCEPTION_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** An exception as it is written in the configuration. */
export interface WrittenException {
  path: string
  methods: readonly string[]
  needs: 'none' | SideName | 'either'
}

/** Requests that need something else than their rule demands. */
export interface Exception {
  /** As it is written; the name of the exception in logs. */
  readonly path: string
  readonly methods: ReadonlySet<string>
  readonly need: RequiredSession
  covers(path: string): boolean
}

/** What is written for what a request needs. */
export const NEEDS: Readonly<Record<WrittenException['needs'], RequiredSession>> = {
  none: 'none',
  ...bySideName(type => type),
  either: 'either',
}

/**
 * Unreserved characters only (RFC 3986 2.3), because no canonical path has them escaped: so the written part of a pattern
 * has exactly one spelling. A colon or a Chinese character has several, and the gate would except one of them only.
 */
const PATTERN = /^(?:\/[A-Za-z0-9\-._~]+)+(?:\/\*?)?$/
const DOT_SEGMENT = /\/\.{1,2}(?:\/|$)/

/** Whether a text can be the path of an exception: exact, or ending in `/*`. */
export const isPattern = (text: string): boolean => PATTERN.test(text) && !DOT_SEGMENT.test(text)

/** What a pattern and everything that it covers begin with; for an exact path the path itself. */
export const beginningOf = (pattern: string): string => (pattern.endsWith('/*') ? pattern.slice(0, -1) : pattern)

/** Whether a pattern covers a path, or all of what another pattern covers. */
export const isCovered = (pattern: string, other: string): boolean =>
  pattern.endsWith('/*') ? beginningOf(other).startsWith(beginningOf(pattern)) : pattern === other

export function createExceptions(written: readonly WrittenException[]): readonly Exception[] {
  return written.map(({ path, methods, needs }) => {
    const beginning = beginningOf(path)
    return {
      path,
      methods: withHead(methods),
      need: NEEDS[needs],
      covers: beginning === path ? asked => asked === path : asked => asked.startsWith(beginning),
    }
  })
}

/** GET includes HEAD (RFC 9110 9.3.2: HEAD is GET without the body). */
export const withHead = (methods: readonly string[]): ReadonlySet<string> =>
  new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods)

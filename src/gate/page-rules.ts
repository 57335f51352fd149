import { createCover, EVERYTHING, isAccessPattern } from './address-rules.ts'
import { NEEDS, type WrittenException, withHead } from './exceptions.ts'
import type { RequiredSession } from './required-session.ts'

/** Paths outside of `/api` as they are written in the configuration; all methods where none is named. */
export interface WrittenPage extends Pick<WrittenException, 'path' | 'needs'> {
  methods?: readonly string[] | undefined
}

/** Paths outside of `/api` that upstreams serve, and what requests for them need. */
export interface PageRule {
  /** As it is written. */
  readonly path: string
  /** `null` for all methods. */
  readonly methods: ReadonlySet<string> | null
  readonly need: RequiredSession
  covers(path: string): boolean
}

/** Paths that pages never cover: those that other rules decide, and those of the gateway's own, served or not. */
const RESERVED = [
  '/api/*',
  '/favicon.ico',
  '/console/*',
  '/docs/*',
  '/redoc/*',
  '/openapi.json',
  '/v3/api-docs/*',
  '/sign-in/*',
  '/sign-out/*',
  '/.well-known/dualgate/*',
].map(pattern => ({ pattern, covers: createCover(pattern, false) }))

/** The reserved pattern that covers a path, or all of what a pattern covers, in any spelling. */
export const reservedFor = (path: string): string | undefined =>
  path === EVERYTHING ? undefined : RESERVED.find(({ covers }) => covers(path))?.pattern

/** Whether a text can be the path of a page: as that of a rule about client addresses, or `/`. */
export const isPagePattern = (text: string): boolean => text === '/' || isAccessPattern(text)

/**
 * Tells whether a page covers a path, or all of what another pattern covers. `/wiki/*` covers `/wiki` too. Where a session is
 * needed, every spelling is covered that a backend could read as the same path; where none is needed, only what is written.
 */
function createPageCover({ path, needs }: Pick<WrittenPage, 'path' | 'needs'>): (other: string) => boolean {
  if (needs !== 'none') return createCover(path)
  if (!path.endsWith(EVERYTHING)) return other => other === path
  const base = path.slice(0, -EVERYTHING.length)
  return other => other === base || other.startsWith(`${base}/`)
}

/** The same for a page that is compared once. */
export const pageCovers = (page: Pick<WrittenPage, 'path' | 'needs'>, other: string): boolean =>
  createPageCover(page)(other)

export const createPageRules = (written: readonly WrittenPage[]): readonly PageRule[] =>
  written.map(page => ({
    path: page.path,
    methods: page.methods === undefined ? null : withHead(page.methods),
    need: NEEDS[page.needs],
    covers: createPageCover(page),
  }))

/** The first page that covers a path; `null` for none. */
export const pageOf = (path: string, pages: readonly PageRule[], method?: string): PageRule | null =>
  pages.length === 0 || reservedFor(path) !== undefined
    ? null
    : (pages.find(
        page => (method === undefined || page.methods === null || page.methods.has(method)) && page.covers(path),
      ) ?? null)

import { withHead } from '../../gate/exceptions.ts'
import { isPagePattern, pageCovers, reservedFor, type WrittenPage } from '../../gate/page-rules.ts'
import type { KeyPath, Report, Written } from '../notation/written.ts'
import type { DecodedSettings } from '../schema/settings.ts'

const BASE = ['gate', 'pages'] as const

/** Checks that every page has one meaning and takes effect. */
export function checkPages(
  { gate: { pages } }: DecodedSettings,
  report: Report,
  _warn: Report,
  isFaulty: (path: KeyPath) => boolean,
): void {
  const isSound = (index: number): boolean => !isFaulty([...BASE, index])
  for (const [index, page] of pages.entries()) {
    if (!isSound(index)) continue
    const fault = faultOfPath(page.path)
    if (fault !== null) report([...BASE, index, 'path'], fault)
    else checkReached(page, pages.slice(0, index), isSound, message => report([...BASE, index], message))
  }
}

function faultOfPath(path: string): string | null {
  if (!isPagePattern(path)) {
    return (
      'must be a path such as /wiki, or /wiki/* for it and everything below, of letters, digits and - . _ ~ only: other ' +
      'characters have several spellings, and only one of them would be covered'
    )
  }
  const reserved = reservedFor(path)
  if (reserved === undefined) return null
  return reserved === '/api/*'
    ? 'lies below /api, where rules 3 to 6 decide; write an exception (gate.exceptions), or remove it'
    : `lies in ${reserved}, which the gateway keeps for its own pages; remove it`
}

/** Reports a page whose requests an earlier one decides. */
function checkReached(
  page: WrittenPage,
  earlier: readonly WrittenPage[],
  isSound: (index: number) => boolean,
  report: (message: string) => void,
): void {
  const methods = page.methods && [...withHead(page.methods)]
  const deciding = earlier.findIndex((other, at) => {
    if (!isSound(at) || !isPagePattern(other.path) || !pageCovers(other, page.path)) return false
    const decided = other.methods && withHead(other.methods)
    return decided === undefined || methods?.every(method => decided.has(method)) === true
  })
  if (deciding === -1) return
  report(
    `is never reached, because page ${deciding + 1} in the list, ${earlier[deciding]!.path}, matches first; put it before ` +
      'that one, or remove it',
  )
}

const isOfApi = (match: string): boolean => match === '/api' || match.startsWith('/api/')

/** Whether some of the paths below a `match` are those of a page, or all of them. */
const meet = (page: WrittenPage, match: string): boolean =>
  pageCovers(page, match) || match === '/' || pageCovers({ path: `${match}/*`, needs: 'none' }, page.path)

/** Checks that upstreams outside of `/api` get requests, and that pages have an upstream. `listed` is where the upstreams stand. */
export function checkPlaces(
  pages: readonly WrittenPage[],
  upstreams: readonly { match: string }[],
  listed: Written,
  warn: Report,
): void {
  const matches = upstreams.flatMap((upstream, index) => {
    const path = ['upstreams', index, 'match']
    return listed.isUnread(['upstreams', index]) || listed.isFaulty(path) ? [] : [{ path, match: upstream.match }]
  })
  // Requests below /api reach an upstream for every path, too.
  const outside = matches.filter(({ match }) => match !== '/' && !isOfApi(match))
  for (const { path, match } of outside) {
    const reserved = reservedFor(match)
    if (reserved !== undefined)
      listed.report(path, `lies in ${reserved}, which the gateway keeps for itself; choose another path`)
    else if (!pages.some(page => meet(page, match)))
      listed.warn(path, 'is outside of /api, and no page covers it: nothing reaches it; add one to gate.pages')
  }
  for (const [index, page] of pages.entries()) {
    if (matches.some(({ match }) => !isOfApi(match) && meet(page, match))) continue
    warn([...BASE, index], 'has no upstream: its requests are answered with 404; add one whose match covers it')
  }
}

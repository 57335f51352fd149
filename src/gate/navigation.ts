import type { IncomingHttpHeaders } from 'node:http'
import { LOGIN_TYPES, type LoginType } from '../session/sides.ts'
import { signInPaths } from './own-pages.ts'
import type { Verdict } from './rules.ts'

/*
 * What a browser can show in the place of a page that needs a session. It says itself what it asks for (`Sec-Fetch-*`), except
 * over plain HTTP; then it is guessed, and in doubt the answer is for programs.
 */

/** `navigation`: a person wants the page. `form`: a person has sent one. `frame`: within another page. `none`: a program asks. */
export type Shown = 'navigation' | 'form' | 'frame' | 'none'

const FRAMES: ReadonlySet<string> = new Set(['iframe', 'frame', 'embed', 'object', 'fencedframe'])

export function shownTo(headers: IncomingHttpHeaders, method: string): Shown {
  if (isPrefetch(headers)) return 'none'
  const destination = destinationOf(headers)
  if (destination === 'frame') return 'frame'
  if (destination === 'none') return 'none'
  return method === 'GET' || method === 'HEAD' ? 'navigation' : 'form'
}

const isPrefetch = (headers: IncomingHttpHeaders): boolean =>
  [headers['sec-purpose'], headers.purpose].some(value => /\bprefetch\b/i.test(String(value ?? '')))

function destinationOf(headers: IncomingHttpHeaders): 'document' | 'frame' | 'none' {
  const { 'sec-fetch-mode': mode, 'sec-fetch-dest': destination, 'sec-fetch-site': site } = headers
  const wantsPage = /\btext\/html\b/i.test(headers.accept ?? '')
  if (mode === undefined && destination === undefined && site === undefined) {
    const isOfProgram = headers['x-requested-with'] !== undefined || headers.upgrade !== undefined
    return wantsPage && !isOfProgram ? 'document' : 'none'
  }
  if (mode !== 'navigate') return 'none'
  if (destination === 'document') return 'document'
  // Of a service worker that asks again for its page, or of a link that saves a file: the sign-in would be saved in its place.
  if (destination === 'empty') return wantsPage ? 'document' : 'none'
  return FRAMES.has(String(destination)) ? 'frame' : 'none'
}

/** The sign-in page of the side that a page needs, among the sides that have one; `null` for none. */
export function signInFor({ page, need }: Verdict, sides: ReadonlySet<LoginType>): string | null {
  if (page === undefined) return null
  const type = LOGIN_TYPES.find(type => sides.has(type) && (need === type || need === 'either'))
  return type === undefined ? null : signInPaths(type).page
}

/** The longest address, in characters, to which the sign-in page leads (`console/sign-in/destination.js`). */
const MAX_DESTINATION = 2048

/**
 * The address of a sign-in page that leads to a path and its query afterwards; of the page alone for one that is longer than it takes:
 * encoded, it could make the address of the page longer than a target may be.
 */
export const signInAt = (page: string, target: string): string =>
  target.length > MAX_DESTINATION ? page : `${page}?to=${encodeURIComponent(target)}`

import { asToken, readBearer } from './bearer.ts'
import type { Jwt } from './jwt.ts'

/** Finds tokens of this gateway in what goes on to upstreams: whoever gets one can act as its user. */
export interface OwnTokens {
  /** Whether the value of a header holds one, under whatever scheme. */
  isIn(value: string): boolean
  /** A value that is one without its scheme; any other value as it is. */
  bareOf(value: string): string
  /** A query (`''`, or with its `?`) without the parameters `token` that hold one; the rest of it byte for byte. */
  removedFrom(query: string): string
}

/** What separates a token from a scheme, from a quote, from the next one in a list. */
const SEPARATORS = /[^A-Za-z0-9_.-]+/

/** More texts in the form of a token than any scheme has; then the signatures are not worth their price. */
const MAX_CANDIDATES = 8

/** The characters of the shortest signature alone (HS256): nothing shorter is a token of ours, or holds one. */
const SHORTEST = 43

/** A parameter `token`, in any case, escaped or not, behind what separates it; some servers split at `;` too. */
const NAMED = '[?&;](?:t|%[57]4)(?:o|%[46]f)(?:k|%[46]b)(?:e|%[46]5)(?:n|%[46]e)='
const HAS_NAMED = new RegExp(NAMED, 'i')
const IS_NAMED = new RegExp(`^${NAMED}`, 'i')

const PARAMETERS = /(?=[&;])/

export function createOwnTokens(jwt: Pick<Jwt, 'isSigned'>): OwnTokens {
  /** A value with too many candidates counts as one that holds a token. */
  function isIn(value: string): boolean {
    // Nearly always a value is one token and nothing else.
    const only = readBearer(value)
    if (only !== null) return only.length >= SHORTEST && jwt.isSigned(only)
    let candidates = 0
    for (const piece of value.split(SEPARATORS)) {
      const token = piece.length < SHORTEST ? null : asToken(piece)
      if (token !== null && (++candidates > MAX_CANDIDATES || jwt.isSigned(token))) return true
    }
    return false
  }

  const isKept = (parameter: string): boolean =>
    !IS_NAMED.test(parameter) || !isIn(unescaped(parameter.slice(parameter.indexOf('=') + 1)))

  return {
    isIn,
    bareOf(value) {
      const token = readBearer(value)
      return token !== null && jwt.isSigned(token) ? token : value
    },
    removedFrom(query) {
      if (query.length < SHORTEST || !HAS_NAMED.test(query)) return query
      const rest = query.split(PARAMETERS).filter(isKept).join('')
      return rest === '' ? '' : `?${rest.slice(1)}`
    },
  }
}

/** Tokens are ASCII: the bytes of every other character separate, and so does what escapes nothing. */
const unescaped = (text: string): string =>
  text.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

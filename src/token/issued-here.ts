import { readBasic } from './basic.ts'
import { asToken, readBearer } from './bearer.ts'
import type { Jwt } from './jwt.ts'
import { containsKey } from './key-form.ts'

/** Finds tokens of this gateway in requests to upstreams: a program that gets a token can act as its user. */
export interface OwnTokens {
  /** Whether the value of a header contains one, or a key, with any scheme. */
  isIn(value: string): boolean
  /** Whether the value of a header contains a key, which no upstream receives. */
  hasKey(value: string): boolean
  /** Removes the scheme from a value that is a token; other values are unchanged. */
  bareOf(value: string): string
  /**
   * A query (`''`, or with its `?`) without the `token` parameters that hold one, or a key; the rest is unchanged, byte for byte.
   */
  removedFrom(query: string): string
  /** The same for those that hold a key. */
  keysRemovedFrom(query: string): string
}

/** Separators between a token and a scheme, a quote, or the next token of a list. */
const SEPARATORS = /[^A-Za-z0-9_.-]+/

/** More candidates than any scheme has; beyond this their signatures are not verified. */
const MAX_CANDIDATES = 8

/** The length of the shortest signature (HS256): a shorter text cannot contain a token of ours. */
const SHORTEST = 43

/** A parameter `token` in any case, escaped or not, after a separator; some servers also split at `;`. */
const NAMED = '[?&;](?:t|%[57]4)(?:o|%[46]f)(?:k|%[46]b)(?:e|%[46]5)(?:n|%[46]e)='
const HAS_NAMED = new RegExp(NAMED, 'i')
const IS_NAMED = new RegExp(`^${NAMED}`, 'i')

const PARAMETERS = /(?=[&;])/

export function createOwnTokens(jwt: Pick<Jwt, 'isSigned'>): OwnTokens {
  /** A value with too many candidates is treated as one that holds a token. */
  function isIn(value: string): boolean {
    // Nearly always the value is a single token.
    const only = readBearer(value)
    if (only !== null) return only.length >= SHORTEST && jwt.isSigned(only)
    if (containsKey(value)) return true
    let candidates = 0
    for (const piece of value.split(SEPARATORS)) {
      const token = piece.length < SHORTEST ? null : asToken(piece)
      if (token !== null && (++candidates > MAX_CANDIDATES || jwt.isSigned(token))) return true
    }
    return false
  }

  return {
    isIn: value => isIn(value) || isIn(textIn(value)),
    hasKey: value => containsKey(value) || containsKey(textIn(value)),
    bareOf(value) {
      const token = readBearer(value)
      return token !== null && jwt.isSigned(token) ? token : value
    },
    removedFrom: query => without(query, isIn),
    keysRemovedFrom: query => without(query, containsKey),
  }
}

/** What a value encodes: software that knows OAuth 2.0 sends a key as the password of `Basic`. `''` for nothing. */
const textIn = (value: string): string => unescaped(readBasic(value) ?? '')

/** A query without the `token` parameters whose value is to be removed. */
function without(query: string, isRemoved: (value: string) => boolean): string {
  if (query.length < SHORTEST || !HAS_NAMED.test(query)) return query
  const isKept = (parameter: string): boolean =>
    !IS_NAMED.test(parameter) || !isRemoved(unescaped(parameter.slice(parameter.indexOf('=') + 1)))
  const rest = query.split(PARAMETERS).filter(isKept).join('')
  return rest === '' ? '' : `?${rest.slice(1)}`
}

/** Tokens are ASCII: bytes of other characters are separators, and so are invalid escapes. */
const unescaped = (text: string): string =>
  text.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

declare const token: unique symbol

/** A string that has the form of a JWS in compact serialization and is short enough to be verified. */
export type Token = string & { readonly [token]: true }

const MAX_TOKEN_BYTES = 4096

const COMPACT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/

/** `null` if the text cannot be a token. */
export function asToken(text: unknown): Token | null {
  if (typeof text !== 'string' || text.length > MAX_TOKEN_BYTES) return null
  return COMPACT.test(text) ? (text as Token) : null
}

export const SCHEME = 'bearer '

/** A header's value without the scheme `Bearer`, in any case and with one space; other values are unchanged. */
export const withoutScheme = (value: string): string => (/^bearer /i.test(value) ? value.slice(SCHEME.length) : value)

/**
 * Reads the token from a header's value: `Bearer <token>` with the scheme in any case and one space, or, for existing
 * clients, the token alone. `null` for anything else.
 */
export function readBearer(value: unknown): Token | null {
  return typeof value === 'string' ? asToken(withoutScheme(value)) : null
}

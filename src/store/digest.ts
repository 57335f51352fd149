import { createHash } from 'node:crypto'

/** A digest of a token, 43 characters of base64url: names the token in keys and indexes, and is useless as a token. */
export const tokenDigest = (token: string): string => createHash('sha256').update(token).digest('base64url')

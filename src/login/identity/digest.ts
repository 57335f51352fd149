import { createHash } from 'node:crypto'

/** One digest of several texts, which cannot run into each other: 43 characters of Base64url. */
export const digestOf = (...parts: string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url')

import { createHash, randomBytes } from 'node:crypto'

/*
 * The proof of work that a client can give instead of reading a captcha: a number that, written behind the challenge, makes a
 * SHA-256 digest begin with enough zero bits. Only trying finds it; checking it takes one digest.
 */

/** A challenge as clients expect it. */
export interface Challenge {
  /** 32 hex digits. */
  challenge: string
  /** The number of leading zero bits. */
  difficulty: number
}

/** Before what the store keeps of a challenge; no text of a picture begins so. */
const MARK = 'proof:'
/** At most 55 bytes with the challenge: one block of SHA-256. */
const NUMBER = /^(0|[1-9][0-9]{0,15})$/

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()

/**
 * A challenge, and what the store keeps of it. The challenge is a digest of what is kept, which no client knows: another program
 * that compares the kept text with what a user has typed accepts no answer to a challenge.
 */
export function createChallenge(difficulty: number): Challenge & { kept: string } {
  const kept = `${MARK}${difficulty}:${randomBytes(16).toString('hex')}`
  return { kept, challenge: challengeOf(kept), difficulty }
}

const challengeOf = (kept: string): string => digestOf(kept).toString('hex').slice(0, 32)

export const isChallenge = (kept: string): boolean => kept.startsWith(MARK)

/** Whether a number solves the challenge of a kept text. */
export function isProof(kept: string, number: string): boolean {
  const difficulty = Number(kept.slice(MARK.length).split(':')[0])
  return NUMBER.test(number) && leadingZeros(digestOf(challengeOf(kept) + number)) >= difficulty
}

function leadingZeros(digest: Buffer): number {
  const first = digest.findIndex(byte => byte !== 0)
  return first === -1 ? 8 * digest.length : 8 * first + Math.clz32(digest[first]!) - 24
}

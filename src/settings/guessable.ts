/*
 * Whether a secret can be guessed. It is judged by what is left of it when all that an attacker tries first is removed: known
 * secrets, words, years and sequences.
 */

/** Fewer different characters are a pattern: random keys of 32 hex digits have 14. */
const MIN_DIFFERENT_CHARACTERS = 8

/** Secrets that stand in public repositories and tutorials, in the form of `bare`. */
const PUBLISHED: ReadonlySet<string> = new Set(
  [
    // Compatible services, as their repositories have them.
    'hei-fastapi-jwt-secret-key-2026-please-change-in-production',
    'hei-gin-jwt-secret-key-2026-please-change-in-production',
    // The documentation of Sa-Token, FastAPI, Supabase, and jwt.io; a tutorial of Spring Security.
    'asdasdasifhueuiwyurfewbfjsdafjk',
    '09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7',
    'your-super-secret-jwt-token-with-at-least-32-characters-long',
    'super-secret-jwt-token-with-at-least-32-characters-long',
    'a-string-secret-at-least-256-bits-long',
    'your-256-bit-secret',
    '404E635266556A586E3272357538782F413F4428472B4B6250645367566B5970',
  ].map(bare),
)

/** Words that `isWord` does not know: abbreviations, and rows of the keyboard. */
const ABBREVIATION = /jwt|sm2|hs256|hs512|sha256|key|you|qwertyuiop|asdfghjkl|zxcvbnm/gi

/** The pairs of letters of which nine in ten pairs of English words and of names consist, by their first letter. */
const PAIRS: Readonly<Record<string, string>> = {
  a: 'bcdgilmnprstuvy',
  b: 'aeilorsu',
  c: 'acehiklortu',
  d: 'adeilorsu',
  e: 'abcdefgilmnpqrstvwxy',
  f: 'aefilouy',
  g: 'aehilnorsu',
  h: 'aeiort',
  i: 'abcdefglmnoprstvz',
  j: 'es',
  k: 'eis',
  l: 'adeilostuy',
  m: 'abeimops',
  n: 'acdefgiknostuv',
  o: 'abcdgiklmnoprstuvw',
  p: 'aeiloprstu',
  q: 'u',
  r: 'acdefgikmnorstuvy',
  s: 'acehilopstuy',
  t: 'acehilorstuy',
  u: 'abcegilmnprst',
  v: 'aei',
  w: 'aehinor',
  x: 'pt',
  y: 'nps',
  z: 'e',
}
/** The share of such pairs in a word; of random letters 3 in 10 pairs are such. */
const MIN_SHARE = 0.75

/** Letters that stand together in one word: `key`, `KEY`, and each of `SecretKey`. */
const LETTERS = /[a-z]{3,}|[A-Z][a-z]{2,}|[A-Z]{3,}/g
const SHORT_WORD = /(?<![A-Za-z0-9])[A-Za-z]{1,2}(?![A-Za-z0-9])/g
const HEX_DIGITS = /^[a-f]+$/
const YEAR = /(?<!\d)(?:19|20)\d\d(?!\d)/g

/** Why a secret can be guessed; `null` when at least `minBits` of it cannot. */
export function weaknessOf(secret: string, minBits: number): string | null {
  if (PUBLISHED.has(bare(secret))) return 'is a published example, which everyone can read'
  if (isPattern(secret)) return 'is a pattern that can be guessed'
  const own = ownPart(secret)
  if (own.length < bare(secret).length && bitsOf(own) < minBits)
    return 'is a well-known example, or common words with too little beside them'
  return null
}

/** Whether a text repeats its beginning, which is as easy to guess, or has few different characters. */
export const isPattern = (text: string): boolean => isRepetition(text) || new Set(text).size < MIN_DIFFERENT_CHARACTERS

function isRepetition(text: string): boolean {
  for (let length = 1; length <= text.length / 2; length++) {
    if (text.startsWith(text.slice(length))) return true
  }
  return false
}

/** Letters and digits only, in lower case. */
function bare(secret: string): string {
  return secret.toLowerCase().replace(/[^a-z0-9]/g, '')
}

/** A secret without words, years, and runs such as `0123456789` or `aaaa`: letters and digits only. */
function ownPart(secret: string): string {
  const rest = secret
    .replace(YEAR, '')
    .replace(ABBREVIATION, '')
    .replace(SHORT_WORD, '')
    .replace(LETTERS, letters => (isWord(letters.toLowerCase()) ? '' : letters))
  return withoutRuns(rest.replace(/[^A-Za-z0-9]/g, ''))
}

function isWord(letters: string): boolean {
  if (HEX_DIGITS.test(letters)) return false
  const pairs = letters.length - 1
  let common = 0
  for (let i = 0; i < pairs; i++) if (PAIRS[letters[i]!]?.includes(letters[i + 1]!)) common++
  return common / pairs >= MIN_SHARE
}

/** Each character that follows the one before it, in the order of the alphabet or of digits or as the same again, is left out. */
function withoutRuns(text: string): string {
  const codes = Array.from(text.toLowerCase(), character => character.charCodeAt(0))
  const steps = codes.map((code, i) => code - (codes[i - 1] ?? 0))
  const inRun = (i: number): boolean => Math.abs(steps[i]!) <= 1 && steps[i] === (steps[i + 1] ?? steps[i - 1])
  return Array.from(text)
    .filter((_, i) => !(i > 0 && inRun(i)))
    .join('')
}

/** The entropy of a text by how often each of its characters occurs: an upper bound of what there is to guess. */
function bitsOf(text: string): number {
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits += count * Math.log2(text.length / count)
  return bits
}

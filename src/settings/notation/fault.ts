/** One fault of the configuration: its place, what is wrong, and what to do about it. */
export interface Fault {
  place: string
  message: string
  /** It has the cause of another fault, which is reported alone. */
  follows?: true
}

/** Of a user, a password or another part of a URL that is decoded before it is used. */
export const BAD_PERCENT = 'has a % that is not percent-encoding; write %25'

const lineOf = ({ place, message }: Fault): string => `${place}: ${message}`

/** All faults of the configuration. No text in it holds a secret. */
export class ConfigurationError extends Error {
  readonly faults: readonly Fault[]

  /** `ignored` are variables that were probably meant as settings: they may be why one is missing. */
  constructor(faults: readonly Fault[], ignored: readonly Fault[] = []) {
    const causes = faults.filter(({ follows }) => follows !== true)
    super([...causes.map(lineOf), ...ignored.map(warning => `warning: ${lineOf(warning)}`)].join('\n'))
    this.name = 'ConfigurationError'
    this.faults = causes.map(({ place, message }) => ({ place, message }))
  }
}

/** The known word that was probably meant; `undefined` when none is similar. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const limit = Math.max(1, Math.floor(word.length / 3))
  const near = known
    .map(candidate => ({ candidate, distance: distance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= limit)
  return near.sort((a, b) => a.distance - b.distance)[0]?.candidate
}

/** The end of a message about an unknown word: `; did you mean …? Settings here: …`, with the known words. */
export function suggest(word: string, known: readonly string[], title: string): string {
  const meant = nearest(word, known)
  const listed = `${title}: ${known.join(', ')}`
  return meant === undefined
    ? `; ${listed.charAt(0).toLowerCase()}${listed.slice(1)}`
    : `; did you mean ${meant}? ${listed}`
}

/** Edit distance in which two swapped neighbours are one edit (optimal string alignment). */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let least = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, rows[i - 2]![j - 2]! + 1)
      row.push(least)
    }
    rows.push(row)
  }
  return rows[a.length]![b.length]!
}

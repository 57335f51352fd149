import { fc, SEED } from '../support/random.ts'

/* Random sequences of steps, each compared with a model that is too simple to be wrong in the same way. */

export interface SequenceOptions {
  /** Sequences in all. */
  sequences: number
  seed?: number | undefined
  /** Of a counterexample, to replay it alone. */
  path?: string | undefined
}

export interface SequenceResult {
  sequences: number
  steps: number
  /** How often each outcome was seen: a run in which nothing succeeds finds nothing. */
  seen: Map<string, number>
  seed: number
  /** The counterexample, in words; `null` without one. */
  violation: string | null
}

/** Counts an outcome. */
export type See = (outcome: string) => void

/**
 * Takes the steps of sequences, until a model and the gateway disagree, or never did in so many sequences. All but the `first`
 * are generated: what a run must see it sees in these, and not by chance.
 */
export async function checkSequences<S>(
  step: fc.Arbitrary<S>,
  length: { minLength: number; maxLength: number },
  { sequences, seed = SEED, path }: SequenceOptions,
  take: (steps: readonly S[], see: See) => Promise<void>,
  first: readonly S[][] = [],
): Promise<SequenceResult> {
  const result = { sequences: 0, steps: 0, seen: new Map<string, number>() }
  const see: See = outcome => void result.seen.set(outcome, (result.seen.get(outcome) ?? 0) + 1)
  const property = fc.asyncProperty(fc.array(step, { ...length, size: 'max' }), async steps => {
    result.sequences += 1
    result.steps += steps.length
    await take(steps, see)
  })
  // A violation says what was called; making the sequence shorter would take longer than the run.
  const settings = { numRuns: sequences, seed, endOnFailure: true, examples: first.map((steps): [S[]] => [steps]) }
  const details = await fc.check(property, path === undefined ? settings : { ...settings, path })
  const violation = details.failed
    ? `${details.errorInstance}\nafter ${fc.stringify(details.counterexample)}\nreplay with --seed ${seed} --path ${details.counterexamplePath}`
    : null
  return { ...result, seed, violation }
}

/** Throws if the gateway did something else than the model. */
export function expect(actual: unknown, wanted: unknown, what: string): void {
  const [found, expected] = [JSON.stringify(actual), JSON.stringify(wanted)]
  if (found !== expected) throw new Error(`${what}: ${found}, expected ${expected}`)
}

import { type Load, type LoadResult, load } from './load.ts'
import type { Scene } from './process.ts'
import type { ProcessorMeter } from './processor.ts'
import { fixed, note } from './statistics.ts'

/** Something that is measured in every round: requests of one kind to one gateway. */
export interface Lane {
  key: string
  /** Sends requests for so long, or some large ones completely. */
  send(seconds: number): Promise<LoadResult>
  /** Of its gateway; `null`: nothing of it is on the gateways' core. */
  meter: ProcessorMeter | null
}

/** As many requests as the connections can. */
export const saturating =
  (scene: Scene, asked: Omit<Load, 'seconds'>) =>
  (seconds: number): Promise<LoadResult> =>
    load(scene.folder, { ...asked, seconds })

export interface Measured extends LoadResult {
  /** Processor time that a request cost its gateway, in microseconds. */
  cost: number
}

/** The rounds of each lane, by its key; the rounds of two lanes with the same index are neighbours in time. */
export type Rounds = ReadonlyMap<string, Measured[]>

/** Requests to warm up the compiler of a gateway, and the longest time for this in seconds. */
const WARM_UP_REQUESTS = 30_000
const WARM_UP_LIMIT = 60

export async function warmUp(send: Lane['send'], requests = WARM_UP_REQUESTS): Promise<void> {
  const slice = 1
  let answered = 0
  for (let seconds = 0; answered < requests && seconds < WARM_UP_LIMIT; seconds += slice) {
    answered += (await send(slice)).answered
  }
}

/**
 * Interleaved: every lane is measured once before any is measured again. Each round begins with another lane: the first of a
 * round was measured two microseconds too high for the same program.
 */
export async function runRounds(
  lanes: readonly Lane[],
  { rounds, seconds, title }: { rounds: number; seconds: number; title: string },
): Promise<Rounds> {
  const results = new Map<string, Measured[]>(lanes.map(({ key }) => [key, []]))
  for (let round = 1; round <= rounds; round++) {
    const costs: string[] = []
    const first = (round - 1) % lanes.length
    for (const lane of [...lanes.slice(first), ...lanes.slice(0, first)]) {
      const measured = await measure(lane, seconds)
      results.get(lane.key)!.push(measured)
      costs.push(`${lane.key} ${fixed(measured.cost, 1)}`)
    }
    note(`${title}, round ${round} of ${rounds}, µs: ${costs.join(' · ')}`)
  }
  return results
}

async function measure({ send, meter }: Lane, seconds: number): Promise<Measured> {
  const before = meter?.read() ?? Number.NaN
  const result = await send(seconds)
  const nanoseconds = (meter?.read() ?? Number.NaN) - before
  return { ...result, cost: nanoseconds / 1000 / result.answered }
}

/** How many times cheaper one lane is than another: the ratio of their costs in each round, round by round. */
export const timesCheaper = (one: readonly Measured[], other: readonly Measured[]): number[] =>
  one.flatMap(({ cost }, round) => (other[round] === undefined ? [] : [other[round].cost / cost]))

import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { onScene } from './process.ts'
import { type Lane, type Measured, runRounds, timesCheaper } from './rounds.ts'
import { type Pair, SCALES, type Scale } from './scales.ts'
import { fixed, medianOf, note, printTable, whole } from './statistics.ts'

export const GROWTH_HELP = `growth    processor time of a request as the work grows, beside a bare http-proxy
            --starts 2 --rounds 4       starts of each gateway, and rounds of one second of each start
            --sessions 1000000          the most sessions; 10000000 takes an hour (the embedded store)
            --only ${Object.keys(SCALES).join(',')}`

/** Seconds of each kind of request before the rounds: a gateway was warmed up with small requests only. */
const WARM_UP = 3
/** Descriptors that a process needs besides those of idle connections. */
const DESCRIPTORS = 1000

interface Extent {
  starts: number
  rounds: number
}

export async function growth(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: {
      starts: { type: 'string', default: '2' },
      rounds: { type: 'string', default: '4' },
      sessions: { type: 'string', default: '1000000' },
      only: { type: 'string', default: Object.keys(SCALES).join(',') },
    },
  })
  const most: Record<string, number> = {
    embedded: Number(values.sessions),
    redis: Number(values.sessions),
    cluster: Number(values.sessions),
    connections: connectionsAllowed(),
  }
  const rows: string[][] = []
  for (const key of values.only.split(',')) {
    const scale = SCALES[key]
    if (scale === undefined) throw new Error(`nothing that grows is called ${key}`)
    note(scale.title)
    const sizes = scale.sizes.filter(size => size <= (most[key] ?? Number.POSITIVE_INFINITY))
    rows.push(...(await rowsOf(scale, sizes, { starts: Number(values.starts), rounds: Number(values.rounds) })))
    if (key === 'connections' && sizes.length < scale.sizes.length)
      rows.push([`more ${scale.title}: the limit of open files (ulimit -n) is too low`])
  }
  const costs = ['CPU µs', 'bare, CPU µs', 'ours / bare', 'per tenfold']
  printTable(['what', 'size', ...costs, 'start, ms', 'memory, MiB'], rows)
}

/** Idle connections of all gateways of the scale are held by this process; the largest gateway has as many as the smaller ones. */
function connectionsAllowed(): number {
  const limit = Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))![1])
  return Math.floor((limit - DESCRIPTORS) * 0.9)
}

/** What was measured of one size, in all starts. */
interface Outcome {
  ours: Measured[]
  bare: Measured[]
  started: number[]
  resident: number[]
}

async function rowsOf(scale: Scale, sizes: readonly number[], { starts, rounds }: Extent): Promise<string[][]> {
  const outcomes = new Map<number, Outcome>(
    sizes.map(size => [size, { ours: [], bare: [], started: [], resident: [] }]),
  )
  await onScene(async scene => {
    const raise = await scale.open(scene, sizes)
    for (let start = 1; start <= starts; start++) {
      await scene.part(async part => collect(outcomes, await raise(part), { rounds, title: `start ${start}` }))
    }
  })
  return rowsFrom(scale.title, outcomes)
}

async function collect(
  outcomes: ReadonlyMap<number, Outcome>,
  pairs: readonly Pair[],
  extent: { rounds: number; title: string },
): Promise<void> {
  const lanes = new Set<Lane>(pairs.flatMap(({ ours, bare }) => [bare, ours]))
  for (const lane of lanes) for (let i = 0; i < WARM_UP; i++) await lane.send(1)
  const measured = await runRounds([...lanes], { ...extent, seconds: 1 })
  for (const { size, ours, bare, started, resident } of pairs) {
    const outcome = outcomes.get(size)!
    outcome.ours.push(...measured.get(ours.key)!)
    outcome.bare.push(...measured.get(bare.key)!)
    if (started !== undefined) outcome.started.push(started)
    if (resident !== undefined) outcome.resident.push(resident())
  }
}

function rowsFrom(title: string, outcomes: ReadonlyMap<number, Outcome>): string[][] {
  let before: { size: number; ratio: number } | null = null
  return Array.from(outcomes, ([size, { ours, bare, started, resident }]) => {
    const failed = [...ours, ...bare].reduce((sum, one) => sum + one.failed, 0)
    if (failed > 0) note(`${title}, ${whole(size)}: ${failed} requests failed`)
    const ratio = medianOf(timesCheaper(bare, ours))
    const grown = before === null ? Number.NaN : perTenfold(before.size, size, ratio / before.ratio)
    before = { size, ratio }
    return [
      title,
      whole(size),
      fixed(medianOf(ours.map(({ cost }) => cost)), 1),
      fixed(medianOf(bare.map(({ cost }) => cost)), 1),
      fixed(ratio),
      fixed(grown),
      whole(medianOf(started)),
      whole(medianOf(resident) / 2 ** 20),
    ]
  })
}

/** The factor by which something grows for each factor of ten between two sizes. */
const perTenfold = (from: number, to: number, factor: number): number => factor ** (1 / Math.log10(to / from))

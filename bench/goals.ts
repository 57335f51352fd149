import { parseArgs } from 'node:util'
import { measureLogins, p99Ratios } from './login.ts'
import { GATEWAY_CORE } from './machine.ts'
import { type WorkerMemory, workerMemory } from './memory.ts'
import { onScene } from './process.ts'
import { type Comparison, compare, costsOf, type Extent, printComparison, ratiosOf, SMALL } from './proxy.ts'
import { runRounds, timesCheaper } from './rounds.ts'
import { SCALES } from './scales.ts'
import { type ReloadTimes, reloadTimes, type StartTimes, startTimes } from './start-times.ts'
import { fixed, medianOf, note, printTable, quantile, spreadOf, whole } from './statistics.ts'

export const GOALS_HELP = `goals     every goal of speed with its peers, in one run of about twenty minutes
            --starts 5 --rounds 6       starts of each gateway, and rounds of one second of each start`

type Row = [what: string, goal: string, measured: string]

/** Each gateway with logins is started so often, and has so many rounds with and without logins. */
const LOGIN_STARTS = 3
const LOGINS = { rounds: 2, seconds: 5, together: 16 }
const RATE = 1000

/** Our own contenders, and their names in the table. */
const OURS = {
  embedded: 'embedded',
  tracking: 'tracking',
  public: 'public',
  logged: 'access log',
  redis: 'Redis asked',
}

/** Of the body of a request, in KiB. */
const UPLOADS = [10_240, 102_400]

export async function goals(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: { starts: { type: 'string', default: '5' }, rounds: { type: 'string', default: '6' } },
  })
  const extent = { starts: Number(values.starts), rounds: Number(values.rounds), seconds: 1 }
  const rows: Row[] = []
  await onScene(async scene => {
    const selection = { only: ['bare', ...Object.keys(OURS), 'lua'] }
    const [comparison] = await compare(scene, [SMALL], selection, extent)
    printComparison(comparison!, SMALL, extent)
    rows.push(...requestRows(comparison!))
  })
  rows.push(await loginRow('on one core', '≤ 2', GATEWAY_CORE), await loginRow('on two cores', '≤ 1.2', null))
  rows.push(await uploadRow(extent))
  await onScene(async scene => {
    rows.push(...startRows(await startTimes(scene, extent.starts)))
    rows.push(...reloadRows(await reloadTimes(scene, extent.starts)))
    rows.push(memoryRow(await workerMemory(scene, extent.starts)))
  })
  printTable(['what', 'goal', 'measured'], rows)
}

function requestRows(comparison: Comparison): Row[] {
  const to = (other: string, ...keys: string[]): string =>
    keys.map(key => withWorst(ratiosOf(comparison, key, other))).join(', ')
  const ofEach = (figure: (key: string) => number): string =>
    Object.keys(OURS)
      .map(key => fixed(figure(key)))
      .join(', ')
  const all = Object.values(OURS).join(', ')
  return [
    ['p90 / p10 of the rounds of bare http-proxy: a quiet machine', '≤ 1.2', fixed(unrest(comparison))],
    ['nginx + Lua + Redis / ours: embedded, tracking, public', '≥ 1.0', to('lua', 'embedded', 'tracking', 'public')],
    ['nginx + Lua + Redis / ours: access log on', '≥ 0.95', to('lua', 'logged')],
    ['nginx + Lua + Redis / ours: Redis asked', '≥ 0.9', to('lua', 'redis')],
    ['bare http-proxy / ours: embedded, tracking', '≥ 1.8', to('bare', 'embedded', 'tracking')],
    ['bare http-proxy / ours: access log on', '≥ 1.65', to('bare', 'logged')],
    ['bare http-proxy / ours: Redis asked', '≥ 1.6', to('bare', 'redis')],
    [`worst start / best start: ${all}`, '≥ 0.95', ofEach(key => steadiness(comparison, key))],
    [`p90 / p50 at saturation: ${all}`, '≤ 1.4', ofEach(key => tailOf(comparison, key))],
  ]
}

/** The median of all rounds, and in parentheses that of the worst start. */
const withWorst = (starts: readonly number[][]): string =>
  `${fixed(medianOf(starts.flat()))} (${fixed(spreadOf(starts.map(medianOf)).least)})`

/** How far the costs of a program that is always the same differ: what is busy beside the bench. */
function unrest(comparison: Comparison): number {
  const costs = (comparison.get('bare')?.starts ?? []).flat().map(({ cost }) => cost)
  const sorted = costs.toSorted((a, b) => a - b)
  return quantile(sorted, 0.9) / quantile(sorted, 0.1)
}

/** How fast the worst start of a contender is beside its best one. */
function steadiness(comparison: Comparison, key: string): number {
  const outcome = comparison.get(key)
  if (outcome === undefined) return Number.NaN
  const { least, most } = spreadOf(costsOf(outcome))
  return least / most
}

const tailOf = (comparison: Comparison, key: string): number =>
  medianOf((comparison.get(key)?.starts ?? []).flat().map(({ p50, p90 }) => p90 / p50))

async function loginRow(where: string, goal: string, core: number | null): Promise<Row> {
  const ratios: number[] = []
  for (let start = 1; start <= LOGIN_STARTS; start++) {
    note(`logins ${where}, start ${start} of ${LOGIN_STARTS}`)
    await onScene(async scene => {
      ratios.push(...p99Ratios(await measureLogins(scene, LOGINS, [RATE], core), 0))
    })
  }
  return [`p99 at ${RATE}/s with logins / without, ${where}`, goal, fixed(medianOf(ratios))]
}

async function uploadRow({ starts, rounds }: Extent): Promise<Row> {
  const ratios = new Map<number, number[]>(UPLOADS.map(size => [size, []]))
  await onScene(async scene => {
    const raise = await SCALES.up!.open(scene, UPLOADS)
    for (let start = 1; start <= starts; start++) {
      await scene.part(async part => {
        const pairs = await raise(part)
        const lanes = pairs.flatMap(({ ours, bare }) => [bare, ours])
        // A gateway was warmed up with small requests only.
        for (const { send } of lanes) await send(1)
        const measured = await runRounds(lanes, { rounds, seconds: 1, title: `uploads, start ${start}` })
        for (const { size, ours, bare } of pairs)
          ratios.get(size)!.push(...timesCheaper(measured.get(bare.key)!, measured.get(ours.key)!))
      })
    }
  })
  const figures = UPLOADS.map(size => fixed(medianOf(ratios.get(size)!)))
  return ['upload of 10 MiB, of 100 MiB: ours / bare http-proxy', '≤ 1.1', figures.join(', ')]
}

function startRows({ minimal, alone, workers }: StartTimes): Row[] {
  const row = (what: string, goal: string, elapsed: readonly number[]): Row => [
    `start to the first answer / a minimal Fastify's: ${what}`,
    goal,
    `${fixed(medianOf(elapsed) / medianOf(minimal))} (${whole(medianOf(elapsed))} / ${whole(medianOf(minimal))} ms)`,
  ]
  return [row('one process', '≤ 1.5', alone), row('supervisor and two workers', '≤ 1.8', workers)]
}

const reloadRows = ({ first, steady }: ReloadTimes): Row[] => [
  ['reload: from the signal to the first answer of the new route', '≤ 400 ms', `${whole(medianOf(first))} ms`],
  ['reload: from the signal to eight answers in a row', '≤ 450 ms', `${whole(medianOf(steady))} ms`],
]

function memoryRow({ ours, smaller }: WorkerMemory): Row {
  const [own, other] = [medianOf(ours) / 2 ** 20, medianOf(smaller) / 2 ** 20]
  const measured = `${own > other ? '+' : ''}${fixed(own - other, 0)} MiB (${fixed(own, 0)} / ${fixed(other, 0)})`
  return ['memory of a worker under load, to one with a young generation of 16 MiB', '≤ +60 MiB', measured]
}

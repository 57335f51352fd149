import { parseArgs } from 'node:util'
import { measureLogins, p99Ratios } from './login.ts'
import { type WorkerMemory, workerMemory } from './memory.ts'
import { onScene } from './process.ts'
import { type Comparison, compare, costsOf, printComparison, ratioOf, SMALL } from './proxy.ts'
import { reloadTimes, type StartTimes, startTimes } from './start-times.ts'
import { fixed, medianOf, note, printTable, spreadOf, whole } from './statistics.ts'

export const GOALS_HELP = `goals     every goal of speed with its peers, in one run of about a quarter of an hour
            --starts 5 --rounds 6       starts of each gateway, and rounds of one second of each start`

type Row = [what: string, goal: string, measured: string]

/** Each gateway with logins is started so often, and has so many rounds with and without logins. */
const LOGIN_STARTS = 3
const LOGINS = { rounds: 2, seconds: 5, together: 16 }
const RATE = 1000

/** Our own contenders with a session, and their names in the table. */
const OURS = { embedded: 'embedded', tracking: 'tracking', logged: 'access log', redis: 'Redis asked' }

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
  rows.push(await loginRow())
  await onScene(async scene => {
    rows.push(...startRows(await startTimes(scene, extent.starts)))
    rows.push(reloadRow(await reloadTimes(scene, extent.starts)))
    rows.push(memoryRow(await workerMemory(scene, extent.starts)))
  })
  printTable(['what', 'goal', 'measured'], rows)
}

function requestRows(comparison: Comparison): Row[] {
  const toBare = (...keys: string[]): string => keys.map(key => fixed(ratioOf(comparison, key, 'bare'))).join(', ')
  const toLua = (...keys: string[]): string => keys.map(key => fixed(ratioOf(comparison, key, 'lua'))).join(', ')
  const ofEach = (figure: (key: string) => number): string =>
    Object.keys(OURS)
      .map(key => fixed(figure(key)))
      .join(', ')
  const all = Object.values(OURS).join(', ')
  return [
    ['bare http-proxy / ours: embedded, tracking', '≥ 2.1', toBare('embedded', 'tracking')],
    ['bare http-proxy / ours: access log on', '≥ 1.8', toBare('logged')],
    ['bare http-proxy / ours: Redis asked', '≥ 1.6', toBare('redis')],
    [`worst start / best start: ${all}`, '≥ 0.9', ofEach(key => steadiness(comparison, key))],
    ['nginx + Lua + Redis / ours: embedded, tracking', '≥ 1.0', toLua('embedded', 'tracking')],
    ['nginx + Lua + Redis / ours: Redis asked', '≥ 0.8', toLua('redis')],
    [`p90 / p50 at saturation: ${all}`, '≤ 1.8', ofEach(key => tailOf(comparison, key))],
  ]
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

async function loginRow(): Promise<Row> {
  const ratios: number[] = []
  for (let start = 1; start <= LOGIN_STARTS; start++) {
    note(`logins, start ${start} of ${LOGIN_STARTS}`)
    await onScene(async scene => {
      ratios.push(...p99Ratios(await measureLogins(scene, LOGINS, [RATE]), 0))
    })
  }
  return [`p99 at ${RATE}/s with logins / without`, '≤ 2', fixed(medianOf(ratios))]
}

function startRows({ minimal, alone, workers }: StartTimes): Row[] {
  const row = (what: string, elapsed: readonly number[]): Row => [
    `start to the first answer / a minimal Fastify's: ${what}`,
    '≤ 1.8',
    `${fixed(medianOf(elapsed) / medianOf(minimal))} (${whole(medianOf(elapsed))} / ${whole(medianOf(minimal))} ms)`,
  ]
  return [row('one process', alone), row('supervisor and two workers', workers)]
}

const reloadRow = (elapsed: readonly number[]): Row => [
  'reload: from the signal to the first answer of the new route',
  '≤ 1200 ms',
  `${whole(medianOf(elapsed))} ms`,
]

function memoryRow({ ours, nodeDefault }: WorkerMemory): Row {
  const [own, plain] = [medianOf(ours) / 2 ** 20, medianOf(nodeDefault) / 2 ** 20]
  const measured = `${own > plain ? '+' : ''}${fixed(own - plain, 0)} MiB (${fixed(own, 0)} / ${fixed(plain, 0)})`
  return ["memory of a worker under load, to one with Node's default heap", '≤ +60 MiB', measured]
}

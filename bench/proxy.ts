import { parseArgs } from 'node:util'
import { CONTENDER_KEYS, type Contender, raiseContenders, type Selection } from './contenders.ts'
import { BEARER } from './load.ts'
import { onScene, type Scene } from './process.ts'
import { ProcessorMeter } from './processor.ts'
import { type Lane, type Measured, type Rounds, runRounds, saturating, timesCheaper, warmUp } from './rounds.ts'
import { Ground } from './stage.ts'
import { fixed, medianOf, note, printTable, spreadOf, whole } from './statistics.ts'
import { pathOf, startUpstream } from './upstream.ts'

export const PROXY_HELP = `proxy     processor time and latency of requests through gateways side by side
            --starts 5                  how often all gateways are replaced by new processes
            --rounds 6 --seconds 1      rounds of all gateways in turn for each start, and the duration of one
            --connections 64            one number, or several with commas: a table for each
            --size 0.1                  KiB of the answer: 0.1, 10, 1000
            --post 0                    KiB of the request's body; 0: GET
            --beside FOLDER             a second checkout with its dist/, to compare two versions: each of our gateways of it, too
            --only ${CONTENDER_KEYS.join(',')}`

/** The parameters of one table. */
interface Shape {
  connections: number
  size: number
  post: number
}

/** What most tables are about. */
export const SMALL: Shape = { connections: 64, size: 0.1, post: 0 }

export interface Extent {
  starts: number
  rounds: number
  seconds: number
}

export async function proxy(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: {
      starts: { type: 'string', default: '5' },
      rounds: { type: 'string', default: '6' },
      seconds: { type: 'string', default: '1' },
      connections: { type: 'string', default: '64' },
      size: { type: 'string', default: '0.1' },
      post: { type: 'string', default: '0' },
      beside: { type: 'string' },
      only: { type: 'string', default: '' },
    },
  })
  const selection = { only: selected(values.only), beside: values.beside }
  const shapes = shapesOf(numbers(values.connections), numbers(values.size), numbers(values.post))
  const extent = { starts: Number(values.starts), rounds: Number(values.rounds), seconds: Number(values.seconds) }
  for (const bodies of [false, true]) {
    const alike = shapes.filter(({ post }) => post > 0 === bodies)
    if (alike.length === 0) continue
    await onScene(async scene => {
      const compared = await compare(scene, alike, selection, extent)
      for (const [i, shape] of alike.entries()) printComparison(compared[i]!, shape, extent)
    })
  }
}

const numbers = (text: string): number[] => text.split(',').map(Number)

function selected(text: string): string[] {
  const only = text.split(',').filter(key => key !== '')
  const unknown = only.find(key => !CONTENDER_KEYS.includes(key))
  if (unknown !== undefined) throw new Error(`no contender is called ${unknown}`)
  return only
}

const shapesOf = (connections: number[], sizes: number[], posts: number[]): Shape[] =>
  posts.flatMap(post => sizes.flatMap(size => connections.map(count => ({ connections: count, size, post }))))

/** What was measured of one contender: the rounds of each start. */
export interface Outcome {
  title: string
  starts: Measured[][]
}

export type Comparison = ReadonlyMap<string, Outcome>

/** Measures all shapes; after the rounds of each start, every gateway is replaced by a new process. */
export async function compare(
  scene: Scene,
  shapes: readonly Shape[],
  selection: Selection,
  { starts, ...extent }: Extent,
): Promise<Comparison[]> {
  const upstream = await startUpstream(
    scene,
    shapes.some(({ post }) => post > 0),
  )
  const ground = new Ground(scene, upstream)
  const comparisons = shapes.map(() => new Map<string, Outcome>())
  for (let start = 1; start <= starts; start++) {
    await scene.part(async part => {
      note(`start ${start} of ${starts}`)
      const contenders = await raiseContenders(part, ground, selection)
      await Promise.all(contenders.map(probe))
      for (const { send } of lanesOf(part, contenders, SMALL)) await warmUp(send)
      for (const [i, shape] of shapes.entries()) {
        const rounds = await runRounds(lanesOf(part, contenders, shape), { ...extent, title: `start ${start}` })
        collect(comparisons[i]!, contenders, rounds)
      }
      await Promise.all(contenders.map(probe))
    })
  }
  return comparisons
}

/** Saturates each of them, with all connections at once. */
export const lanesOf = (scene: Scene, contenders: readonly Contender[], { connections, size, post }: Shape): Lane[] =>
  contenders.map(({ key, url, base, tokens, credential, processes }) => ({
    key,
    send: saturating(scene, {
      url: url + pathOf(base, size),
      tokens,
      credential,
      connections,
      body: Math.round(post * 1024),
    }),
    meter: processes.length === 0 ? null : new ProcessorMeter(processes.map(({ pid }) => pid)),
  }))

function collect(comparison: Map<string, Outcome>, contenders: readonly Contender[], rounds: Rounds): void {
  for (const { key, title } of contenders) {
    const outcome = comparison.get(key) ?? { title, starts: [] }
    outcome.starts.push(rounds.get(key)!)
    comparison.set(key, outcome)
  }
}

/** A refusal can be an HTTP 200, so each session is checked before and after: the answer must come from the upstream. */
export async function probe({ key, url, base, tokens, credential = BEARER }: Contender): Promise<void> {
  const [name = '', before = ''] = credential.split(/: /)
  for (const token of tokens.length === 0 ? [''] : tokens) {
    const headers: Record<string, string> = token === '' ? {} : { [name]: before + token }
    const text = await (await fetch(url + pathOf(base, 0.1), { headers })).text()
    if (!text.startsWith('{"id":7,')) throw new Error(`${key} answered ${text.slice(0, 200)}`)
  }
}

/** Microseconds of a request in each start. */
export const costsOf = ({ starts }: Outcome): number[] => starts.map(rounds => medianOf(rounds.map(({ cost }) => cost)))

/** How many times cheaper one contender is than another: of each start, the ratios of all rounds. */
export function ratiosOf(comparison: Comparison, key: string, other: string): number[][] {
  const [one, base] = [comparison.get(key)?.starts ?? [], comparison.get(other)?.starts ?? []]
  return one.map((rounds, start) => timesCheaper(rounds, base[start] ?? []))
}

/** The same, as the median of all rounds. */
export const ratioOf = (comparison: Comparison, key: string, other: string): number =>
  medianOf(ratiosOf(comparison, key, other).flat())

export function printComparison(
  comparison: Comparison,
  { connections, size, post }: Shape,
  { starts, rounds, seconds }: Extent,
): void {
  const what = post > 0 ? `POST of ${post} KiB, answer of ${size} KiB` : `GET of ${size} KiB`
  console.log(`${what}, ${connections} connections, ${starts} starts with ${rounds} rounds of ${seconds} s:\n`)
  const rows = Array.from(comparison, ([key, outcome]) => {
    const all = outcome.starts.flat()
    const of = (figure: (one: Measured) => number): number => medianOf(all.map(figure))
    const { least, median, most } = spreadOf(costsOf(outcome))
    return [
      outcome.title,
      ...[least, median, most].map(cost => fixed(cost, 1)),
      fixed(least / most),
      fixed(ratioOf(comparison, key, 'bare')),
      whole(of(({ rate }) => rate)),
      ...[of(({ p50 }) => p50), of(({ p90 }) => p90), of(({ p99 }) => p99)].map(time => fixed(time, 1)),
      fixed(of(({ p50, p90 }) => p90 / p50)),
      whole(all.reduce((sum, { failed }) => sum + failed, 0)),
    ]
  })
  const costs = ['CPU µs, best', 'median', 'worst start', 'worst/best', 'to bare']
  printTable(['what', ...costs, 'requests/s', 'p50 ms', 'p90 ms', 'p99 ms', 'p90/p50', 'failed'], rows)
}

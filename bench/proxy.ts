import { parseArgs } from 'node:util'
import { CONTENDER_KEYS, type Contender, raiseContenders } from './contenders.ts'
import { type LoadResult, load } from './load.ts'
import { onScene, processorSeconds, type Scene } from './process.ts'
import { fixed, medianOf, note, printTable, spreadOf, whole } from './statistics.ts'
import { pathOf, startUpstream } from './upstream.ts'

export const PROXY_HELP = `proxy     requests per second of gateways side by side
            --rounds 5 --seconds 4      rounds of all contenders in turn, and how long each is asked in a round
            --connections 64            one number, or several with commas: a table for each
            --size 0.1                  KiB of the answer: 0.1, 10, 1000
            --post 0                    KiB of the request's body; 0: GET
            --only ${CONTENDER_KEYS.join(',')}`

/** The parameters of one table. */
interface Shape {
  connections: number
  size: number
  post: number
}

/** Requests to warm up the compiler of a contender, and the longest time for this in seconds. */
const WARM_UP_REQUESTS = 30_000
const WARM_UP_LIMIT = 60

export async function proxy(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '4' },
      connections: { type: 'string', default: '64' },
      size: { type: 'string', default: '0.1' },
      post: { type: 'string', default: '0' },
      only: { type: 'string', default: '' },
    },
  })
  const only = values.only.split(',').filter(key => key !== '')
  const unknown = only.find(key => !CONTENDER_KEYS.includes(key))
  if (unknown !== undefined) throw new Error(`no contender is called ${unknown}`)
  const shapes = shapesOf(numbers(values.connections), numbers(values.size), numbers(values.post))
  const extent = { rounds: Number(values.rounds), seconds: Number(values.seconds) }
  for (const bodies of [false, true]) {
    const alike = shapes.filter(({ post }) => post > 0 === bodies)
    if (alike.length > 0) await onScene(scene => compare(scene, alike, bodies, only, extent))
  }
}

const numbers = (text: string): number[] => text.split(',').map(Number)

const shapesOf = (connections: number[], sizes: number[], posts: number[]): Shape[] =>
  posts.flatMap(post => sizes.flatMap(size => connections.map(count => ({ connections: count, size, post }))))

async function compare(
  scene: Scene,
  shapes: readonly Shape[],
  bodies: boolean,
  only: readonly string[],
  extent: { rounds: number; seconds: number },
): Promise<void> {
  note('starting upstream and gateways')
  const contenders = await raiseContenders(scene, await startUpstream(scene, bodies), only)
  await Promise.all(contenders.map(probe))
  for (const contender of contenders) await warmUp(scene, contender)
  for (const shape of shapes) {
    const results = new Map<string, Measured[]>(contenders.map(({ key }) => [key, []]))
    for (let round = 1; round <= extent.rounds; round++) {
      for (const contender of contenders) {
        const result = await measure(scene, contender, shape, extent.seconds)
        results.get(contender.key)!.push(result)
        note(`round ${round}: ${contender.key} ${whole(result.rate)}/s`)
      }
    }
    print(contenders, results, shape, extent)
  }
  await Promise.all(contenders.map(probe))
}

async function warmUp(scene: Scene, contender: Contender): Promise<void> {
  const slice = 2
  let answered = 0
  for (let seconds = 0; answered < WARM_UP_REQUESTS && seconds < WARM_UP_LIMIT; seconds += slice) {
    const { rate } = await measure(scene, contender, { connections: 64, size: 0.1, post: 0 }, slice)
    answered += rate * slice
  }
}

interface Measured extends LoadResult {
  /** Processor time that a request cost its gateway, in microseconds. */
  cost: number
}

async function measure(scene: Scene, contender: Contender, shape: Shape, seconds: number): Promise<Measured> {
  const { url, base, tokens, processes } = contender
  const used = (): number => processes.reduce((sum, { pid }) => sum + processorSeconds(pid), 0)
  const before = used()
  const asked = { url: url + pathOf(base, shape.size), tokens, connections: shape.connections, seconds }
  const result = await load(scene.folder, { ...asked, body: Math.round(shape.post * 1024) })
  return { ...result, cost: ((used() - before) * 1e6) / (result.rate * seconds) }
}

/** A refusal can be an HTTP 200, so each session is checked before and after: the answer must come from the upstream. */
async function probe({ key, url, base, tokens }: Contender): Promise<void> {
  for (const token of tokens.length === 0 ? [''] : tokens) {
    const headers: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` }
    const text = await (await fetch(url + pathOf(base, 0.1), { headers })).text()
    if (!text.startsWith('{"id":7,')) throw new Error(`${key} answered ${text.slice(0, 200)}`)
  }
}

function print(
  contenders: readonly Contender[],
  results: ReadonlyMap<string, Measured[]>,
  { connections, size, post }: Shape,
  { rounds, seconds }: { rounds: number; seconds: number },
): void {
  const what = post > 0 ? `POST of ${post} KiB, answer of ${size} KiB` : `GET of ${size} KiB`
  console.log(`${what}, ${connections} connections, ${rounds} rounds of ${seconds} s:\n`)
  const of = (key: string, figure: (one: Measured) => number): number => medianOf((results.get(key) ?? []).map(figure))
  const rows = contenders.map(({ key, title, processes }) => {
    const all = results.get(key)!
    const { median, least, most } = spreadOf(all.map(({ rate }) => rate))
    const failed = all.reduce((sum, result) => sum + result.failed, 0)
    const range = `${whole(least)} – ${whole(most)}`
    const times = [of(key, ({ p50 }) => p50), of(key, ({ p90 }) => p90), of(key, ({ p99 }) => p99)]
    const cost = of(key, one => one.cost)
    const ratios = [fixed(median / of('bare', ({ rate }) => rate)), fixed(of('bare', one => one.cost) / cost)]
    const asked = processes.length > 0
    return [
      title,
      whole(median),
      range,
      ratios[0]!,
      asked ? fixed(cost, 1) : '–',
      asked ? ratios[1]! : '–',
      ...times.map(time => fixed(time, 1)),
      whole(failed),
    ]
  })
  const head = [
    'what',
    'requests/s',
    'least – most',
    'to bare',
    'CPU µs',
    'to bare',
    'p50 ms',
    'p90 ms',
    'p99 ms',
    'failed',
  ]
  printTable(head, rows)
}

import { parseArgs } from 'node:util'
import { type Contender, raiseContenders } from './contenders.ts'
import { load } from './load.ts'
import { onScene, residentBytes, type Scene } from './process.ts'
import { lanesOf, probe, SMALL } from './proxy.ts'
import { type Measured, runRounds, warmUp } from './rounds.ts'
import { Ground } from './stage.ts'
import { fixed, medianOf, note, printTable, whole } from './statistics.ts'
import { pathOf, startUpstream } from './upstream.ts'

export const COMPARISON_HELP = `comparison  this gateway beside others with the same sessions: processor time, latency, memory, start (comparison.md)
            --starts 3 --rounds 4       starts of each, and rounds of one second of each start`

/** In the order of the table; what this machine lacks is left out. */
const COMPARED = [
  'nginx',
  'bare',
  'lua',
  'embedded',
  'tracking',
  'redis',
  'usual',
  'auth-request',
  'caddy',
  'envoy',
  'oauth2-proxy',
  'spring',
]

/** Requests per second that each of them can answer, for the latency. */
const RATE = 1000
const RATE_SECONDS = 3
/** Requests to warm up; as many make Java's compiler calm. */
const WARM_UP = 60_000

/** One start of one of them. */
interface Seen {
  rounds: Measured[]
  p50: number
  p99: number
  /** Bytes of all its processes after the load. */
  resident: number
  /** Milliseconds until it accepts connections, or the slowest of its processes does. */
  started: number
}

export async function comparison(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: { starts: { type: 'string', default: '3' }, rounds: { type: 'string', default: '4' } },
  })
  const [starts, rounds] = [Number(values.starts), Number(values.rounds)]
  await onScene(async scene => {
    const ground = new Ground(scene, await startUpstream(scene, false))
    const seen = new Map<string, Seen[]>()
    for (let start = 1; start <= starts; start++) {
      note(`start ${start} of ${starts}`)
      await scene.part(async part => {
        const contenders = await raiseContenders(part, ground, { only: COMPARED })
        for (const [title, one] of await see(part, contenders, rounds)) {
          seen.set(title, [...(seen.get(title) ?? []), one])
        }
      })
    }
    print(seen, { starts, rounds })
  })
}

async function see(part: Scene, contenders: readonly Contender[], rounds: number): Promise<[string, Seen][]> {
  await Promise.all(contenders.map(probe))
  const lanes = lanesOf(part, contenders, SMALL)
  for (const { send } of lanes) await warmUp(send, WARM_UP)
  const measured = await runRounds(lanes, { rounds, seconds: 1, title: 'saturated' })
  const seen: [string, Seen][] = []
  for (const { key, title, url, base, tokens, credential, processes } of contenders) {
    const asked = {
      url: url + pathOf(base, 0.1),
      tokens,
      credential,
      connections: 64,
      seconds: RATE_SECONDS,
      rate: RATE,
    }
    const { p50, p99 } = await load(part.folder, asked)
    const resident = processes.reduce((sum, { pid }) => sum + residentBytes(pid), 0)
    const started = Math.max(...processes.map(({ readyAfter }) => readyAfter))
    seen.push([title, { rounds: measured.get(key)!, p50, p99, resident, started }])
  }
  await Promise.all(contenders.map(probe))
  return seen
}

function print(seen: ReadonlyMap<string, Seen[]>, { starts, rounds }: { starts: number; rounds: number }): void {
  console.log(`GET of 0.1 KiB, 64 connections, ${starts} starts with ${rounds} rounds of 1 s; medians:\n`)
  const rows = Array.from(seen, ([title, all]) => {
    const of = (figure: (one: Seen) => number): number => medianOf(all.map(figure))
    const ofRounds = (figure: (one: Measured) => number): number =>
      medianOf(all.flatMap(({ rounds }) => rounds).map(figure))
    return [
      title,
      fixed(
        ofRounds(({ cost }) => cost),
        1,
      ),
      whole(ofRounds(({ rate }) => rate)),
      fixed(of(({ p50 }) => p50)),
      fixed(of(({ p99 }) => p99)),
      whole(of(({ resident }) => resident / 2 ** 20)),
      whole(of(({ started }) => started)),
    ]
  })
  const latency = [`p50 ms at ${RATE}/s`, `p99 ms at ${RATE}/s`]
  printTable(['what', 'CPU µs', 'requests/s at most', ...latency, 'MiB', 'start ms'], rows)
}

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type BenchGateway, logIn, startGateway } from './gateway.ts'
import { type LoadResult, load } from './load.ts'
import type { LoginLoad, LoginResult } from './login-client.ts'
import { GATEWAY_CORE, OTHER_CORE, pinned } from './machine.ts'
import { onScene, type Scene } from './process.ts'
import { ProcessorMeter } from './processor.ts'
import { ACCOUNTS, accountSettings, PASSWORD } from './sign-in.ts'
import { fixed, medianOf, note, printTable, spreadOf, whole } from './statistics.ts'
import { pathOf, startUpstream } from './upstream.ts'

export const LOGIN_HELP = `login     logins per second, and how they delay other requests on the same core
            --rounds 5 --seconds 5      rounds with and without logins in turn
            --together 16               logins under way at a time
            --rate 1000                 requests per second at a fixed rate; a second run sends as many as 64 connections can`

const SESSIONS = 200
const CONNECTIONS = 64

export async function login(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '5' },
      together: { type: 'string', default: '16' },
      rate: { type: 'string', default: '1000' },
    },
  })
  const { rounds, seconds, together, rate } = values
  const extent = { rounds: Number(rounds), seconds: Number(seconds), together: Number(together) }
  const paces = [undefined, Number(rate)]
  await onScene(async scene => print(await measureLogins(scene, extent, paces), paces, extent))
}

interface Extent {
  rounds: number
  seconds: number
  /** Logins under way at a time. */
  together: number
}

/** Round by round. */
interface Logins {
  /** Proxied requests at each pace, without and with logins. */
  quiet: LoadResult[][]
  busy: LoadResult[][]
  /** Logins without other requests, and their processor time in milliseconds each. */
  alone: LoginResult[]
  cost: number[]
}

/**
 * A pace is a number of requests per second; `undefined`: as many as the connections can. The gateway has one core, or with
 * `null` all of them.
 */
export async function measureLogins(
  scene: Scene,
  { rounds, seconds, together }: Extent,
  paces: readonly (number | undefined)[],
  core: number | null = GATEWAY_CORE,
): Promise<Logins> {
  const gateway = await startWithAccounts(scene, core)
  const tokens = await logIn(gateway, SESSIONS)
  const asked = { url: gateway.url + pathOf('/api/v1/c', 0.1), tokens, connections: CONNECTIONS, seconds }
  const shapes = paces.map(rate => (rate === undefined ? asked : { ...asked, rate }))
  const signIns = (): Promise<LoginResult> => signInFor(gateway, together, seconds)
  const logins: Logins = { quiet: paces.map(() => []), busy: paces.map(() => []), alone: [], cost: [] }
  const meter = new ProcessorMeter([gateway.pid])

  await load(scene.folder, asked)
  await signIns()
  for (let round = 1; round <= rounds; round++) {
    const before = meter.read()
    const signedIn = await signIns()
    logins.alone.push(signedIn)
    logins.cost.push((meter.read() - before) / 1e6 / (signedIn.rate * seconds))
    for (const [i, shape] of shapes.entries()) {
      logins.quiet[i]!.push(await load(scene.folder, shape))
      const { done } = await signInDuring(gateway, together, () => load(scene.folder, shape))
      logins.busy[i]!.push(done)
    }
    note(`round ${round} of ${rounds}: ${fixed(signedIn.rate, 1)} logins/s`)
  }
  return logins
}

/** The p99 with logins to that without, in each round of one pace. */
export const p99Ratios = ({ quiet, busy }: Logins, pace: number): number[] =>
  busy[pace]!.map(({ p99 }, round) => p99 / quiet[pace]![round]!.p99)

async function startWithAccounts(scene: Scene, core: number | null): Promise<BenchGateway> {
  return startGateway(scene, 'login', {
    core,
    upstream: await startUpstream(scene, false),
    settings: accountSettings(scene.folder),
  })
}

export const signInFor = async (gateway: BenchGateway, together: number, seconds: number): Promise<LoginResult> =>
  (await signInDuring(gateway, together, () => pause(seconds * 1000))).logins

/** Signs users in while something runs, which begins when the client of the logins has started. */
async function signInDuring<T>(
  { url, redis, data }: BenchGateway,
  together: number,
  work: () => Promise<T>,
): Promise<{ done: T; logins: LoginResult }> {
  const asked: LoginLoad = { url, redis, data, accounts: ACCOUNTS, password: PASSWORD, together }
  const client = join(import.meta.dirname, 'login-client.ts')
  const command = [process.execPath, '--import', 'tsx', client, JSON.stringify(asked)]
  const [program, ...words] = pinned(OTHER_CORE, command)
  const child = spawn(program!, words, { cwd: import.meta.dirname, stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  try {
    const { done: failed } = await lines.next()
    if (failed === true) throw new Error('the client of the logins did not start')
    const done = await work()
    child.stdin.end()
    return { done, logins: JSON.parse((await lines.next()).value) as LoginResult }
  } finally {
    child.kill('SIGKILL')
  }
}

function print(logins: Logins, paces: readonly (number | undefined)[], { together }: Extent): void {
  const { alone, cost } = logins
  console.log('Proxied requests with a session, milliseconds, without and with logins on the same core:\n')
  const rows = paces.map((pace, i) => {
    const [quiet, busy] = [logins.quiet[i]!, logins.busy[i]!]
    const of = (all: readonly LoadResult[], figure: (one: LoadResult) => number): number => medianOf(all.map(figure))
    return [
      pace === undefined ? `as many as ${CONNECTIONS} connections can` : `${pace} a second`,
      `${whole(of(quiet, one => one.rate))} → ${whole(of(busy, one => one.rate))}`,
      `${fixed(of(quiet, one => one.p50))} → ${fixed(of(busy, one => one.p50))}`,
      `${fixed(of(quiet, one => one.p99))} → ${fixed(of(busy, one => one.p99))}`,
      fixed(medianOf(p99Ratios(logins, i))),
      whole([...quiet, ...busy].reduce((sum, one) => sum + one.failed, 0)),
    ]
  })
  printTable(['requests', 'per second', 'p50', 'p99', 'p99 ratio', 'failed'], rows)
  const rates = spreadOf(alone.map(result => result.rate))
  const refused = alone.reduce((sum, result) => sum + result.refused, 0)
  console.log(
    `Logins alone, ${together} at a time, each with its captcha: ${fixed(rates.median, 1)}/s ` +
      `(${fixed(rates.least, 1)} – ${fixed(rates.most, 1)}), ${fixed(medianOf(cost), 1)} ms of processor time each, ` +
      `p50 ${whole(medianOf(alone.map(({ p50 }) => p50)))} ms, refused ${refused}.\n`,
  )
}

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { type BenchGateway, logIn, startGateway } from './gateway.ts'
import { type LoadResult, load } from './load.ts'
import type { LoginLoad, LoginResult } from './login-client.ts'
import { OTHER_CORE, pinned } from './machine.ts'
import { onScene, type Scene } from './process.ts'
import { ProcessorMeter } from './processor.ts'
import { ACCOUNTS, accountSettings, PASSWORD } from './sign-in.ts'
import { fixed, medianOf, note, printTable, spreadOf, whole } from './statistics.ts'
import { pathOf, startUpstream } from './upstream.ts'

export const LOGIN_HELP = `login     logins per second, and how they delay other requests on the same core
            --rounds 5 --seconds 5      rounds with and without logins in turn
            --together 16               logins under way at a time
            --rate 1000                 requests per second at a fixed rate; a second run sends as many as 64 connections can`

const run = promisify(execFile)
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
  const extent = { rounds: Number(rounds), seconds: Number(seconds) }
  await onScene(scene => compare(scene, extent, Number(together), Number(rate)))
}

interface Extent {
  rounds: number
  seconds: number
}

async function compare(scene: Scene, { rounds, seconds }: Extent, together: number, rate: number): Promise<void> {
  const gateway = await startWithAccounts(scene)
  const tokens = await logIn(gateway, SESSIONS)
  const asked = { url: gateway.url + pathOf('/api/v1/c', 0.1), tokens, connections: CONNECTIONS, seconds }
  const signIns = (): Promise<LoginResult> => signInFor(gateway, together, seconds)
  const paced = { ...asked, rate }
  const quiet: LoadResult[][] = [[], []]
  const busy: LoadResult[][] = [[], []]
  const alone: LoginResult[] = []
  const cost: number[] = []
  const meter = new ProcessorMeter([gateway.pid])

  await load(scene.folder, asked)
  await signIns()
  for (let round = 1; round <= rounds; round++) {
    const before = meter.read()
    const signedIn = await signIns()
    alone.push(signedIn)
    cost.push((meter.read() - before) / 1e6 / (signedIn.rate * seconds))
    for (const [i, shape] of [asked, paced].entries()) {
      quiet[i]!.push(await load(scene.folder, shape))
      const [loaded] = await Promise.all([load(scene.folder, shape), signIns()])
      busy[i]!.push(loaded)
    }
    note(`round ${round}: ${fixed(signedIn.rate, 1)} logins/s`)
  }
  print(['as many as 64 connections can', `${rate} a second`], quiet, busy)
  const rates = spreadOf(alone.map(result => result.rate))
  const refused = alone.reduce((sum, result) => sum + result.refused, 0)
  console.log(
    `Logins alone, ${together} at a time, each with its captcha: ${fixed(rates.median, 1)}/s ` +
      `(${fixed(rates.least, 1)} – ${fixed(rates.most, 1)}), ${fixed(medianOf(cost), 1)} ms of processor time each, ` +
      `p50 ${whole(medianOf(alone.map(({ p50 }) => p50)))} ms, refused ${refused}.\n`,
  )
}

async function startWithAccounts(scene: Scene): Promise<BenchGateway> {
  return startGateway(scene, 'login', {
    upstream: await startUpstream(scene, false),
    settings: accountSettings(scene.folder),
  })
}

async function signInFor({ url, data }: BenchGateway, together: number, seconds: number): Promise<LoginResult> {
  const asked: LoginLoad = { url, data, accounts: ACCOUNTS, password: PASSWORD, together, seconds }
  const client = join(import.meta.dirname, 'login-client.ts')
  const command = [process.execPath, '--import', 'tsx', client, JSON.stringify(asked)]
  const [program, ...words] = pinned(OTHER_CORE, command)
  const { stdout } = await run(program!, words, { cwd: import.meta.dirname })
  return JSON.parse(stdout) as LoginResult
}

function print(shapes: readonly string[], quiet: readonly LoadResult[][], busy: readonly LoadResult[][]): void {
  console.log('Proxied requests with a session, milliseconds, without and with logins on the same core:\n')
  const rows = shapes.map((shape, i) => {
    const of = (all: readonly LoadResult[], figure: (one: LoadResult) => number): number => medianOf(all.map(figure))
    const [p99, p99Busy] = [of(quiet[i]!, one => one.p99), of(busy[i]!, one => one.p99)]
    const failed = [...quiet[i]!, ...busy[i]!].reduce((sum, one) => sum + one.failed, 0)
    return [
      shape,
      `${whole(of(quiet[i]!, one => one.rate))} → ${whole(of(busy[i]!, one => one.rate))}`,
      `${fixed(of(quiet[i]!, one => one.p50))} → ${fixed(of(busy[i]!, one => one.p50))}`,
      `${fixed(p99)} → ${fixed(p99Busy)}`,
      fixed(p99Busy / p99),
      whole(failed),
    ]
  })
  printTable(['requests', 'per second', 'p50', 'p99', 'p99 ratio', 'failed'], rows)
}

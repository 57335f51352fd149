import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startLoad } from '../test/process/load.ts'
import { type BenchGateway, logIn, reload, startGateway } from './gateway.ts'
import { childrenOf, onScene, type Scene } from './process.ts'
import { fixed, medianOf, note, printTable, whole } from './statistics.ts'
import { startUpstream } from './upstream.ts'

export const UPHEAVAL_HELP = `upheaval  effects of reloads and of killed workers on clients
            --seconds 60 --rate 2000 --clients 64
            --reloads 10                one of them of a faulty configuration
            --kill-every 5              seconds`

interface Extent {
  seconds: number
  rate: number
  clients: number
}

export async function upheaval(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: {
      seconds: { type: 'string', default: '60' },
      rate: { type: 'string', default: '2000' },
      clients: { type: 'string', default: '64' },
      reloads: { type: 'string', default: '10' },
      'kill-every': { type: 'string', default: '5' },
    },
  })
  const extent = { seconds: Number(values.seconds), rate: Number(values.rate), clients: Number(values.clients) }
  const rows: string[][] = []
  await onScene(async scene => {
    const gateway = await open(scene)
    rows.push(await reloads(scene, gateway, extent, Number(values.reloads)))
  })
  await onScene(async scene => {
    const gateway = await open(scene)
    rows.push(await kills(scene, gateway, extent, Number(values['kill-every'])))
  })
  console.log(`${whole(extent.rate)} requests/s by ${extent.clients} clients for ${extent.seconds} s, two workers:\n`)
  printTable(['what', 'times', 'answered', 'failed', 'most at once', 'median duration, ms'], rows)
}

const open = async (scene: Scene): Promise<BenchGateway> =>
  startGateway(scene, 'gateway', { upstream: await startUpstream(scene, false), settings: { workers: 2 } })

/** Repeats an action on a gateway under load and reports the effects on clients. */
async function under(
  scene: Scene,
  gateway: BenchGateway,
  { seconds, rate, clients }: Extent,
  times: number,
  shake: (time: number) => Promise<void>,
): Promise<string[]> {
  const [token] = await logIn(gateway, 1)
  const options = { token: token!, path: '/api/v1/c/orders', clients, rate, expected: '"id":7' }
  const load = startLoad({ teardown: end => void scene.keep({ end }) }, gateway.url, options)
  const pause = (seconds * 1000) / (times + 1)
  const elapsed: number[] = []
  let most = 0
  for (let time = 0; time < times; time++) {
    await new Promise(resolve => setTimeout(resolve, pause - (elapsed.at(-1) ?? 0)))
    const before = load.outcome.failures.length
    const began = performance.now()
    await shake(time)
    elapsed.push(performance.now() - began)
    most = Math.max(most, load.outcome.failures.length - before)
    note(`${time + 1} of ${times}: ${whole(load.outcome.answered)} answered, ${load.outcome.failures.length} failed`)
  }
  await new Promise(resolve => setTimeout(resolve, pause))
  const { answered, failures } = await load.stop()
  for (const failure of new Set(failures)) note(`failed: ${failure}`)
  return [String(times), whole(answered), whole(failures.length), whole(most), fixed(medianOf(elapsed), 0)]
}

async function reloads(scene: Scene, gateway: BenchGateway, extent: Extent, times: number): Promise<string[]> {
  const file = join(gateway.folder, 'gateway.yaml')
  const good = readFileSync(file, 'utf8')
  const faulty = Math.floor(times / 2)
  const results = await under(scene, gateway, extent, times, async time => {
    writeFileSync(file, time === faulty ? JSON.stringify({ ...JSON.parse(good), upstreams: [{ name: 7 }] }) : good)
    const refused = await reload(gateway).then(
      () => false,
      () => true,
    )
    if (refused !== (time === faulty)) throw new Error(`reload ${time + 1} was ${refused ? '' : 'not '}refused`)
  })
  return ['reload, one of them faulty', ...results]
}

async function kills(scene: Scene, gateway: BenchGateway, extent: Extent, every: number): Promise<string[]> {
  const times = Math.floor(extent.seconds / every) - 1
  const results = await under(scene, gateway, extent, times, async time => {
    const workers = childrenOf(gateway.pid)
    const victim = workers[time % workers.length]!
    process.kill(victim, 'SIGKILL')
    // It is over when another worker has replaced the killed one.
    while (childrenOf(gateway.pid).length < workers.length || childrenOf(gateway.pid).includes(victim)) {
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  })
  return ['kill -9 of a worker', ...results]
}

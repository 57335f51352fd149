import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../test/support/ports.ts'
import { type GatewayOptions, portOf, prepareGateway, startGateway } from './gateway.ts'
import { type Scene, type StartOptions, start } from './process.ts'
import { note } from './statistics.ts'
import { startUpstream } from './upstream.ts'

/** Milliseconds between two attempts to get the first answer. */
const ATTEMPT = 5
const LIMIT = 30_000
/** So many answers in a row: no worker is left that lacks the new route. */
const STEADY = 8

/** A program that is started several times, and where its first answer is requested. */
interface Startable {
  name: string
  options: StartOptions
  url: string
}

/** Milliseconds from the start of the process to the first answer, for each start. */
export interface StartTimes {
  minimal: number[]
  /** The gateway with the embedded store: one process, and a supervisor with two workers. */
  alone: number[]
  workers: number[]
}

/**
 * Starts a minimal Fastify and prepared gateways in turn, on all cores. Prepared: the configuration, the keys and the store
 * exist, and one earlier start has filled the caches.
 */
export async function startTimes(scene: Scene, starts: number): Promise<StartTimes> {
  const startables: Record<keyof StartTimes, Startable> = {
    minimal: await minimal(scene),
    alone: await prepared(scene, 'alone', { settings: { workers: 1 } }),
    workers: await prepared(scene, 'workers', { settings: { workers: 2 } }),
  }
  const elapsed: StartTimes = { minimal: [], alone: [], workers: [] }
  for (const one of Object.values(startables)) await timeToAnswer(scene, one)
  for (let i = 0; i < starts; i++) {
    for (const key of Object.keys(startables) as (keyof StartTimes)[]) {
      elapsed[key].push(await timeToAnswer(scene, startables[key]))
    }
    note(`start ${i + 1} of ${starts}`)
  }
  return elapsed
}

async function minimal(scene: Scene): Promise<Startable> {
  const port = await freePort()
  const command = [process.execPath, join(import.meta.dirname, 'rivals/minimal.js'), String(port)]
  const options = { core: null, command, folder: scene.folder, environment: { NODE_ENV: 'production' }, port }
  return { name: 'minimal', options, url: `http://127.0.0.1:${port}/` }
}

async function prepared(scene: Scene, name: string, options: GatewayOptions): Promise<Startable> {
  const { command, folder: cwd, environment, url } = await prepareGateway(scene, name, options)
  const started = { core: null, command, folder: scene.folder, cwd, environment, port: portOf(url) }
  return { name, options: started, url: `${url}/api/v1/public/b/sm2/public-key` }
}

async function timeToAnswer(scene: Scene, { name, options, url }: Startable): Promise<number> {
  const began = performance.now()
  const started = scene.keep(await start(name, options))
  try {
    await answered(url)
    return performance.now() - began
  } finally {
    await started.end()
  }
}

/** Resolves with the last of so many successful answers in a row; each attempt has its own connection. */
async function answered(url: string, inARow = 1): Promise<void> {
  const until = performance.now() + LIMIT
  let good = 0
  while (performance.now() < until) {
    const ok = await fetch(url, { headers: { connection: 'close' } }).then(
      async response => (await response.text()) !== '' && response.ok,
      () => false,
    )
    good = ok ? good + 1 : 0
    if (good === inARow) return
    if (!ok) await new Promise(resolve => setTimeout(resolve, ATTEMPT))
  }
  throw new Error(`${url} gave no answer within ${LIMIT / 1000} s`)
}

/** Milliseconds from SIGHUP to the first answer of a route that the reload adds, and to eight of them in a row. */
export interface ReloadTimes {
  first: number[]
  steady: number[]
}

/** With two workers, on all cores. */
export async function reloadTimes(scene: Scene, reloads: number): Promise<ReloadTimes> {
  const upstream = await startUpstream(scene, false)
  const gateway = await startGateway(scene, 'reloaded', { upstream, core: null, settings: { workers: 2 } })
  const file = join(gateway.folder, 'gateway.yaml')
  const settings = JSON.parse(readFileSync(file, 'utf8')) as { upstreams: object[] }
  // Now its start is over, of all workers.
  await untilLogged(join(scene.folder, 'reloaded.log'), 'dualgate answers at')
  const elapsed: ReloadTimes = { first: [], steady: [] }
  for (let i = 0; i < reloads; i++) {
    const match = `/api/v${i + 2}`
    settings.upstreams.push({ name: `added-${i}`, match, target: upstream })
    writeFileSync(file, JSON.stringify(settings))
    const began = performance.now()
    process.kill(gateway.pid, 'SIGHUP')
    const route = `${gateway.url}${match}/public/c/orders`
    await answered(route)
    elapsed.first.push(performance.now() - began)
    await answered(route, STEADY - 1)
    elapsed.steady.push(performance.now() - began)
    note(`reload ${i + 1} of ${reloads}`)
    // The old workers end before the next one.
    await new Promise(resolve => setTimeout(resolve, 3000))
  }
  return elapsed
}

async function untilLogged(file: string, text: string): Promise<void> {
  while (!readFileSync(file, 'utf8').includes(text)) await new Promise(resolve => setTimeout(resolve, 50))
}

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Actors } from './actors.ts'
import { openCaptchas } from './captchas.ts'
import { ChaosGateway } from './gateway.ts'
import { gatewayMishaps, withDyingWorkers } from './gateway-mishaps.ts'
import { type Counts, History, type HistoryOptions } from './history.ts'
import { People } from './people.ts'
import type { Mishap, Setup } from './setup.ts'
import { Withheld } from './withheld.ts'

export interface ChaosReport extends Counts {
  setup: string
  /** Longest time that this process itself did not run, in milliseconds: the machine gave the gateway no more. */
  stalled: number
  /** All the time that the machine withheld from this process, in milliseconds. */
  withheld: number
  faults: { name: string; seconds: number; failed: number; recovery: number }[]
  violations: string[]
  /** What the gateway printed. */
  log: string
}

export interface ChaosOptions {
  /** How often each fault is injected. */
  rounds: number
  /** Which faults, by a part of their names; all when not given. */
  only?: string | undefined
  /** So many failovers instead of all that. */
  failovers?: number | undefined
  /** Folder of another build of the gateway. */
  gateway?: string | undefined
  /** What the history allows for. */
  allowance?: Partial<HistoryOptions>
}

/** `session_cache.heartbeat` as it is shipped, in milliseconds. */
const HEARTBEAT = 1000
/** Between two faults, in milliseconds: longer than a recovery may take. */
const QUIET = 3500

/** Injects one fault after another into a gateway under light load, and judges everything that was answered. */
export async function runChaos(open: () => Promise<Setup> | Setup, options: ChaosOptions): Promise<ChaosReport> {
  const { allowance } = options
  const setup = await open()
  try {
    const gateway = await ChaosGateway.start({ store: setup.store, ...setup.settings }, options.gateway)
    try {
      const withheld = new Withheld()
      const history = new History({ heartbeat: HEARTBEAT, withheld: () => withheld.total, ...allowance })
      const delay = monitorEventLoopDelay()
      const actors = new Actors(() => gateway.where, history, gateway.promises)
      const captchas = await openCaptchas(gateway.folder)
      try {
        const people = new People(gateway, history, actors, captchas)
        actors.start()
        delay.enable()
        await people.start()
        await pause(1500)
        for (const mishap of mishapsOf(setup, gateway, options)) await inflict(mishap, history, gateway)
        await people.stop()
        await actors.stop()
        await people.settle()
        await actors.settle()
      } finally {
        delay.disable()
        withheld.stop()
        await captchas.close()
      }
      const violations = [...history.violations, ...(await setup.inspect())]
      const faults = history.faults.map(fault => ({
        name: fault.name,
        seconds: (fault.ended! - fault.began) / 1000,
        failed: fault.failed,
        recovery: history.recoveryOf(fault),
      }))
      return {
        setup: setup.name,
        stalled: delay.max / 1e6,
        withheld: withheld.total,
        ...history.counts,
        faults,
        violations,
        log: gateway.output,
      }
    } finally {
      await gateway.remove()
    }
  } finally {
    await setup.stop()
  }
}

function mishapsOf(setup: Setup, gateway: ChaosGateway, { rounds, only = '', failovers }: ChaosOptions): Mishap[] {
  if (failovers !== undefined) {
    const { failover } = setup
    if (failover === undefined) return []
    return Array.from({ length: failovers }, (_, i) => (i % 2 === 0 ? failover : withDyingWorkers(failover, gateway)))
  }
  const mishaps = [...setup.mishaps, ...gatewayMishaps(gateway)].filter(({ name }) => name.includes(only))
  return Array.from({ length: rounds }, () => mishaps).flat()
}

async function inflict(mishap: Mishap, history: History, { promises }: ChaosGateway): Promise<void> {
  const fault = history.beginFault(mishap.name, mishap.loses, mishap.kills)
  if (mishap.harmless) promises.codes = new Set()
  try {
    await mishap.begin()
    await pause(mishap.lasts)
    await mishap.end()
  } catch (error) {
    history.violated(`${mishap.name}: ${(error as Error).message}`)
  }
  if (mishap.harmless) promises.codes = null
  history.endFault(fault)
  await pause(QUIET)
}

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

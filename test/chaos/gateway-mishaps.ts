import { ask } from './ask.ts'
import type { ChaosGateway } from './gateway.ts'
import { eventually, type Mishap } from './setup.ts'
import { changingTraffic } from './traffic-mishap.ts'

/** What happens to the gateway itself, and to what stands behind it, whatever the store is. */
export function gatewayMishaps(gateway: ChaosGateway): Mishap[] {
  const { backend } = gateway
  return [
    {
      name: 'a worker is killed',
      loses: 'nothing',
      kills: true,
      lasts: 0,
      begin: () => void process.kill(gateway.workers()[0]!, 'SIGKILL'),
      end: () => eventually('another worker', async () => gateway.workers().length === 2),
    },
    {
      name: 'the gateway is killed and started',
      loses: 'nothing',
      kills: true,
      lasts: 300,
      begin: async () => void (await gateway.end('SIGKILL')),
      end: () => gateway.boot(),
    },
    {
      name: 'the gateway is stopped and started',
      loses: 'nothing',
      lasts: 0,
      begin: async () => void (await gateway.end('SIGTERM')),
      end: () => gateway.boot(),
    },
    {
      name: 'the upstream refuses connections',
      loses: 'nothing',
      lasts: 1500,
      begin: () => backend.close(),
      end: () => backend.open(),
    },
    {
      name: 'the upstream keeps clients waiting',
      loses: 'nothing',
      lasts: 2500,
      begin: () => backend.stall(true),
      end: () => backend.stall(false),
    },
    changingTraffic(gateway),
  ]
}

/** The same while all workers but one die at its beginning, and that one when it is over. */
export function withDyingWorkers(mishap: Mishap, gateway: ChaosGateway): Mishap {
  return {
    ...mishap,
    name: `${mishap.name}, and workers die with it`,
    kills: true,
    async begin() {
      const [first, ...others] = gateway.workers()
      const begun = mishap.begin()
      for (const pid of others) process.kill(pid, 'SIGKILL')
      await begun
      process.kill(first!, 'SIGKILL')
    },
    async end() {
      await mishap.end()
      // Those that take their places are loaded as fast as the machine allows.
      await eventually(
        'a worker that serves',
        async () => (await ask(gateway.where.internal, '/readyz')).status === 200,
      )
    },
  }
}

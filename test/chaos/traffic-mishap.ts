import type { ChaosGateway } from './gateway.ts'
import { eventually, type Mishap } from './setup.ts'

/** Settings of the upstream that are applied one after the other, and the refusal that they promise. */
const PHASES: readonly { settings: Record<string, unknown>; promised: number | null }[] = [
  { settings: { maintenance: { retry_after: '1s' } }, promised: 503 },
  { settings: { rate_limit: { requests: 2, window: '1s' } }, promised: 429 },
  { settings: { maintenance: { retry_after: '1s', allow: ['127.0.0.1'] } }, promised: null },
  { settings: { rate_limit: { requests: 2, window: '1s', per: 'address' } }, promised: 429 },
]

/** Shares of the two targets of the upstream. */
const WEIGHTS = [
  [1, 3],
  [3, 0],
  [0, 1],
  [2, 2],
] as const

/**
 * Reloads that switch maintenance, weights and limits of the upstream while requests run. Until it is over, every request is
 * forwarded, or refused because there is no session, or because of these settings; anything else is a violation.
 */
export const changingTraffic = (gateway: ChaosGateway): Mishap => ({
  name: 'maintenance, weights and limits change',
  loses: 'nothing',
  lasts: 0,
  async begin() {
    const { promises } = gateway
    promises.codes = new Set([503, 429])
    for (const [index, { settings, promised }] of PHASES.entries()) {
      promises.seen.clear()
      await gateway.reload({ ...settings, targets: gateway.targets(WEIGHTS[index]!) })
      if (promised !== null) await eventually(`a refusal with ${promised}`, async () => promises.seen.has(promised))
    }
  },
  async end() {
    await gateway.reload({})
    gateway.promises.codes = null
  },
})

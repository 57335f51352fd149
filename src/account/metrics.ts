import type { Meter } from '../metrics/meter.ts'
import { LOGIN_TYPES, type LoginType } from '../session/sides.ts'
import type { Accounts } from './source.ts'

/** Publishes whether a source of accounts has a fault that lasts, such as an invalid file. */
export function publishAccounts(meter: Meter, sources: Readonly<Record<LoginType, Accounts | null>>): void {
  meter.gauge({
    name: 'dualgate_accounts_faulty',
    help: '1 when the accounts file has faults or is missing',
    labelNames: ['side'],
    aggregator: 'max',
    collect() {
      for (const side of LOGIN_TYPES) this.set({ side }, (sources[side]?.changes?.warnings() ?? []).length > 0 ? 1 : 0)
    },
  })
}

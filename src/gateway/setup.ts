import { type Clock, systemClock } from '../base/clock.ts'
import { createLog, type Logger } from '../base/log/log.ts'
import type { Settings } from '../config/schema/settings.ts'
import { createMetrics, type Metrics } from '../metrics/metrics.ts'
import { PROFILES, type Profile } from '../profile.ts'
import type { GatewayOptions } from './contract.ts'

/** The common arguments of all parts of a gateway. */
export interface Setup {
  readonly settings: Settings
  readonly profile: Profile
  readonly options: GatewayOptions
  readonly clock: Clock
  readonly log: Logger
  /** Gets one line for each request; `null` for no access log. */
  readonly accessLog: Logger | null
  readonly metrics: Metrics
}

export function prepare(settings: Settings, options: GatewayOptions): Setup {
  const log = options.log ?? createLog(settings.log.level)
  return {
    settings,
    profile: PROFILES[settings.profile],
    options,
    clock: options.clock ?? systemClock,
    log,
    accessLog: settings.log.access ? log : null,
    metrics: createMetrics(),
  }
}

import { type Clock, systemClock } from '../base/clock.ts'
import { createLog, type Logger } from '../base/log/log.ts'
import { countRequests, type RequestCounter } from '../http/server/request-metrics.ts'
import type { Meter } from '../metrics/meter.ts'
import { createProcessMeter } from '../metrics/process.ts'
import { PROFILES, type Profile } from '../settings/profile.ts'
import type { Settings } from '../settings/schema/settings.ts'
import type { GatewayOptions } from './gateway-options.ts'

/** The common arguments of all parts of a gateway. */
export interface Setup {
  readonly settings: Settings
  readonly profile: Profile
  readonly options: GatewayOptions
  readonly clock: Clock
  readonly log: Logger
  /** Gets one line for each request; `null` for no access log. */
  readonly accessLog: Logger | null
  /** Where each part publishes its metrics. */
  readonly meter: Meter
  /** Counts the requests of both listeners. */
  readonly requests: RequestCounter
}

export function prepare(settings: Settings, options: GatewayOptions): Setup {
  const meter = createProcessMeter()
  const log = options.log ?? createLog(settings.log.level)
  return {
    settings,
    profile: PROFILES[settings.profile],
    options,
    clock: options.clock ?? systemClock,
    log,
    accessLog: settings.log.access ? log : null,
    meter,
    requests: countRequests(meter),
  }
}

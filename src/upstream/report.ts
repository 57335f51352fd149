import type { Logger } from '../log.ts'
import type { TargetOptions } from './targets.ts'

/** Writes one line for every change in how a target of this upstream stands. */
export function reportTo(upstream: string, log: Pick<Logger, 'info' | 'warn'> | undefined): TargetOptions['report'] {
  return (target, change, cause) => {
    const line = { upstream, target: target.url, ...(cause !== null && { err: cause }) }
    if (change === 'ejected') log?.warn({ ...line, duration: target.health.duration }, 'target ejected')
    else if (change === 'returned') log?.info(line, 'target returned')
    else if (change === 'unhealthy') log?.warn(line, 'target fails its health checks')
    else log?.info(line, 'target passes its health checks')
  }
}

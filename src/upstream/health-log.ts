import type { Logger } from '../base/log/log.ts'
import type { TargetOptions } from './targets.ts'

/** Logs every change of the health of a target of this upstream. */
export function healthLog(upstream: string, log: Pick<Logger, 'info' | 'warn'> | undefined): TargetOptions['report'] {
  return (target, change, cause) => {
    const line = { upstream, target: target.url, ...(cause !== null && { err: cause }) }
    if (change === 'ejected') log?.warn({ ...line, duration: target.health.duration }, 'target ejected')
    else if (change === 'returned') log?.info(line, 'target returned')
    else if (change === 'unhealthy') log?.warn(line, 'target fails its health checks')
    else log?.info(line, 'target passes its health checks')
  }
}

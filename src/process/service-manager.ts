import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Fault } from '../settings/notation/fault.ts'

/** How long one notification may take, in milliseconds. The program itself waits 5 seconds for systemd. */
const SEND_LIMIT = 10_000

/** Tells the service manager, systemd with `Type=notify`, when the gateway answers, reloads and stops. */
export interface ServiceManager {
  /** The gateway answers. `status` is one line, which `systemctl status` shows. */
  ready(status: string): Promise<void>
  /**
   * Runs a reload, which must not reject. It begins and ends for the service manager before this resolves; `statusAfter`
   * returns the line then.
   */
  reloading<Result>(reload: () => Promise<Result>, statusAfter: (result: Result) => string): Promise<Result>
  /** The gateway has begun to stop. */
  stopping(): Promise<void>
}

/**
 * The service manager that has set `NOTIFY_SOCKET`; without one nothing is sent. Node has no datagram sockets of Unix, so the
 * program systemd-notify sends. It ends when systemd has read the message: of a process that is gone systemd could not tell
 * to which unit it belongs. Its failures are warnings, because the gateway works without it.
 */
export function serviceManagerOf(environment: NodeJS.ProcessEnv, warn: (fault: Fault) => void): ServiceManager {
  const isSet = (environment.NOTIFY_SOCKET ?? '') !== ''
  let last: Promise<void> = Promise.resolve()
  let reloads = 0
  let isStopping = false
  const send = (...variables: string[]): Promise<void> => {
    // One after the other: the last one is what systemd believes.
    if (isSet) last = last.then(() => notify(variables, environment, warn))
    return last
  }
  // A reload may end while the gateway stops, which is then the last that systemd is to believe.
  const ready = async (status: string): Promise<void> => {
    if (!isStopping) await send('READY=1', `STATUS=${status}`)
  }
  return {
    ready,
    async reloading(reload, statusAfter) {
      reloads++
      if (reloads === 1) await send('RELOADING=1', `MONOTONIC_USEC=${monotonic()}`, 'STATUS=reloads the configuration')
      const result = await reload().finally(() => reloads--)
      // Until the last of several reloads has ended, the gateway reloads.
      if (reloads === 0) await ready(statusAfter(result))
      return result
    },
    stopping() {
      isStopping = true
      return send('STOPPING=1', 'STATUS=stops; finishes the requests in progress')
    },
  }
}

/** The time of CLOCK_MONOTONIC, in microseconds. */
const monotonic = (): bigint => process.hrtime.bigint() / 1000n

async function notify(variables: string[], env: NodeJS.ProcessEnv, warn: (fault: Fault) => void): Promise<void> {
  try {
    await promisify(execFile)('systemd-notify', variables, { env, timeout: SEND_LIMIT })
  } catch (fault) {
    warn({ place: 'NOTIFY_SOCKET', message: `is set, but ${reasonOf(fault as NodeJS.ErrnoException)}` })
  }
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code !== 'ENOENT') return `systemd did not get the state of this service: ${message.trim()}`
  return 'the program systemd-notify is missing: systemd waits for it in vain; install it, or use Type=exec'
}

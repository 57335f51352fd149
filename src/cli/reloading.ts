import { resolve } from 'node:path'
import type { Logger } from '../base/log/log.ts'
import {
  type ConfigurationWatch,
  type WatchedConfiguration,
  watchConfiguration,
} from '../process/configuration-watch.ts'
import type { Outcome } from '../process/control.ts'
import { endsWithTerminal } from '../process/hangup.ts'
import { ReloadError, type Running } from '../process/running-gateway.ts'
import { isPipe } from '../settings/files-read.ts'
import { ConfigurationError, type ConfigurationFile } from '../settings/load.ts'
import { labelOf } from '../settings/notation/yaml.ts'
import type { Settings } from '../settings/schema/settings.ts'

/** Without a listener SIGHUP ends a process, so there is one from the beginning; it reloads as soon as the gateway runs. */
export function reloadOnSignal(opening: Promise<Running>, reload: (running: Running) => Promise<Outcome>): void {
  const isFailed = (): void => undefined
  process.on('SIGHUP', () => endsWithTerminal() || void opening.then(reload, isFailed))
}

/** `Fault` is what a start or a reload throws. */
export function refuseWatching({ workers }: Pick<Settings, 'workers'>, Fault: new (text: string) => Error): void {
  if (workers !== 1) return
  throw new Fault('--watch needs a gateway that can reload: set workers to 2 or more, or leave out --watch')
}

/** Reloads whenever the files of the configuration have changed, and tries a refused reload again. */
export function reloadOnChange(
  watched: WatchedConfiguration,
  reload: () => Promise<Outcome>,
  cwd: string,
  log: Logger,
): ConfigurationWatch {
  return watchConfiguration(watched, changed => {
    if (changed.length === 0) log.info('the refused reload is tried again')
    else log.info({ files: changed.map(file => labelOf(file, cwd)) }, 'the configuration has changed; it is reloaded')
    return reload()
  })
}

/** A pipe, such as that of `--config <(command)`, has nothing left to read: by an empty text every setting would be its default. */
export function refuseUsedPipe(file: ConfigurationFile, cwd: string): void {
  if (typeof file !== 'string' || !isPipe(resolve(cwd, file))) return
  throw new ReloadError(
    `${file} is a pipe, which can be read only once; restart the gateway with the new configuration`,
  )
}

/** Reloads; logs the reason of a failure. */
export async function reloaded(running: Running, cwd: string, log: Logger): Promise<Outcome> {
  try {
    const { file, workers, notes, level } = await running.reload()
    log.level = level
    return { fault: null, file: typeof file === 'string' ? resolve(cwd, file) : null, workers, notes }
  } catch (fault) {
    const isFaulty = fault instanceof ConfigurationError
    log.error(
      isFaulty ? { faults: fault.faults } : { err: fault },
      'not reloaded; the gateway continues with the previous configuration',
    )
    return { fault: isFaulty || fault instanceof ReloadError ? fault.message : 'an internal fault; the log has it' }
  }
}

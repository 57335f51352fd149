import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { firstAccount } from '../account/file/source.ts'
import { systemClock } from '../base/clock.ts'
import { faultText } from '../base/fault-text.ts'
import { createLog } from '../base/log/log.ts'
import { announceServing, announceStarting } from '../process/bundle.ts'
import { type Outcome, openControl } from '../process/control.ts'
import { faultsOfNode } from '../process/outdated-node.ts'
import type { PrimaryOptions } from '../process/primary.ts'
import { ReloadError, type Running } from '../process/running-gateway.ts'
import { type ServiceManager, serviceManagerOf } from '../process/service-manager.ts'
import { AddressError } from '../process/try-addresses.ts'
import { isPipe } from '../settings/files-read.ts'
import { BUILT_IN, type Fault } from '../settings/load.ts'
import { labelOf } from '../settings/notation/yaml.ts'
import type { Settings } from '../settings/schema/settings.ts'
import { CONFIG_HELP, CONFIG_OPTION, type Command, configOf, configOrBuiltIn } from './command.ts'
import { ConfigurationInUse, type FileAfter } from './configuration-in-use.ts'
import { refuseUsedPipe, refuseWatching, reloaded, reloadOnChange, reloadOnSignal } from './reloading.ts'
import {
  CommandError,
  isUnread,
  programOf,
  say,
  sayMeanwhile,
  sayPassword,
  type Terminal,
  UsageError,
} from './terminal.ts'

export const start: Command = {
  words: '',
  summary: 'start the gateway',
  help: `Starts the gateway and prints one line with its URLs when all its workers answer, and one with the address of the page
for administrators. The first start creates the accounts file with an administrator and prints the password, once. Log
lines go to standard output: one JSON object each, or text if that is a terminal.

\`dualgate\` without a command starts it too, and needs no configuration: in a folder without one it uses built-in defaults
and keeps everything in the folder data.

SIGHUP reloads the configuration, as \`dualgate reload\` does. SIGTERM and SIGINT stop the gateway: requests under way are
finished, as long as \`drain\` in the configuration allows; a second signal stops it at once.

${CONFIG_HELP}
  --watch             reload whenever a file of the configuration has changed, .env and the named certificates and keys included`,
  options: { ...CONFIG_OPTION, watch: { type: 'boolean' } },
  async run(written, terminal) {
    if (written.words.length > 0) throw new UsageError(`start takes no arguments, but got ${written.words.join(' ')}`)
    const file = configOf(written)
    const watches = written.values.watch === true
    if (watches && isPipe(resolve(terminal.cwd, file)))
      throw new CommandError(`--watch cannot follow ${file}, which is a pipe; name a file, or leave out --watch`)
    return serve(() => file, terminal, watches)
  },
}

/**
 * Starts the gateway of this folder: by its configuration, or by what is built in. Without a configuration at the start, a
 * reload takes the one that has been written since. From then on it is the only one.
 */
export function startHere(terminal: Terminal): Promise<number> {
  return serve(
    before => (before === BUILT_IN ? configOrBuiltIn({ values: {}, words: [] }, terminal.cwd) : before),
    terminal,
  )
}

async function serve(fileAfter: FileAfter, terminal: Terminal, watches = false): Promise<number> {
  const stopped = nextSignal()
  announceStarting()
  const warn = ({ place, message }: Fault): void =>
    sayMeanwhile(terminal.errors, `dualgate: warning: ${place} ${message}`)
  const configuration = new ConfigurationInUse(fileAfter, terminal)
  const { file, settings } = configuration.load(warn, read => {
    if (watches) refuseWatching(read, CommandError)
  })
  faultsOfNode(process.versions).forEach(warn)
  configuration.use(file)
  const log = createLog(settings.log.level)
  const warnAgain = (warning: Fault): void => {
    warn(warning)
    log.warn({ warning }, 'the configuration has a warning')
  }
  const opening = open(settings, accept => {
    refuseUsedPipe(configuration.file, terminal.cwd)
    return configuration.load(warnAgain, read => {
      if (watches) refuseWatching(read, ReloadError)
      accept(read)
    })
  })
  const opened = opening.then(running => announcedFirstAccount(running, settings, terminal))
  const manager = serviceManagerOf(terminal.environment, warn)
  const reload = async (running: Running): Promise<Outcome> => {
    const outcome = await manager.reloading(
      () => reloaded(running, terminal.cwd, log),
      ({ fault }) => statusOf(running, fault === null ? '' : '; the last reload failed, and the log says why'),
    )
    configuration.settle(outcome)
    return outcome
  }
  reloadOnSignal(opened, reload)
  if (settings.workers !== 1) await exitIfStopped(opening, stopped)
  const running = await opened
  const control = await openControl(settings.data, () => reload(running), log)
  say(terminal.output, ...whereToFindIt(settings, running), ...(file === BUILT_IN ? [nextStep(terminal)] : []))
  announceServing()
  void manager.ready(statusOf(running))
  const watch = watches ? reloadOnChange(configuration, () => reload(running), terminal.cwd, log) : null
  await stopped
  watch?.close()
  control.close()
  return close(running, manager, terminal)
}

/** The line of `systemctl status`. */
const statusOf = ({ urls }: Running, more = ''): string =>
  `answers at ${urls.public}, internally at ${urls.internal}${more}`

function whereToFindIt(settings: Settings, running: Running): string[] {
  const lines = [`dualgate ${statusOf(running)}`]
  if (settings.console) lines.push(`administrators sign in at ${running.urls.public}/console/`)
  return lines
}

const nextStep = (terminal: Terminal): string =>
  `next: ${programOf(terminal)} init writes a configuration, in which you name your backends`

/**
 * Creates the first account when the gateway answers: a start that fails must not show a password that is shown only once.
 * Until then there are no accounts, and no login.
 */
async function announcedFirstAccount(running: Running, settings: Settings, terminal: Terminal): Promise<Running> {
  try {
    await announceFirstAccount(settings, terminal)
    return running
  } catch (fault) {
    await running.close()
    throw fault
  }
}

async function announceFirstAccount({ accounts }: Settings, terminal: Terminal): Promise<void> {
  if (accounts.kind !== 'file') return
  const first = await firstAccount(accounts.path)
  if (first === null) return
  await sayPassword(
    terminal,
    first.username,
    `first account, in ${labelOf(accounts.path, terminal.cwd)}, shown only this once:`,
    `  username: ${first.username}`,
    `  password: ${first.password}`,
  )
}

/** Only one of the two is loaded: a primary does not need the code that serves requests. */
async function open(settings: Settings, load: PrimaryOptions['load']): Promise<Running> {
  try {
    mkdirSync(settings.data, { recursive: true, mode: 0o700 })
    if (settings.workers === 1) return await (await import('../process/single-process.ts')).startAlone(settings)
    const { Primary } = await import('../process/primary.ts')
    return await Primary.start({ settings, load, clock: systemClock })
  } catch (fault) {
    if (fault instanceof AddressError) throw new CommandError(fault.message, { cause: fault })
    throw new CommandError(`cannot start: ${faultText(fault)}`, { cause: fault })
  }
}

const nextSignal = async (): Promise<void> => {
  const waiting = new AbortController()
  const { signal } = waiting
  await Promise.race([once(process, 'SIGTERM', { signal }), once(process, 'SIGINT', { signal })])
  waiting.abort()
}

/**
 * A stop before the workers answer leaves nothing to finish: they end when the connection to this process does. Not for a gateway
 * in this process, because a process cannot exit while LMDB opens a file; it is closed as soon as it is open.
 */
async function exitIfStopped(opening: Promise<Running>, stopped: Promise<void>): Promise<void> {
  const settled = opening.then(
    () => false,
    () => false,
  )
  if (await Promise.race([settled, stopped.then(() => true)])) process.exit(0)
}

/**
 * Closes within the limits of `drain`. A second signal or their end ends the process, with work still in progress.
 */
async function close(running: Running, manager: ServiceManager, { errors }: Terminal): Promise<number> {
  const stopAtOnce = (why: string): void => {
    sayMeanwhile(errors, `dualgate: stopped immediately: ${why}`)
    running.kill()
    process.exit(1)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopAtOnce('a second signal'))
  const notified = manager.stopping()
  const reason = await running.close()
  if (reason !== null) stopAtOnce(reason)
  await notified
  if (isUnread(errors)) process.exit(0)
  return 0
}

import { resolve } from 'node:path'
import { askReload, ControlError } from '../process/control.ts'
import { type ConfigurationFile, readConfiguration } from '../settings/load.ts'
import { labelOf } from '../settings/notation/yaml.ts'
import { CONFIG_HELP, CONFIG_OPTION, type Command, configOrBuiltIn } from './command.ts'
import { DEFAULT_CONFIG } from './default-file.ts'
import { CommandError, say, UsageError } from './terminal.ts'

export const reload: Command = {
  words: '',
  summary: 'apply a changed configuration to the running gateway',
  help: `Checks the configuration, and tells the gateway that runs with its data folder to take it: new workers start, the old
ones finish their requests, and no request fails. Ends when every new worker answers and no old one accepts
connections, and prints the file that the gateway has read. With a fault, which is printed, nothing changes, and the
exit code is 1. SIGHUP does the same, and the log says how it went.

The gateway reads the configuration file and the .env that it was started with, and keeps its environment. A gateway that
was started without a configuration reads ${DEFAULT_CONFIG}, once it is there. Addresses, ports and the data folder
change with a restart only, and so does everything of a gateway that was started with workers: 1.

${CONFIG_HELP}`,
  options: CONFIG_OPTION,
  async run(written, { output, environment, cwd }) {
    if (written.words.length > 0) throw new UsageError(`reload takes no arguments, but got ${written.words.join(' ')}`)
    const file = configOrBuiltIn(written, cwd)
    const { settings } = readConfiguration(file, environment, cwd, { secretsNeeded: false })
    const outcome = await askReload(settings.data).catch((fault: unknown) => {
      throw fault instanceof ControlError ? new CommandError(fault.message, { cause: fault }) : fault
    })
    if (outcome === null)
      throw new CommandError(
        `no gateway runs with the data folder ${settings.data}; run this in the folder of the gateway; a changed \`data\` needs a restart`,
      )
    if (outcome.fault !== null) throw new CommandError(`not reloaded: ${outcome.fault}`)
    const { workers, notes } = outcome
    say(
      output,
      `reloaded ${nameOf(outcome.file, cwd)}: ${workers} new ${workers === 1 ? 'worker answers' : 'workers answer'}`,
    )
    say(output, ...notes.map(note => `note: ${note}`))
    if (outcome.file === (typeof file === 'string' ? resolve(cwd, file) : null)) return 0
    throw new CommandError(
      `${nameOf(file, cwd)} was not read: the gateway was started with ${nameOf(outcome.file, cwd)}; restart it to change that`,
    )
  },
}

const nameOf = (file: ConfigurationFile | null, cwd: string): string =>
  typeof file === 'string' ? labelOf(resolve(cwd, file), cwd) : 'the built-in configuration'

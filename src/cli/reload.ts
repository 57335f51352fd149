import { readConfiguration } from '../config/load.ts'
import { askReload } from '../process/control.ts'
import { CONFIG_HELP, CONFIG_OPTION, type Command, configOrBuiltIn } from './command.ts'
import { CommandError, say, UsageError } from './terminal.ts'

export const reload: Command = {
  words: '',
  summary: 'apply a changed configuration to the running gateway',
  help: `Checks the configuration, and tells the gateway that runs with its data folder to take it: new workers start, the old
ones finish their requests, and no request fails. Ends when the new workers answer. With a fault, which is printed,
nothing changes, and the exit code is 1. SIGHUP does the same, and the log says how it went.

The gateway reads the configuration file and the .env that it was started with, and keeps its environment. Addresses,
ports and the data folder change with a restart only, and so does everything with workers: 1.

${CONFIG_HELP}`,
  options: CONFIG_OPTION,
  async run(written, { output, environment, cwd }) {
    if (written.words.length > 0) throw new UsageError(`reload takes no arguments, but got ${written.words.join(' ')}`)
    const { settings } = readConfiguration(configOrBuiltIn(written, cwd), environment, cwd, { secretsNeeded: false })
    const outcome = await askReload(settings.data)
    if (outcome === null) throw new CommandError(`no gateway runs with the data folder ${settings.data}`)
    if (outcome.fault !== null) throw new CommandError(`not reloaded: ${outcome.fault}`)
    say(output, 'reloaded')
    return 0
  },
}

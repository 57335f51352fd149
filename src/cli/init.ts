import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { createFile, READABLE } from '../base/durable-file.ts'
import { packageVersion } from '../base/package-version.ts'
import { isRunning } from '../process/control.ts'
import { labelOf } from '../settings/notation/yaml.ts'
import { keptSecret, SECRETS } from '../settings/secrets.ts'
import type { Command } from './command.ts'
import { composeFile, tarballOf } from './compose-file.ts'
import { programOf, say, shellWord, UsageError } from './terminal.ts'

/** The shipped configuration; `gateway.yaml` names its schema for editors. */
const SHIPPED = new URL('../../config/', import.meta.url)
const CONFIGURATION = ['gateway.yaml', 'upstreams.yaml', 'permissions.yaml', 'gateway.schema.json']

/** The data folder of the shipped configuration, and of the built-in one. */
const DATA = 'data'

export const init: Command = {
  words: '[FOLDER]',
  summary: 'write a configuration, a compose file and secrets into a folder',
  help: `Writes into the folder, or into the working directory:

  config/               the configuration: every setting with its meaning and its default
  docker-compose.yml    runs the gateway in a container with this configuration, from the package that \`npm pack\` makes
  .env                  the secrets, readable only by you: those of an earlier start in data/, or new ones

Files that exist stay as they are. Then name your backends in config/upstreams.yaml, and start the gateway in that folder. A
gateway that runs there already takes the configuration with \`dualgate reload\`.`,
  options: {},
  async run({ words: [folder = '.', ...more] }, terminal) {
    if (more.length > 0) throw new UsageError(`init takes one folder, but also got ${more.join(' ')}`)
    const { output, cwd } = terminal
    const root = resolve(cwd, folder)
    const report = (path: string, isNew: boolean): void =>
      void say(output, `${isNew ? 'wrote' : 'kept '} ${labelOf(path, cwd)}${isNew ? '' : ', which exists'}`)
    for (const [name, text] of files()) {
      const path = join(root, name)
      mkdirSync(dirname(path), { recursive: true })
      report(path, createFile(path, text, READABLE))
    }
    const secrets = join(root, '.env')
    report(secrets, createFile(secrets, secretsFile(root)))
    const program = programOf(terminal)
    const last = (await isRunning(join(root, DATA))) ? 'reload' : 'start'
    const tarball = join(root, tarballOf(packageVersion()))
    if (!existsSync(tarball))
      say(
        output,
        `docker-compose.yml needs ${labelOf(tarball, cwd)}: \`npm pack\` in a clone of the repository makes it`,
      )
    say(output, `next: name your backends in ${labelOf(join(root, 'config/upstreams.yaml'), cwd)}`)
    say(output, `then: ${root === cwd ? '' : `cd ${shellWord(folder)} && `}${program} check && ${program} ${last}`)
    return 0
  },
}

const files = (): [name: string, text: string][] => [
  ...CONFIGURATION.map((name): [string, string] => [`config/${name}`, readFileSync(new URL(name, SHIPPED), 'utf8')]),
  ['docker-compose.yml', composeFile(packageVersion())],
]

/** With the secrets that an earlier start has kept: sessions go on, and stored second factors can still be checked. */
const secretsFile = (
  root: string,
): string => `# The secrets of this gateway. Keep them out of version control. All gateways of one store need the same.
${Object.values(SECRETS)
  .map(kind => `${kind.variable}=${keptSecret(kind, join(root, DATA)) ?? kind.generate()}`)
  .join('\n')}
${accountsLines(root)}
`

/** Accounts in the place that the shipped configuration names stay there: elsewhere a start would make others. */
function accountsLines(root: string): string {
  if (existsSync(join(root, 'config/accounts.yaml')) && !existsSync(join(root, DATA, 'accounts.yaml')))
    return `# The accounts are in config/accounts.yaml. The docker-compose.yml of \`dualgate init\` mounts config read-only: to change accounts
# in its container, remove \`:ro\` there, and let the user 1000 own config and the file.`
  return `# The file with the accounts, created by the first start; relative to the working directory.
ACCOUNTS__PATH=data/accounts.yaml`
}

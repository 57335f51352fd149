import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { SECRETS } from '../config/secrets.ts'
import { createFile } from '../durable-file.ts'
import { labelOf } from '../yaml/yaml.ts'
import type { Command } from './command.ts'
import { composeFile } from './compose-file.ts'
import { programOf, say, UsageError } from './terminal.ts'
import { version } from './version.ts'

/** The shipped configuration; `gateway.yaml` names its schema for editors. */
const SHIPPED = new URL('../../config/', import.meta.url)
const CONFIGURATION = ['gateway.yaml', 'upstreams.yaml', 'permissions.yaml', 'gateway.schema.json']

export const init: Command = {
  words: '[FOLDER]',
  summary: 'write a configuration, a compose file and secrets into a folder',
  help: `Writes into the folder, or into the working directory:

  config/               the configuration: every setting with its meaning and its default
  docker-compose.yml    runs the gateway in a container with this configuration
  .env                  new secrets, readable only by you

Files that exist stay as they are. Then name your backends in config/upstreams.yaml and start the gateway in that folder.`,
  options: {},
  async run({ words: [folder = '.', ...more] }, terminal) {
    if (more.length > 0) throw new UsageError(`init takes one folder, but also got ${more.join(' ')}`)
    const { output, cwd } = terminal
    const root = resolve(cwd, folder)
    const report = (path: string, isNew: boolean): void =>
      say(output, `${isNew ? 'wrote' : 'kept '} ${labelOf(path, cwd)}${isNew ? '' : ', which exists'}`)
    for (const [name, text] of files()) {
      const path = join(root, name)
      mkdirSync(dirname(path), { recursive: true })
      report(path, writeNew(path, text))
    }
    const secrets = join(root, '.env')
    report(secrets, createFile(secrets, secretsFile()))
    const program = programOf(terminal)
    say(output, `next: name your backends in ${labelOf(join(root, 'config/upstreams.yaml'), cwd)}`)
    say(output, `then: ${root === cwd ? '' : `cd ${folder} && `}${program} check && ${program} start`)
    return 0
  },
}

const files = (): [name: string, text: string][] => [
  ...CONFIGURATION.map((name): [string, string] => [`config/${name}`, readFileSync(new URL(name, SHIPPED), 'utf8')]),
  ['docker-compose.yml', composeFile(version())],
]

/** `false`, and nothing changed, if there is a file already. */
function writeNew(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx' })
    return true
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw fault
  }
}

const secretsFile =
  (): string => `# The secrets of this gateway. Keep them out of version control. All gateways of one store need the same.
${Object.values(SECRETS)
  .map(({ variable, generate }) => `${variable}=${generate()}`)
  .join('\n')}
# The file with the accounts, created by the first start; relative to the working directory.
ACCOUNTS__PATH=data/accounts.yaml
`

import { createPasswordPolicy } from '../account/password-policy.ts'
import type { LoginType } from '../session/sides.ts'
import { readConfiguration } from '../settings/load.ts'
import { absent, type Place, VERBS, type Verb } from './account-verbs.ts'
import { CONFIG_HELP, CONFIG_OPTION, type Command, configOrBuiltIn, type Written } from './command.ts'
import { keepInJournal } from './journal.ts'
import { findElsewhere, linesOf } from './shown-account.ts'
import { ownerOfStoredFactor, resetStoredFactor, storedFactor } from './stored-factor.ts'
import { CommandError, say, type Terminal, UsageError } from './terminal.ts'

/** The options that not every subcommand takes. */
const OPTIONS = Object.values(VERBS).flatMap(({ options }) => options)

export const account: Command = {
  words: 'add|passwd|reset-second-factor|remove|show NAME, or list',
  summary: 'manage the accounts in the accounts file, or show one of another source',
  help: `  add NAME                  add an account
  passwd NAME               set the password of an account
  reset-second-factor NAME  remove the second factor of an account, whose user has lost it; of a user of an OpenID provider
                            with account: claims by the login id, such as staff:7c1f
  remove NAME               remove an account
  show NAME                 show an account, also one of a database, a backend or a directory
  list                      list the accounts

A running gateway follows the file: the sessions of an account that was removed, or has another password or no second
factor any more, end within a second. If no gateway runs, they end at the next start. The second factors of a directory
and of a provider are in the store: there reset-second-factor itself ends the sessions and keys.

On a terminal, the command prompts for a password; elsewhere, and for an empty input, it generates one and prints it.

  --password-stdin    read the password from standard input
  --must-change       add, passwd: the next login demands another password
  --role ROLE         add: a role, such as SUPER_ADMIN; may be repeated
  --nickname TEXT     add: the name that is shown
  --id ID             add: the login id; a new one when not given
  --service           add: a service account, for programs: it has no password and cannot sign in
  --force             remove: also the last active SUPER_ADMIN
  --consumer          the accounts of the C side (login.consumer) instead of those of the B side
${CONFIG_HELP}

Examples:
  dualgate account add jane --role operator
  dualgate account add deploy --service --role operator`,
  options: {
    ...CONFIG_OPTION,
    'password-stdin': { type: 'boolean' },
    role: { type: 'string', multiple: true },
    nickname: { type: 'string' },
    id: { type: 'string' },
    service: { type: 'boolean' },
    'must-change': { type: 'boolean' },
    force: { type: 'boolean' },
    consumer: { type: 'boolean' },
  },
  async run(written, terminal) {
    const [name = '', ...words] = written.words
    const verb = verbOf(name, words, written.values)
    const chosen = chosenSource(written, terminal)
    const { source, ...side } = chosen
    if (name === 'show' && source.kind !== 'file') {
      await showElsewhere({ source, ...side }, words[0]!, terminal.output)
      return 0
    }
    const owner = name === 'reset-second-factor' ? await ownerOfStoredFactor(chosen, words[0]!) : null
    if (owner !== null) {
      await resetStoredFactor(side, owner, terminal)
      return 0
    }
    const place = placeIn(chosen)
    const happened = await verb.run(place, { ...written, words }, terminal)
    const fault = happened === null ? null : await keepInJournal(place.settings, place.type, happened)
    if (fault !== null) say(terminal.errors, `dualgate: this is done, but is not in the journal: ${fault}`)
    return 0
  },
}

/** The subcommand that is meant. Fails with a `UsageError` for none, or for words and options that it does not take. */
function verbOf(name: string, words: readonly string[], values: Written['values']): Verb {
  const verb = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined
  if (verb === undefined)
    throw new UsageError('a subcommand is missing: add, passwd, reset-second-factor, remove, show NAME, or list')
  const { takesName, options } = verb
  if (words.length !== Number(takesName))
    throw new UsageError(`account ${name} takes ${takesName ? 'one name' : 'no name'}`)
  const unfit = OPTIONS.find(option => values[option] !== undefined && !options.includes(option))
  if (unfit !== undefined) throw new UsageError(`account ${name} takes no --${unfit}`)
  return verb
}

/** The accounts of the side that is meant. */
function chosenSource(written: Written, { environment, cwd }: Terminal) {
  const { settings } = readConfiguration(configOrBuiltIn(written, cwd), environment, cwd, { secretsNeeded: false })
  const isConsumer = written.values.consumer === true
  const source = isConsumer ? settings.login.consumer : settings.accounts
  if (source === 'off') throw new CommandError('login.consumer is off: the C side has no accounts here')
  const type: LoginType = isConsumer ? 'CONSUMER' : 'BUSINESS'
  return { source, settings, type }
}

function placeIn({ source, settings, type }: ReturnType<typeof chosenSource>): Place {
  if (source.kind !== 'file') throw new CommandError(`these accounts come from ${source.kind} and are managed there`)
  return { path: source.path, type, settings, policy: createPasswordPolicy(settings.passwords) }
}

/** Of a source that is managed elsewhere, an account can be shown and nothing else. */
async function showElsewhere(
  { source, ...side }: Omit<Place, 'path' | 'policy'> & { source: Parameters<typeof findElsewhere>[0] },
  name: string,
  output: Terminal['output'],
) {
  const found = await findElsewhere(source, name)
  if (found === null) throw absent(name)
  const secondFactor = source.kind === 'ldap' ? await storedFactor(side, found.id) : found.secondFactor
  say(output, ...linesOf({ ...found, secondFactor }))
}

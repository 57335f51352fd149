import { addAccount, listAccounts, removeAccount, removeSecondFactor, setPassword } from '../account/file/source.ts'
import { generatePassword } from '../account/generate-password.ts'
import type { ListedAccount } from '../account/management.ts'
import { createPasswordPolicy, type PasswordPolicy } from '../account/password-policy.ts'
import { rolesOf, unknownRoles } from '../account/permissions.ts'
import { isLastSuperAdmin } from '../administration/accounts/laws.ts'
import type { LoginType } from '../session/sides.ts'
import { type Configuration, readConfiguration } from '../settings/load.ts'
import { CONFIG_HELP, CONFIG_OPTION, type Command, configOrBuiltIn, type Written } from './command.ts'
import { type Happened, keepInJournal } from './journal.ts'
import { unknownRoleText } from './roles.ts'
import { findElsewhere, linesOf, SERVICE } from './shown-account.ts'
import { ownerOfStoredFactor, resetStoredFactor, storedFactor } from './stored-factor.ts'
import { tableOf } from './table.ts'
import { askHidden, CommandError, readAll, say, type Terminal, UsageError } from './terminal.ts'

/** The accounts file, its side, and the rules for new passwords in it. */
interface Place {
  path: string
  type: LoginType
  settings: Configuration['settings']
  policy: PasswordPolicy
}

/** Returns what it changed; `null` for nothing. */
type Verb = (place: Place, written: Written, terminal: Terminal) => Promise<Happened | null>

const VERBS: Record<string, Verb> = { add, passwd, 'reset-second-factor': resetSecondFactor, remove, show, list }

/** The options of single subcommands. */
const OPTIONS: Readonly<Record<string, readonly Verb[]>> = {
  role: [add],
  nickname: [add],
  id: [add],
  service: [add],
  'password-stdin': [add, passwd],
  'must-change': [add, passwd],
  force: [remove],
}

const SESSIONS_END = 'the running gateway ends the sessions, or the next start does'

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
    const verb = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined
    if (verb === undefined)
      throw new UsageError('a subcommand is missing: add, passwd, reset-second-factor, remove, show NAME, or list')
    const expected = verb === list ? 0 : 1
    if (words.length !== expected)
      throw new UsageError(`account ${name} takes ${expected === 0 ? 'no name' : 'one name'}`)
    const unfit = Object.keys(OPTIONS).find(
      option => written.values[option] !== undefined && !OPTIONS[option]!.includes(verb),
    )
    if (unfit !== undefined) throw new UsageError(`account ${name} takes no --${unfit}`)
    const chosen = chosenSource(written, terminal)
    const { source, ...side } = chosen
    if (verb === show && source.kind !== 'file') {
      await showElsewhere({ source, ...side }, words[0]!, terminal.output)
      return 0
    }
    const owner = verb === resetSecondFactor ? await ownerOfStoredFactor(chosen, words[0]!) : null
    if (owner !== null) {
      await resetStoredFactor(side, owner, terminal)
      return 0
    }
    const place = placeIn(chosen)
    const happened = await verb(place, { ...written, words }, terminal)
    const fault = happened === null ? null : await keepInJournal(place.settings, place.type, happened)
    if (fault !== null) say(terminal.errors, `dualgate: this is done, but is not in the journal: ${fault}`)
    return 0
  },
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

/** A role may be for backends only, so it is accepted. */
function warnOfUnknownRoles(roles: readonly string[], { settings }: Place, { errors }: Terminal): void {
  const known = rolesOf(settings.permissions.roles)
  for (const role of unknownRoles(roles, known)) say(errors, `dualgate: warning: ${unknownRoleText(role, known)}`)
}

async function add(place: Place, { words, values }: Written, terminal: Terminal): Promise<Happened> {
  const { path, policy } = place
  const username = words[0]!
  const roles = (values.role ?? []) as string[]
  const nickname = typeof values.nickname === 'string' ? values.nickname : username
  const fields = { username, roles, nickname, ...(typeof values.id === 'string' && { id: values.id }) }
  const isService = values.service === true
  if (isService) refusePassword(values)
  const { password, isMade } = isService ? NO_PASSWORD : await passwordFor(username, policy, values, terminal)
  const mustChange = values['must-change'] === true
  const { id } = await addAccount(path, {
    ...fields,
    ...(password === null ? { service: true } : { password, mustChange }),
  })
  say(terminal.output, `added ${isService ? 'the service account ' : ''}${username} with id ${id}`)
  warnOfUnknownRoles(roles, place, terminal)
  if (isMade) say(terminal.output, `password: ${password}`)
  return { event: 'account-added', account: { id, username, nickname } }
}

const NO_PASSWORD = { password: null, isMade: false } as const

function refusePassword(values: Written['values']): void {
  const unfit = ['password-stdin', 'must-change'].find(option => values[option] !== undefined)
  if (unfit !== undefined) throw new UsageError(`--service takes no --${unfit}: a service account has no password`)
}

async function passwd({ path, policy }: Place, { words, values }: Written, terminal: Terminal): Promise<Happened> {
  const account = await accountNamed(path, words[0]!)
  const { username, service } = account
  // Before a password is typed in vain.
  if (service) throw new CommandError(`${username} is a service account: it has no password`)
  const { password, isMade } = await passwordFor(username, policy, values, terminal)
  if (!(await setPassword(path, username, password, values['must-change'] === true))) throw absent(username)
  say(terminal.output, `changed the password of ${username}; ${SESSIONS_END}`)
  if (isMade) say(terminal.output, `password: ${password}`)
  return { event: 'password-reset', account }
}

async function resetSecondFactor({ path }: Place, { words }: Written, { output }: Terminal): Promise<Happened> {
  const account = await accountNamed(path, words[0]!)
  const { username } = account
  if (!(await removeSecondFactor(path, username))) throw new CommandError(`${username} has no second factor`)
  say(output, `removed the second factor of ${username}; ${SESSIONS_END}`)
  return { event: 'second-factor-reset', account }
}

async function remove({ path }: Place, { words, values }: Written, { output }: Terminal): Promise<Happened> {
  const account = await accountNamed(path, words[0]!)
  const { username } = account
  const isRemoved = await removeAccount(path, username, (found, accounts) => {
    if (values.force === true || !isLastSuperAdmin(found, null, accounts)) return
    throw new CommandError(`${username} is the last active SUPER_ADMIN; --force removes it all the same`)
  })
  if (!isRemoved) throw absent(username)
  say(output, `removed ${username}; ${SESSIONS_END}`)
  return { event: 'account-removed', account }
}

async function show({ path }: Place, { words }: Written, { output }: Terminal): Promise<null> {
  say(output, ...linesOf(await accountNamed(path, words[0]!)))
  return null
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

async function list({ path }: Place, _written: Written, { output }: Terminal): Promise<null> {
  const accounts = await listAccounts(path)
  const rows = accounts.map(({ username, id, status, roles, nickname, service }) => [
    username,
    id,
    status,
    roles.join(','),
    nickname,
    service ? SERVICE : '',
  ])
  say(output, ...tableOf([['USERNAME', 'ID', 'STATUS', 'ROLES', 'NICKNAME', 'KIND'], ...rows]))
  return null
}

/** Names that differ in case only are the same name. */
async function accountNamed(path: string, username: string): Promise<ListedAccount> {
  const found = (await listAccounts(path)).find(entry => entry.username.toLowerCase() === username.toLowerCase())
  if (found === undefined) throw absent(username)
  return found
}

const absent = (username: string): CommandError => new CommandError(`there is no account ${username}`)

/** The new password of an account, or a refusal that names its faults. */
async function passwordFor(username: string, policy: PasswordPolicy, values: Written['values'], terminal: Terminal) {
  const fromInput = values['password-stdin'] === true
  const typed = fromInput ? await readAll(terminal.input) : await typedPassword(username, terminal)
  if (typed === null) return { password: generatePassword(policy.settings), isMade: true }
  await policy.check({ username, password: typed })
  return { password: typed, isMade: false }
}

/** `null` where the user types none. */
async function typedPassword(username: string, terminal: Terminal): Promise<string | null> {
  if (!terminal.input.isTTY) return null
  const password = await askHidden(terminal, `password of ${username} (empty: generate one): `)
  if (password === '') return null
  if ((await askHidden(terminal, 'the same again: ')) !== password) throw new CommandError('the two differ')
  return password
}

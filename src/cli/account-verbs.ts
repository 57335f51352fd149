import { existsSync } from 'node:fs'
import { faultOfValue } from '../account/file/document.ts'
import { addAccount, listAccounts, removeAccount, removeSecondFactor, setPassword } from '../account/file/source.ts'
import { generatePassword } from '../account/generate-password.ts'
import { type ListedAccount, refuseUnprintable } from '../account/management.ts'
import type { PasswordPolicy } from '../account/password-policy.ts'
import { rolesOf, unknownRoles } from '../account/permissions.ts'
import { isLastSuperAdmin } from '../administration/accounts/escalation.ts'
import type { LoginType } from '../session/sides.ts'
import { BUILT_IN, type Configuration } from '../settings/load.ts'
import { configOrBuiltIn, type Written } from './command.ts'
import type { Happened } from './journal.ts'
import { unknownRoleText } from './roles.ts'
import { linesOf, SERVICE } from './shown-account.ts'
import { tableOf } from './table.ts'
import {
  askHidden,
  CommandError,
  readAll,
  refuseUnseen,
  say,
  sayPassword,
  type Terminal,
  UsageError,
} from './terminal.ts'

/* What `dualgate account` does to the accounts file. */

/** The accounts file, its side, and the rules for new passwords in it. */
export interface Place {
  path: string
  type: LoginType
  settings: Configuration['settings']
  policy: PasswordPolicy
}

/** A subcommand. */
export interface Verb {
  /** Returns what it changed; `null` for nothing. */
  run(place: Place, written: Written, terminal: Terminal): Promise<Happened | null>
  /** The options that not every subcommand takes. */
  options: readonly string[]
  /** Whether it is about one account, by its name. */
  takesName: boolean
}

const one = (run: Verb['run'], ...options: string[]): Verb => ({ run, options, takesName: true })

export const VERBS: Readonly<Record<string, Verb>> = {
  add: one(add, 'role', 'nickname', 'id', 'service', 'password-stdin', 'must-change'),
  passwd: one(passwd, 'password-stdin', 'must-change'),
  'reset-second-factor': one(resetSecondFactor),
  remove: one(remove, 'force'),
  show: one(show),
  list: { run: list, options: [], takesName: false },
}

const SESSIONS_END = 'the running gateway ends the sessions, or the next start does'

const ELSEWHERE =
  'start the gateway first; for a gateway of another folder, run this there, or name its configuration with --config'

/** A role may be for backends only, so it is accepted. */
function warnOfUnknownRoles(roles: readonly string[], { settings }: Place, { errors }: Terminal): void {
  const known = rolesOf(settings.permissions.roles)
  for (const role of unknownRoles(roles, known)) say(errors, `dualgate: warning: ${unknownRoleText(role, known)}`)
}

async function add(place: Place, written: Written, terminal: Terminal): Promise<Happened> {
  const { words, values } = written
  const { path, policy } = place
  // With a configuration, it is the folder of its gateway, which may not have started yet.
  if (configOrBuiltIn(written, terminal.cwd) === BUILT_IN) refuseMissing(path)
  const username = words[0]!
  const roles = (values.role ?? []) as string[]
  const nickname = typeof values.nickname === 'string' ? values.nickname : username
  const fields = { username, roles, nickname, ...(typeof values.id === 'string' && { id: values.id }) }
  refuseUnprintable({ nickname: [nickname], roles })
  refuseUnfit('role', faultOfValue('roles', roles))
  if (values.nickname !== undefined) refuseUnfit('nickname', faultOfValue('nickname', nickname))
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
  if (isMade) await sayPassword(terminal, username, `password: ${password}`)
  return { event: 'account-added', account: { id, username, nickname } }
}

/** Before a password is typed in vain, and without a word of the accounts file, in which nothing is wrong. */
function refuseUnfit(option: string, fault: string | null): void {
  if (fault !== null) throw new CommandError(`--${option} ${fault}`)
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
  if (isMade) await sayPassword(terminal, username, `password: ${password}`)
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

async function list({ path }: Place, _written: Written, { output }: Terminal): Promise<null> {
  const accounts = await accountsIn(path)
  const rows = accounts.map(({ username, id, status, roles, nickname, service }) => [
    username,
    id,
    status,
    roles.join(','),
    nickname,
    service ? SERVICE : '',
  ])
  say(output, tableOf([['USERNAME', 'ID', 'STATUS', 'ROLES', 'NICKNAME', 'KIND'], ...rows]).join('\n'))
  return null
}

function accountsIn(path: string): Promise<readonly ListedAccount[]> {
  refuseMissing(path)
  return listAccounts(path)
}

/** A command in another folder than that of the gateway must not look like a gateway without accounts. */
function refuseMissing(path: string): void {
  if (!existsSync(path)) throw new CommandError(`there is no accounts file ${path}; ${ELSEWHERE}`)
}

/** Names that differ in case only are the same name. */
async function accountNamed(path: string, username: string): Promise<ListedAccount> {
  const found = (await accountsIn(path)).find(entry => entry.username.toLowerCase() === username.toLowerCase())
  if (found === undefined) throw absent(username)
  return found
}

export const absent = (username: string): CommandError => new CommandError(`there is no account ${username}`)

/** The new password of an account, or a refusal that names its faults. */
async function passwordFor(username: string, policy: PasswordPolicy, values: Written['values'], terminal: Terminal) {
  const fromInput = values['password-stdin'] === true
  const typed = fromInput ? await passwordIn(terminal.input) : await typedPassword(username, terminal)
  if (typed === null) {
    refuseUnseen(terminal, 'the generated password', 'send one with --password-stdin, or keep the output')
    return { password: generatePassword(policy.settings), isMade: true }
  }
  await policy.check({ username, password: typed })
  return { password: typed, isMade: false }
}

/** A field of a form has one line: with more, its user could not sign in. */
async function passwordIn(input: NodeJS.ReadStream): Promise<string> {
  const text = await readAll(input)
  if (/[\r\n]/.test(text)) throw new CommandError('standard input has several lines; send the password alone')
  return text
}

/** `null` where the user types none. */
async function typedPassword(username: string, terminal: Terminal): Promise<string | null> {
  if (!terminal.input.isTTY) return null
  const password = await askHidden(terminal, `password of ${username} (empty: generate one): `)
  if (password === '') return null
  if ((await askHidden(terminal, 'the same again: ')) !== password) throw new CommandError('the two differ')
  return password
}

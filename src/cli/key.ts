import type { Account } from '../account/source.ts'
import type { FactorsOfSide } from '../account/stored-factors.ts'
import { DAY, systemClock } from '../base/clock.ts'
import { plain } from '../base/log/terminal-line.ts'
import { Refusal } from '../base/refusal.ts'
import { BY_COMMAND_LINE, type SessionEvent } from '../event/event.ts'
import { createKeys, type Keys, type ListedKey } from '../key/keys.ts'
import { readWanted } from '../key/own-keys.ts'
import { type LoginType, SIDES } from '../session/sides.ts'
import { BUILT_IN, type Configuration, readConfiguration } from '../settings/load.ts'
import { accountsOf, keysOf } from '../settings/served.ts'
import { hintOf } from '../token/key-form.ts'
import { CONFIG_HELP, CONFIG_OPTION, type Command, configOrBuiltIn, type Written } from './command.ts'
import { keepEvents } from './journal.ts'
import { accountNamed, existingStore, openedStore } from './open-store.ts'
import { tableOf } from './table.ts'
import { CommandError, refuseUnseen, say, sayOnce, type Terminal, UsageError } from './terminal.ts'

interface Place {
  type: LoginType
  settings: Configuration['settings']
  keys: Keys
  /** The account with a name. */
  find(username: string): Promise<Owner>
}

type Owner = Pick<Account, 'id' | 'username' | 'credentialVersion'>

type Verb = (place: Place, written: Written, terminal: Terminal) => Promise<void>

const VERBS: Readonly<Record<string, Verb>> = { add, list, revoke }

/** Keys that are read at once. */
const PAGE = 100
/** The options of `add`. */
const OF_ADD = ['name', 'days', 'permission', 'path', 'address']

export const key: Command = {
  words: 'add NAME, list [NAME], or revoke NAME ID',
  summary: 'make, list and revoke the keys with which programs call backends',
  help: `  add NAME            make a key for an account, and print it: only now
  list [NAME]         list the keys of an account, or of all
  revoke NAME ID      end a key of an account for good

A running gateway knows each change at once. Service accounts (dualgate account add NAME --service) are for programs.

  --name TEXT         add: what the key is for; "command line" when not given
  --days DAYS         add: days until the key ends; keys.business.max_age when not given
  --permission CODE   add: a permission that the key includes, such as orders:read; may be repeated; all when not given
  --path PATH         add: the beginning of paths that the key reaches, such as /api/v1/b/orders; may be repeated
  --address RANGE     add: an address or CIDR range from which the key may be used; may be repeated
  --consumer          the accounts of the C side (login.consumer) instead of those of the B side
${CONFIG_HELP}

Example:
  dualgate key add nightly --name "nightly report" --days 90`,
  options: {
    ...CONFIG_OPTION,
    name: { type: 'string' },
    days: { type: 'string' },
    permission: { type: 'string', multiple: true },
    path: { type: 'string', multiple: true },
    address: { type: 'string', multiple: true },
    consumer: { type: 'boolean' },
  },
  async run(written, terminal) {
    const [name = '', ...words] = written.words
    const verb = Object.hasOwn(VERBS, name) ? VERBS[name]! : null
    if (verb === null) throw new UsageError('a subcommand is missing: add NAME, list [NAME], or revoke NAME ID')
    refuseWords(name, words, written)
    await withStore(written, terminal, place => verb(place, { ...written, words }, terminal))
    return 0
  },
}

function refuseWords(name: string, words: readonly string[], { values }: Written): void {
  const fits = name === 'list' ? words.length <= 1 : words.length === (name === 'add' ? 1 : 2)
  if (!fits)
    throw new UsageError(
      `key ${name} takes ${{ add: 'one name', list: 'one name or none' }[name] ?? 'a name and an id'}`,
    )
  const unfit = name === 'add' ? undefined : OF_ADD.find(option => values[option] !== undefined)
  if (unfit !== undefined) throw new UsageError(`key ${name} takes no --${unfit}`)
}

async function withStore(written: Written, terminal: Terminal, work: (place: Place) => Promise<void>): Promise<void> {
  const { environment, cwd, errors } = terminal
  const file = configOrBuiltIn(written, cwd)
  const { settings } = readConfiguration(file, environment, cwd, { secretsNeeded: false })
  const type = written.values.consumer === true ? 'CONSUMER' : 'BUSINESS'
  const keysOfSide = keysOf(settings, type)
  if (keysOfSide === 'off') throw new CommandError(`keys.${SIDES[type].name} is off`)
  const events: SessionEvent[] = []
  // Without a configuration this may be another folder than that of the gateway: no store may begin here.
  const mayBegin = written.words[0] === 'add' && file !== BUILT_IN
  const store = await (mayBegin ? openedStore : existingStore)(settings)
  try {
    const { credentials, attempts } = store
    const publish = (event: SessionEvent): void => void events.push(event)
    const keys = createKeys({ type, credentials, attempts, settings: keysOfSide, clock: systemClock, publish })
    await work({
      type,
      settings,
      keys,
      find: username => ownerNamed(username, settings, { type, place: store.factors }),
    })
    const fault = await keepEvents(settings, store, events)
    if (fault !== null) say(errors, `dualgate: this is done, but is not in the journal: ${fault}`)
  } finally {
    await store.close()
  }
}

async function ownerNamed(
  username: string,
  settings: Configuration['settings'],
  factors: FactorsOfSide,
): Promise<Owner> {
  const accounts = accountsOf(settings, factors.type)
  if (accounts === 'off') throw new CommandError('login.consumer is off: the C side has no accounts here')
  return accountNamed(accounts, username, factors)
}

async function add({ settings, type, keys, find }: Place, { words, values }: Written, terminal: Terminal) {
  const owner = await find(words[0]!)
  const of = (name: string) => (values[name] as string[] | undefined) ?? null
  const days = typeof values.days === 'string' ? Number(values.days) : null
  if (days !== null && !Number.isInteger(days)) throw new CommandError('days must be a whole number')
  const name = typeof values.name === 'string' ? values.name : BY_COMMAND_LINE
  const limits = { permissions: of('permission'), paths: of('path'), addresses: of('address') }
  const keysOfSide = keysOf(settings, type)
  if (keysOfSide === 'off') return
  const wanted = readWanted({ name, days, ...limits }, keysOfSide)
  refuseUnseen(terminal, 'the key', 'keep the output in a file that only its program can read')
  const made = await keys.add(owner, wanted, { id: BY_COMMAND_LINE }, { by: BY_COMMAND_LINE })
  const lifetime = Math.round(wanted.lifetime / DAY)
  const line = `made key ${made.id} of ${owner.username}; it ends in ${lifetime} ${lifetime === 1 ? 'day' : 'days'}, and is shown only now:`
  const revoking = `dualgate key revoke ${owner.username} ${made.id}`
  await sayOnce(
    terminal,
    [line, made.key],
    `the new key could not be shown; end it with \`${revoking}\`, and make another`,
  )
}

async function list({ type, keys, find }: Place, { words }: Written, { output }: Terminal): Promise<void> {
  const found = words.length === 0 ? await all(keys) : await keysUnder(words[0]!, { keys, find })
  const rows = found.map(key => [
    key.id,
    hintOf(type, key.id),
    key.username,
    key.name,
    dayOf(key.expiresAt),
    key.usedAt === null ? 'never' : dayOf(key.usedAt),
  ])
  for (const line of tableOf([['ID', 'BEGINS', 'OWNER', 'NAME', 'ENDS', 'LAST USED'], ...rows])) say(output, line)
}

/** The keys of the account with a name; without such an account those whose owner had the name when they were made. */
async function keysUnder(username: string, { keys, find }: Pick<Place, 'keys' | 'find'>): Promise<ListedKey[]> {
  try {
    return await keys.of((await find(username)).id)
  } catch (fault) {
    if (!(fault instanceof CommandError)) throw fault
    const left = await keysMadeAs(username, keys)
    if (left.length === 0) throw fault
    return left
  }
}

/** The keys whose owner had a name when they were made. */
const keysMadeAs = async (username: string, keys: Keys): Promise<ListedKey[]> =>
  (await all(keys)).filter(key => key.username === username)

async function all(keys: Keys): Promise<ListedKey[]> {
  const found: ListedKey[] = []
  for (;;) {
    const { keys: some, total } = await keys.page(found.length, PAGE)
    found.push(...some)
    if (some.length === 0 || found.length >= total) return found
  }
}

const dayOf = (timestamp: number): string => new Date(timestamp).toISOString().slice(0, 10)

async function revoke({ keys, find }: Place, { words }: Written, { output }: Terminal): Promise<void> {
  const [username, id] = words as [string, string]
  const withId = (found: readonly ListedKey[]) => found.find(key => key.id === id)
  // Another account may have the name by now.
  const key = withId(await keysUnder(username, { keys, find })) ?? withId(await keysMadeAs(username, keys))
  if (key === undefined) throw new Refusal('NO_SUCH_KEY')
  await keys.revoke(key.owner, id, { by: BY_COMMAND_LINE })
  say(output, `revoked key ${plain(id)} of ${plain(username)}`)
}

import { randomBytes } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { ANY, type Filter, readFilter } from '../../base/ldap/filter.ts'
import type { Logger } from '../../base/log/log.ts'
import { Refusal, Unavailable } from '../../base/refusal.ts'
import { type DirectorySettings, directoryOf, type LdapAccountsSettings } from '../../settings/directory.ts'
import { readCertificates } from '../../settings/tls.ts'
import { isStorable } from '../password.ts'
import { rightsIn } from '../permissions.ts'
import type { Account, Accounts, SourceLogin } from '../source.ts'
import type { StoredFactors } from '../stored-factors.ts'
import { versionsOf } from '../version.ts'
import { type Verdict, verdictOf } from './bind-result.ts'
import { type Asking, Directory } from './directory.ts'
import { accountAttributes, type EntryAccount, idFilter, readAccount } from './entry.ts'
import { FailureTime } from './failure-time.ts'
import { createRoles, GROUP_ATTRIBUTES, groupsOf } from './groups.ts'
import { DirectoryResult, type Entry } from './operations.ts'

/** Longer ones are no passwords of people, and directories have limits of their own. */
const MAX_PASSWORD_BYTES = 1024

interface Found extends EntryAccount {
  entry: Entry
}

interface DirectoryParts {
  settings: DirectorySettings
  directory: Directory
  clock: Clock
  factors: StoredFactors | undefined
  rolesOf(groups: readonly string[]): string[]
}

/**
 * Accounts in a directory, which binds with the password. A login first searches the entry, then binds, and reads the groups and the
 * second factor when the password was right: so a known name costs what an unknown one costs. `factors`: the second factors, which
 * no directory keeps; without them the accounts have none.
 */
export function createLdapAccounts(
  written: LdapAccountsSettings,
  { clock, log, factors }: { clock: Clock; log: Pick<Logger, 'warn'>; factors?: StoredFactors | undefined },
): Accounts {
  const settings = directoryOf(written)
  const ca = settings.ca === undefined ? undefined : readCertificates(settings.ca, 'ca')
  const directory = new Directory({ ...settings, ca, log })
  const parts: DirectoryParts = { settings, directory, clock, factors, rolesOf: createRoles(settings.roles) }
  const entries = new WeakMap<Account, Found>()
  const remember = (found: Found): Account => {
    entries.set(found.account, found)
    return found.account
  }

  return {
    endsWithRoles: true,
    ...(factors !== undefined && { updates: factors.updates }),
    find: (username, login) =>
      orUnavailable(async () => {
        const filter = readFilter(settings.user, { '{username}': username })
        const search = (asking: Asking) => searchAccount(parts, filter, asking, login === undefined)
        const found = await timed(login, settings.timeout, left => directory.search(left, search))
        if (found !== null && login === undefined) await addVersions(found, factors)
        return found === null ? null : remember(found)
      }, username),
    verify: createVerify(parts, entries),
    findRights: id =>
      orUnavailable(async () => {
        const byId = idFilter(settings.id, id)
        if (byId === null) return null
        const user = readFilter(settings.user, { '{username}': ANY })
        const filter: Filter = { kind: 'and', filters: [byId, user] }
        const search = (asking: Asking) => searchAccount(parts, filter, asking, true)
        const found = await directory.search(settings.timeout, search)
        // Some attributes compare without regard to case and spaces.
        return found?.account.id === id && found.account.status === 'ACTIVE' ? rightsIn(found.account.extra) : null
      }),
    close: () => directory.close(),
  }
}

/** The one account that a filter finds, with its groups if they are wanted at once. */
async function searchAccount(
  { settings, clock, rolesOf }: DirectoryParts,
  filter: Filter,
  asking: Asking,
  withGroups: boolean,
): Promise<Found | null> {
  const attributes = [...accountAttributes(settings), ...GROUP_ATTRIBUTES]
  const question = { base: settings.base, scope: 'sub', filter, attributes, limit: 2 } as const
  const [entry, ...others] = await asking.connection.search(question, asking.signal)
  if (entry === undefined) return null
  if (others.length > 0) throw new Error('the directory has several entries for one name')
  const found = { ...readAccount(entry, settings, clock.now()), entry }
  if (withGroups) await addGroups(found, settings, rolesOf, asking)
  return found
}

async function addGroups(
  { account, entry }: Found,
  { groups }: DirectorySettings,
  rolesOf: DirectoryParts['rolesOf'],
  asking: Asking,
): Promise<void> {
  if (groups !== null) {
    account.groups = await groupsOf(entry, groups, asking)
    account.extra = { ...account.extra, roles: rolesOf(account.groups) }
  }
}

/** The versions of an account whose groups are known, and its second factor. */
async function addVersions({ account, passwordState }: Found, factors: StoredFactors | undefined): Promise<void> {
  // A directory does not tell who has set a password: keys end with each new one.
  if (factors !== undefined) await factors.complete(account, passwordState)
  else Object.assign(account, versionsOf({ passwordHash: passwordState, extra: account.extra }))
}

function createVerify(parts: DirectoryParts, entries: WeakMap<Account, Found>): Accounts['verify'] {
  const { settings, directory, factors, rolesOf } = parts
  const { timeout } = settings
  const failureTime = new FailureTime()

  async function bind(found: Found | undefined, password: string, left: number): Promise<Verdict> {
    if (found !== undefined) return verdictOf(directory.bind(left, found.entry.dn, password))
    // Whatever the answer about an entry that does not exist: it is no.
    const decoy = `cn=${randomBytes(8).toString('hex')},${settings.base}`
    await verdictOf(directory.bind(left, decoy, randomBytes(8).toString('hex'))).catch(withoutUnknown)
    return { isRight: false }
  }

  return (account, password, login = { spent: 0 }) =>
    orUnavailable(async () => {
      const found = account === null ? undefined : entries.get(account)
      if (account !== null && found === undefined) throw new Error('the account is not of this source')
      const isSent = password !== null && canBePassword(password)
      const verdict: Verdict = isSent
        ? await timed(login, timeout, left => bind(found, password, left))
        : { isRight: false }
      if (account === null || found === undefined || !verdict.isRight) {
        login.obstacle = isSent && !verdict.isRight ? (verdict.obstacle ?? found?.obstacle) : undefined
        await failureTime.pass(login.spent, isSent && found !== undefined, timeout)
        return false
      }
      if (verdict.mustChange) account.passwordExpired = true
      if (account.version === undefined) {
        await timed(login, timeout, left =>
          directory.search(left, asking => addGroups(found, settings, rolesOf, asking)),
        )
        await addVersions(found, factors)
      }
      return true
    })
}

/** noSuchObject and invalidDNSyntax (RFC 4511, appendix A): a few servers say so instead of invalidCredentials. */
const UNKNOWN: ReadonlySet<unknown> = new Set([32, 34])

function withoutUnknown(fault: unknown): void {
  if (!UNKNOWN.has((fault as { code?: unknown }).code)) throw fault
}

/**
 * A directory accepts an empty password without proving anything (RFC 4513, 5.1.2), and some read one that begins with NUL
 * as empty.
 */
const canBePassword = (password: string): boolean =>
  password !== '' && Buffer.byteLength(password) <= MAX_PASSWORD_BYTES && isStorable(password)

/** Does a part of a login within what is left of its time, and counts that. */
async function timed<T>(
  login: SourceLogin | undefined,
  timeout: number,
  work: (left: number) => Promise<T>,
): Promise<T> {
  const began = performance.now()
  try {
    return await work(timeout - (login?.spent ?? 0))
  } finally {
    if (login !== undefined) login.spent += performance.now() - began
  }
}

/** No fault has the name that was typed: users sometimes type their password as their name. */
async function orUnavailable<T>(question: () => Promise<T>, typed?: string): Promise<T> {
  try {
    return await question()
  } catch (fault) {
    if (fault instanceof Refusal) throw fault
    const quotes = fault instanceof DirectoryResult && typed !== undefined && fault.diagnostic.includes(typed)
    throw new Unavailable('the directory of the accounts', quotes ? new DirectoryResult(fault.code, '') : fault)
  }
}

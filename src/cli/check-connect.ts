import { accessSync, constants } from 'node:fs'
import { listAccounts } from '../account/file/source.ts'
import { type AccountsSettings, type HashSourceSettings, openSource } from '../account/open.ts'
import { systemClock } from '../base/clock.ts'
import { faultText } from '../base/fault-text.ts'
import { createLog } from '../base/log/log.ts'
import { nearestExisting } from '../base/place-fault.ts'
import { Refusal } from '../base/refusal.ts'
import { handshakeFault, trustFault } from '../base/tls-faults.ts'
import { readDatabaseAddress } from '../settings/database-address.ts'
import type { LdapAccountsSettings } from '../settings/directory.ts'
import type { Configuration } from '../settings/load.ts'
import type { ProviderSettings } from '../settings/schema/providers.ts'
import type { UpstreamSettings } from '../settings/schema/upstreams.ts'
import { targetsOf } from '../settings/targets.ts'
import { ECHO_URL } from '../upstream/upstream.ts'

/** What another program answered to a gateway that would use it, without secrets. */
export interface Probe {
  what: string
  isReached: boolean
  /** What was found, or what to do. */
  text: string
}

type ReadSettings = Configuration['settings']

/** No step takes longer, whatever the configured limits, in milliseconds. */
const LIMIT = 5000
/** A valid name and login id that no account has. */
const NO_ACCOUNT = 'dualgate.check.connect'

/** Asks the store, the sources of accounts, the OpenID providers and the targets of upstreams, all at once. Changes nothing in them. */
export async function probeAll(settings: ReadSettings): Promise<Probe[]> {
  const { accounts, login, permissions, upstreams } = settings
  const needsRights = permissions.source === 'accounts'
  const found = await Promise.all([
    probeStore(settings),
    probeAccounts('accounts', accounts, needsRights),
    login.consumer === 'off' ? [] : probeAccounts('login.consumer', login.consumer, needsRights),
    ...login.providers.map(probeProvider),
    ...upstreams.flatMap(probeUpstream),
  ])
  return found.flat()
}

async function probeStore({ store, data }: ReadSettings): Promise<Probe[]> {
  switch (store.kind) {
    case 'embedded':
      return [probeFolder(data)]
    case 'redis':
      return probeRedisStore(store)
  }
}

async function probeRedisStore({ redis, prefix, timeout }: ReadSettings['store']): Promise<Probe[]> {
  if (redis === undefined) throw new Error('store.redis says where Redis is; it is missing')
  const [{ probeRedis }, { placeOf }] = await Promise.all([
    import('../store/redis/check-connect.ts'),
    import('../store/redis/connection/shown-address.ts'),
  ])
  const what = `store (${placeOf(redis)})`
  const probe = await probeRedis(redis, prefix, Math.min(timeout, LIMIT))
  if (probe.fault !== null) return [{ what, isReached: false, text: probe.fault }]
  return [
    { what, isReached: true, text: `Redis ${probe.version}` },
    ...probe.warnings.map(text => ({ what: 'store', isReached: true, text: `warning: ${text}` })),
  ]
}

/** The folder of the embedded store, or the nearest one around it that exists. */
function probeFolder(data: string): Probe {
  const folder = nearestExisting(data)
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    const text = folder === data ? 'the folder can be written' : 'the first start creates the folder'
    return { what: `store (embedded, in ${data})`, isReached: true, text }
  } catch {
    const text = `this user may not write to ${folder}; give it the right, or set another folder (data)`
    return { what: `store (embedded, in ${data})`, isReached: false, text }
  }
}

async function probeAccounts(name: string, settings: AccountsSettings, needsRights: boolean): Promise<Probe[]> {
  return settings.kind === 'ldap'
    ? probeDirectory(name, settings)
    : [await probeHashSource(name, settings, needsRights)]
}

/** What each server of a directory answers. */
async function probeDirectory(name: string, settings: LdapAccountsSettings): Promise<Probe[]> {
  const { probeDirectory } = await import('../account/ldap/check-connect.ts')
  const probes = await probeDirectory(settings, LIMIT)
  return probes.flatMap(({ url, isReached, found }) =>
    found.map(text => ({ what: `${name} (${url})`, isReached, text })),
  )
}

/** Asks for an account that does not exist, as a login does. */
export async function probeHashSource(
  name: string,
  settings: HashSourceSettings,
  needsRights: boolean,
): Promise<Probe> {
  const what = `${name} (${settings.kind})`
  try {
    if (settings.kind === 'file') return { what, isReached: true, text: await accountsIn(settings.path) }
    const timeout = Math.min(settings.timeout, LIMIT)
    const source = await openSource({ ...settings, timeout }, systemClock, createLog('silent'))
    try {
      await source.find(NO_ACCOUNT)
      if (needsRights) await source.findRights(NO_ACCOUNT)
      await source.updates?.check?.()
    } finally {
      await source.close()
    }
    const found = [
      'answers the question for an account',
      ...(needsRights ? ['and for rights'] : []),
      ...updatesIn(settings),
    ]
    return { what, isReached: true, text: found.join(', ') }
  } catch (fault) {
    const reason = faultText(fault instanceof Refusal ? (fault.cause ?? fault) : fault)
    const other = settings.kind === 'sql' && fault instanceof Refusal ? await otherDatabase(name, settings.url) : null
    return { what, isReached: false, text: `${reason}; ${other ?? REMEDY[settings.kind](name)}` }
  }
}

/** Where the server is of another kind than the URL says: neither driver finds that out. */
async function otherDatabase(name: string, url: string): Promise<string | null> {
  const { serverKind } = await import('../account/sql/server-kind.ts')
  const address = readDatabaseAddress(url)
  const kind = await serverKind(address, LIMIT)
  if (kind === null || kind === address.kind) return null
  return `it is a server of ${DATABASES[kind]}; begin ${name}.url with ${kind}://`
}

const DATABASES = { postgres: 'PostgreSQL', mysql: 'MySQL or MariaDB' } as const

/** What to do where a source does not answer as it has to. */
const REMEDY: Readonly<Record<HashSourceSettings['kind'], (name: string) => string>> = {
  file: name => `correct ${name}.path, or the file`,
  sql: name =>
    `correct ${name}.url (its scheme, host, user, database) or the statements beside it, or start the database`,
  http: name => `correct ${name}.url, ${name}.secret or the backend`,
}

/** What is known of the changes that the source is to store. A backend is not asked: the question would be a change. */
function updatesIn(settings: Exclude<HashSourceSettings, { kind: 'file' }>): string[] {
  if (settings.kind === 'http') return settings.update_url === undefined ? [] : ['update_url was not asked']
  const names = Object.keys(settings.update ?? {})
  return names.length === 0 ? [] : [`accepts the updates: ${names.join(' and ')}`]
}

async function accountsIn(path: string): Promise<string> {
  const { length } = await listAccounts(path)
  return length === 0 ? `no accounts in ${path}; the first start creates a missing file` : `${length} in ${path}`
}

/** Whether a provider accepts the client shows in a sign-in only: the question would need a user. */
async function probeProvider(settings: ProviderSettings): Promise<Probe> {
  const what = `provider ${settings.name} (${settings.issuer})`
  const { createProvider } = await import('../provider/provider.ts')
  const parts = { clock: systemClock, log: createLog('silent') }
  const provider = createProvider({ ...settings, timeout: Math.min(settings.timeout, LIMIT) }, parts)
  try {
    const { endSession, backChannel } = await provider.reach()
    const found = [
      'answers with its configuration and keys',
      endSession ? 'a sign-out ends the session there, too' : 'a sign-out does not end the session there',
      BACK_CHANNEL[String(backChannel)]!,
      'client and secret were not tried',
    ]
    return { what, isReached: true, text: found.join('; ') }
  } catch (fault) {
    const { detail } = fault as { detail?: string }
    const reason = detail ?? faultText(fault instanceof Refusal ? (fault.cause ?? fault) : fault)
    return { what, isReached: false, text: `${reason}; start it, or correct issuer, ca, proxy or algorithms` }
  } finally {
    await provider.close()
  }
}

const BACK_CHANNEL: Readonly<Record<string, string>> = {
  true: 'it sends back-channel logouts',
  false: 'it sends no back-channel logouts',
  null: 'it does not say whether it sends back-channel logouts',
}

function probeUpstream(upstream: UpstreamSettings): Promise<Probe>[] {
  return targetsOf(upstream).map(async ({ url }) => {
    const what = `upstream ${upstream.name} (${url})`
    if (url === ECHO_URL) return { what, isReached: true, text: 'built in' }
    const { probeTarget } = await import('../upstream/check-connect.ts')
    const fault = await probeTarget(url, upstream, LIMIT)
    if (fault === null)
      return { what, isReached: true, text: upstream.health === undefined ? 'accepts connections' : 'healthy' }
    return { what, isReached: false, text: adviceFor(fault) }
  })
}

/** Alerts of a target about the certificate of its client (RFC 8446 6.2). */
const ABOUT_CERTIFICATE =
  /alert (?:(?:bad|unsupported) certificate|certificate (?:revoked|expired|unknown|required)|unknown ca)/

function adviceFor(fault: Error): string {
  const distrust = trustFault(fault)
  if (distrust !== null)
    return `its certificate is not trusted: ${distrust}; name its authority in tls.ca, correct tls.server_name, or renew the certificate`
  const handshake = handshakeFault(fault)
  if (handshake !== null && ABOUT_CERTIFICATE.test(handshake))
    return `it refuses the certificate of the gateway: ${handshake}; set or renew tls.cert and tls.key`
  if (handshake !== null)
    return `TLS with HTTP/1.1 fails: ${handshake}; correct its target (http:// or https://), or tls`
  return `${fault.message}; start it, or correct its target`
}

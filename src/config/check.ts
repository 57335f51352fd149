import { isIP } from 'node:net'
import type { StaticDecode } from 'typebox'
import { readTarget } from '../gate/path.ts'
import { ConfigurationError } from './fault.ts'
import { checkExceptions } from './gate-check.ts'
import type { SettingsSchema } from './schema/settings.ts'
import type { UpstreamSettings } from './schema/upstreams.ts'
import { faultOfForm, faultOfSecret, faultOfSm2PrivateKey, weaknessOfSigningKey } from './secrets.ts'
import type { KeyPath, Written } from './source/written.ts'
import { readCertificate } from './tls/certificate.ts'
import { readUpstreamTls } from './tls/upstream-tls.ts'

/** The configuration after its schema has been applied: every value for itself is what it must be. */
export type Decoded = StaticDecode<typeof SettingsSchema>

type Report = (path: KeyPath, message: string) => void
type Warn = Report

interface Check {
  /** What the check looks at; it is left out when something there is faulty already. */
  looksAt: KeyPath[]
  run(settings: Decoded, report: Report, warn: Warn): void
}

const CHECKS: readonly Check[] = [
  { looksAt: [['listen'], ['internal']], run: checkPorts },
  { looksAt: [['listen', 'tls']], run: checkCertificate },
  { looksAt: [['timezone']], run: checkTimezone },
  { looksAt: [['trusted_proxies']], run: checkTrustedProxies },
  { looksAt: [['store']], run: checkStore },
  { looksAt: [['accounts'], ['login', 'consumer']], run: checkAccounts },
  { looksAt: [['accounts'], ['login', 'consumer'], ['permissions']], run: checkRightsQueries },
  {
    looksAt: [['gate'], ['profile'], ['api_versions'], ['login'], ['session_administration'], ['console']],
    run: checkExceptions,
  },
  { looksAt: [['jwt']], run: checkSigningKey },
  {
    looksAt: [['internal', 'secret']],
    run: checkSecret(({ internal }) => internal.secret, ['internal', 'secret'], faultOfSecret),
  },
  {
    looksAt: [['login', 'sm2']],
    run: checkSecret(({ login }) => login.sm2.private_key, ['login', 'sm2', 'private_key'], faultOfSm2PrivateKey),
  },
]

/** Checks what a schema cannot say: values that do not fit each other, or do not exist in the world. */
export function checkSettings(settings: Decoded, written: Written): void {
  for (const { looksAt, run } of CHECKS) {
    if (looksAt.some(path => written.isFaulty(path))) continue
    run(settings, written.report.bind(written), written.warn.bind(written))
  }
}

function checkPorts({ listen, internal }: Decoded, report: Report): void {
  if (internal.socket === undefined && listen.port !== 0 && listen.port === internal.port) {
    report(['internal', 'port'], 'is the public port too; give the internal listener another one')
  }
}

function checkCertificate({ listen }: Decoded, report: Report): void {
  if (listen.tls === undefined) return
  const files = listen.tls
  reportFaults(() => readCertificate(files), ['listen', 'tls'], report)
}

/** Reports at `path` what reading files finds wrong with them. */
function reportFaults(read: () => unknown, path: KeyPath, report: Report): void {
  try {
    read()
  } catch (fault) {
    if (!(fault instanceof ConfigurationError)) throw fault
    for (const { place, message } of fault.faults) report(path, `${place} ${message}`)
  }
}

function checkTimezone({ timezone }: Decoded, report: Report): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone })
  } catch {
    report(['timezone'], 'is no time zone; use a name of the IANA list such as UTC or Asia/Shanghai')
  }
}

function checkTrustedProxies({ trusted_proxies }: Decoded, report: Report): void {
  for (const [index, range] of trusted_proxies.entries()) {
    if (!isAddressRange(range)) {
      report(
        ['trusted_proxies', index],
        'must be an address or a CIDR range such as 10.0.0.0/8; a count of proxies trusts nobody',
      )
    }
  }
}

function isAddressRange(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  const version = isIP(address)
  if (version === 0 || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}

function checkStore({ store }: Decoded, report: Report): void {
  const { kind, redis } = store
  if (kind !== 'redis') return
  const ways = (['url', 'sentinels', 'cluster'] as const).filter(way => redis?.[way] !== undefined)
  if (redis === undefined || ways.length === 0) {
    report(
      ['store', 'redis'],
      'names no Redis; set store.redis.url (STORE__REDIS__URL), or sentinels with name, or cluster',
    )
    return
  }
  if (ways.length > 1) report(['store', 'redis'], `has ${ways.join(' and ')}; keep one way to reach Redis`)
  if (redis.sentinels !== undefined && redis.name === undefined) {
    report(['store', 'redis', 'sentinels'], 'need store.redis.name, the name of the master that they watch')
  }
  if (redis.name !== undefined && redis.sentinels === undefined) {
    report(
      ['store', 'redis', 'name'],
      'is the name of a master that Sentinels watch; add store.redis.sentinels or remove it',
    )
  }
  checkWait(store, report)
  for (const key of ['username', 'password', 'tls'] as const) {
    if (redis.url === undefined || redis[key] === undefined) continue
    report(['store', 'redis', key], 'has no effect beside url; write it in the URL: rediss://user:password@host:port')
  }
}

function checkWait({ timeout, redis }: Decoded['store'], report: Report): void {
  const wait = redis?.wait ?? 'off'
  if (wait === 'off') return
  if (redis?.cluster !== undefined) {
    report(['store', 'redis', 'wait'], 'is for one server and for Sentinel; a Cluster cannot tell, remove it')
  }
  if (wait.timeout >= timeout) {
    report(['store', 'redis', 'wait', 'timeout'], 'must be shorter than store.timeout')
  }
}

function checkAccounts({ accounts, login }: Decoded, report: Report): void {
  const { consumer } = login
  if (consumer === 'off') return
  if (consumer.kind === 'file' && accounts.kind === 'file' && consumer.path === accounts.path) {
    report(
      ['login', 'consumer', 'path'],
      'is the file of the B-side accounts; the sides are isolated, give each a file of its own',
    )
  }
  if (
    consumer.kind === 'sql' &&
    accounts.kind === 'sql' &&
    consumer.url === accounts.url &&
    consumer.query === accounts.query
  ) {
    report(
      ['login', 'consumer', 'query'],
      'finds the B-side accounts; the sides are isolated, give each a table of its own',
    )
  }
  if (consumer.kind === 'http' && accounts.kind === 'http' && consumer.url === accounts.url) {
    report(
      ['login', 'consumer', 'url'],
      'answers the B-side accounts; the sides are isolated, give each a URL of its own',
    )
  }
}

/** Rights by login id have to be asked for in words of their own. */
function checkRightsQueries({ accounts, login, permissions }: Decoded, report: Report): void {
  if (typeof permissions === 'string' || permissions.source !== 'accounts') return
  const places = [
    { section: accounts, path: ['accounts'] },
    { section: login.consumer, path: ['login', 'consumer'] },
  ]
  for (const { section, path } of places) {
    if (section === 'off' || section.kind !== 'sql' || section.rights_query !== undefined) continue
    report(
      [...path, 'rights_query'],
      'is missing; permissions.source: accounts needs it: SELECT id, status, roles, permissions FROM … WHERE id = :id',
    )
  }
}

/** A secret that can be guessed is refused, unless the operator has written that it is meant. */
function checkSigningKey({ jwt }: Decoded, report: Report, warn: Warn): void {
  const { secret_key, accept_weak_secret } = jwt
  if (secret_key === undefined) return
  const path = ['jwt', 'secret_key']
  const form = faultOfForm(secret_key)
  if (form !== null) report(path, form)
  const weakness = weaknessOfSigningKey(secret_key)
  if (weakness === null) return
  if (accept_weak_secret === undefined) report(path, `${weakness}; for a move, see jwt.accept_weak_secret`)
  else warn(path, `${weakness}: whoever guesses it makes tokens; jwt.accept_weak_secret lets the gateway start with it`)
}

function checkSecret(
  get: (settings: Decoded) => string | undefined,
  path: KeyPath,
  faultOf: (secret: string) => string | null,
) {
  return (settings: Decoded, report: Report): void => {
    const secret = get(settings)
    const fault = secret === undefined ? null : faultOf(secret)
    if (fault !== null) report(path, fault)
  }
}

/** The checks of a list of upstreams, which is written at `base`. */
export function checkUpstreams(upstreams: readonly UpstreamSettings[], written: Written, base: KeyPath): void {
  const report: Report = (path, message) => written.report([...base, ...path], message)
  const seen = { name: new Map<string, number>(), match: new Map<string, number>() }
  for (const [index, upstream] of upstreams.entries()) {
    if (written.isFaulty([...base, index])) continue
    for (const key of ['name', 'match'] as const) {
      const first = seen[key].get(upstream[key])
      if (first === undefined) seen[key].set(upstream[key], index)
      else report([index, key], `is that of upstream ${first + 1} in the list too; each needs its own`)
    }
    if ((upstream.target === undefined) === (upstream.targets === undefined)) {
      report([index], 'needs either target or targets')
    }
    for (const key of ['match', 'rewrite'] as const) {
      const path = upstream[key]
      if (path !== undefined && !isPath(path))
        report([index, key], 'is a path that no request can have: write it without escapes, query, // and dot segments')
    }
    if (upstream.target === 'builtin:echo' && upstream.websocket !== 'off') {
      report([index, 'websocket'], 'has no effect, for builtin:echo opens none; name a server as target, or remove it')
    }
    checkTargets(upstream, [index], report)
    checkUpstreamTls(upstream, [index, 'tls'], report)
  }
}

function checkTargets({ target, targets = [] }: UpstreamSettings, path: KeyPath, report: Report): void {
  const written: [url: string, path: KeyPath][] = targets.map((url, index) => [url, [...path, 'targets', index]])
  if (target !== undefined) written.push([target, [...path, 'target']])
  for (const [url, place] of written) {
    if (!URL.canParse(url)) report(place, 'is no address; write scheme, host and port: http://10.0.0.5:3000')
  }
}

function checkUpstreamTls({ target, targets = [], tls }: UpstreamSettings, path: KeyPath, report: Report): void {
  if (tls === undefined) return
  if (![target, ...targets].some(url => url?.startsWith('https://'))) {
    report(path, 'has no effect, for no target begins with https://; remove it, or write the targets so')
  }
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    report(path, 'has one of cert and key; the gateway proves itself with both, or with neither')
  } else {
    reportFaults(() => readUpstreamTls(tls), path, report)
  }
}

function isPath(text: string): boolean {
  try {
    return readTarget(text).query === '' && !text.includes('%')
  } catch {
    return false
  }
}

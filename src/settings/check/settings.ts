import { readPublishedKey, readSigningKey } from '../identity-key.ts'
import type { KeyPath, Report, Written } from '../notation/written.ts'
import type { DecodedSettings } from '../schema/settings.ts'
import {
  faultOfForm,
  faultOfInternalSecret,
  faultOfSealingKey,
  faultOfSm2PrivateKey,
  weaknessOfSigningKey,
} from '../secrets.ts'
import { readCertificate } from '../tls.ts'
import { checkAccess } from './access.ts'
import {
  checkAccountAdministration,
  checkAccounts,
  checkDatabases,
  checkRequiredFactors,
  checkRightsQueries,
} from './account-sources.ts'
import { isAddressRange } from './address-range.ts'
import { checkBrowser } from './browser.ts'
import { checkDirectories } from './directories.ts'
import { checkExceptions } from './exceptions.ts'
import { reportFaults } from './files.ts'
import { isDecided } from './identity-headers.ts'
import { checkKeys } from './keys.ts'
import { checkForeignPages } from './origins.ts'
import { checkPages } from './pages.ts'
import { checkProviders } from './providers.ts'
import { faultOfSocket } from './socket-path.ts'
import { checkStore } from './store.ts'

interface Check {
  /** What the check looks at; it is left out when something there is faulty already. */
  looksAt: KeyPath[]
  /** Lists whose entries it checks each for itself, as far as they are not faulty already. */
  lists?: KeyPath[]
  run(settings: DecodedSettings, report: Report, warn: Report, isFaulty: (path: KeyPath) => boolean): void
}

/** A worker of an old configuration keeps its memory for so long, in milliseconds. */
const LONGEST_DRAIN = 3_600_000

const CHECKS: readonly Check[] = [
  { looksAt: [['listen'], ['internal']], run: checkPorts },
  { looksAt: [['listen', 'tls']], run: checkCertificate },
  { looksAt: [['jwt', 'token_name']], run: checkTokenName },
  { looksAt: [['drain']], run: checkDrain },
  { looksAt: [['timezone']], run: checkTimezone },
  { looksAt: [], lists: [['trusted_proxies']], run: checkTrustedProxies },
  { looksAt: [['store']], run: checkStore },
  { looksAt: [['browser', 'origins'], ['cors']], run: checkForeignPages },
  { looksAt: [['accounts'], ['login', 'consumer']], run: checkAccounts },
  { looksAt: [['accounts'], ['login', 'consumer']], run: checkDatabases },
  { looksAt: [['accounts'], ['login', 'consumer']], run: checkDirectories },
  { looksAt: [['accounts'], ['login', 'consumer'], ['permissions']], run: checkRightsQueries },
  { looksAt: [['accounts'], ['login', 'consumer']], run: checkAccountAdministration },
  {
    looksAt: [
      ['profile'],
      ['api_versions'],
      ['login', 'consumer'],
      ['login', 'logout_routes'],
      ['login', 'second_factor'],
      ['accounts'],
      ['session_administration'],
      ['account_administration'],
      ['own_sessions'],
      ['keys'],
      ['journal'],
      ['console'],
      ['browser'],
      ['login', 'providers'],
    ],
    lists: [['gate', 'exceptions']],
    run: checkExceptions,
  },
  { looksAt: [], lists: [['gate', 'pages']], run: checkPages },
  {
    looksAt: [
      ['profile'],
      ['session_administration'],
      ['console'],
      ['browser'],
      ['gate', 'pages'],
      ['login', 'providers'],
    ],
    lists: [['access']],
    run: checkAccess,
  },
  {
    looksAt: [['browser'], ['cors'], ['accounts'], ['login', 'consumer'], ['login', 'providers'], ['console']],
    run: checkBrowser,
  },
  {
    looksAt: [
      ['accounts'],
      ['permissions'],
      ['browser'],
      ['login', 'consumer'],
      ['login', 'password'],
      ['login', 'second_factor'],
    ],
    lists: [['login', 'providers']],
    run: checkProviders,
  },
  { looksAt: [['keys'], ['login', 'consumer']], run: checkKeys },
  { looksAt: [['identity']], run: checkIdentityKeys },
  { looksAt: [['jwt']], run: checkSigningKey },
  {
    looksAt: [['internal', 'secret']],
    run: checkSecret(({ internal }) => internal.secret, ['internal', 'secret'], faultOfInternalSecret),
  },
  {
    looksAt: [['login', 'sm2']],
    run: checkSecret(({ login }) => login.sm2.private_key, ['login', 'sm2', 'private_key'], faultOfSm2PrivateKey),
  },
  { looksAt: [['accounts'], ['login']], run: checkRequiredFactors },
  {
    looksAt: [['login', 'second_factor']],
    run: checkSecret(({ login }) => login.second_factor.key, ['login', 'second_factor', 'key'], faultOfSealingKey),
  },
]

/** Checks what a schema cannot say: values that do not fit each other, or do not exist in the world. */
export function checkSettings(settings: DecodedSettings, written: Written): void {
  for (const { looksAt, lists = [], run } of CHECKS) {
    if (looksAt.some(path => written.isFaulty(path)) || lists.some(path => written.isUnread(path))) continue
    run(settings, written.report.bind(written), written.warn.bind(written), written.isFaulty.bind(written))
  }
}

function checkPorts({ listen, internal }: DecodedSettings, report: Report): void {
  const fault = internal.socket === undefined ? null : faultOfSocket(internal.socket)
  if (fault !== null) report(['internal', 'socket'], fault)
  if (internal.socket === undefined && listen.port !== 0 && listen.port === internal.port) {
    report(['internal', 'port'], 'is also the public port; give the internal listener another one')
  }
}

function checkCertificate({ listen }: DecodedSettings, report: Report): void {
  if (listen.tls === undefined) return
  const files = listen.tls
  reportFaults(() => readCertificate(files), ['listen', 'tls'], report)
}

function checkIdentityKeys({ identity }: DecodedSettings, report: Report): void {
  const { key_file, previous_key_file } = identity
  if (key_file !== undefined) reportFaults(() => readSigningKey(key_file), ['identity', 'key_file'], report)
  if (previous_key_file === undefined) return
  const path = ['identity', 'previous_key_file']
  reportFaults(() => readPublishedKey(previous_key_file), path, report)
  if (previous_key_file === key_file) report(path, 'is the file of identity.key_file; name another key, or remove it')
}

/** Any other header may be chosen: what a proxy or a client does with it is not known here. */
function checkTokenName({ jwt: { token_name: name } }: DecodedSettings, report: Report): void {
  if (isDecided(name) && name.toLowerCase() !== 'authorization')
    report(
      ['jwt', 'token_name'],
      'cannot carry the token: the gateway or the request decides this header; write X-Token',
    )
}

function checkDrain({ drain }: DecodedSettings, report: Report): void {
  for (const key of ['requests', 'websockets'] as const) {
    if (drain[key] > LONGEST_DRAIN) report(['drain', key], 'is too long; use 1h or less')
  }
}

/** The first format of a process takes some 15 ms, the list of zones 2; but the list lacks UTC, older names and offsets. */
function checkTimezone({ timezone }: DecodedSettings, report: Report): void {
  if (timezone === 'UTC' || Intl.supportedValuesOf('timeZone').includes(timezone)) return
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone })
  } catch {
    report(['timezone'], 'is not a time zone; use a name of the IANA list such as UTC or Asia/Shanghai')
  }
}

function checkTrustedProxies(...[{ trusted_proxies }, report, , isFaulty]: Parameters<Check['run']>): void {
  for (const [index, range] of trusted_proxies.entries()) {
    if (!isFaulty(['trusted_proxies', index]) && !isAddressRange(range)) {
      report(
        ['trusted_proxies', index],
        'must be an address or a CIDR range such as 10.0.0.0/8; a number of proxies is not supported',
      )
    }
  }
}

/** A secret that can be guessed is refused, unless the operator has accepted it in writing. */
function checkSigningKey({ jwt }: DecodedSettings, report: Report, warn: Report): void {
  const { secret_key, accept_weak_secret } = jwt
  if (secret_key === undefined) return
  const path = ['jwt', 'secret_key']
  const form = faultOfForm(secret_key)
  if (form !== null) report(path, form)
  const weakness = weaknessOfSigningKey(secret_key)
  if (weakness === null) return
  if (accept_weak_secret === undefined) report(path, `${weakness}; for a move, see jwt.accept_weak_secret`)
  else
    warn(
      path,
      `${weakness}: an attacker who guesses it can make tokens; the gateway starts because of jwt.accept_weak_secret`,
    )
}

function checkSecret(
  get: (settings: DecodedSettings) => string | undefined,
  path: KeyPath,
  faultOf: (secret: string) => string | null,
) {
  return (settings: DecodedSettings, report: Report): void => {
    const secret = get(settings)
    const fault = secret === undefined ? null : faultOf(secret)
    if (fault !== null) report(path, fault)
  }
}

import { dirname, join, resolve } from 'node:path'
import { type Clock, systemClock } from '../base/clock.ts'
import { placeFaultText } from '../base/place-fault.ts'
import { checkSettings } from './check/settings.ts'
import { warnOfUnknownRoles } from './check/unwise/roles.ts'
import { warnOfEmptySecrets } from './check/unwise/secrets.ts'
import { warnOfUnwise } from './check/unwise/unwise.ts'
import { ConfigurationError, type Fault } from './notation/fault.ts'
import { read } from './notation/read.ts'
import { emptySection, isSection, textOf, type Warning, Written } from './notation/written.ts'
import { labelOf, readYamlFile } from './notation/yaml.ts'
import { readPem, recordPem } from './pem.ts'
import { PROFILES } from './profile.ts'
import { type DecodedSettings, type Settings, SettingsSchema } from './schema/settings.ts'
import { IDENTITY_KEY, keepSecret, SECRETS, type SecretKind } from './secrets.ts'
import { signsAssertions } from './served.ts'
import { BUILT_IN, readBuiltIn } from './source/built-in.ts'
import { overlay, readVariables, type Variables } from './source/environment.ts'
import { expandPermissions, readPermissions } from './source/permissions-file.ts'
import { readUpstreams } from './source/upstreams.ts'
import { ownCertificate, readCertificate, readClientCertificates, warningsOfEnd } from './tls.ts'
import { warningsOfUnwritable } from './unwritable.ts'

export { ConfigurationError, type Fault } from './notation/fault.ts'
export { BUILT_IN } from './source/built-in.ts'

/** A configuration file, or none: then the environment alone, or what is built in. */
export type ConfigurationFile = string | typeof BUILT_IN | undefined

/** A configuration without faults, before secrets are generated. */
export interface Configuration {
  settings: Omit<DecodedSettings, 'permissions' | 'upstreams'> & Pick<Settings, 'permissions' | 'upstreams'>
  /** Where each secret comes from: the place where it is written, or the file in the data folder. */
  secrets: { key: string; from: string; isSet: boolean }[]
  /** What is not wrong enough to refuse a start. */
  warnings: readonly Warning[]
}

/**
 * The settings of a gateway: the file, the variables of the environment and of `.env` over it, the defaults below it,
 * and the secrets, which are generated into the data folder if they are not set. Throws `ConfigurationError` with every
 * fault there is. `accept` receives the configuration before anything is generated, and may throw.
 */
export function loadSettings(
  file: ConfigurationFile,
  environment: NodeJS.ProcessEnv,
  cwd: string,
  accept: (configuration: Configuration) => void = () => undefined,
): Settings {
  const { result: settings, files: pem } = recordPem(() =>
    withSecrets(readConfiguration(file, environment, cwd), accept),
  )
  return { ...settings, pem }
}

function withSecrets(
  configuration: Configuration,
  accept: (configuration: Configuration) => void,
): Omit<Settings, 'pem'> {
  accept(configuration)
  const { settings, warnings } = configuration
  const { jwt, login, internal, identity, data } = settings
  return {
    ...settings,
    jwt: { ...jwt, secret_key: jwt.secret_key ?? keep(SECRETS.jwt, data) },
    login: { ...login, sm2: { private_key: login.sm2.private_key ?? keep(SECRETS.sm2, data) } },
    internal: { ...internal, secret: internal.secret ?? keep(SECRETS.internal, data) },
    identity: { ...identity, ...(signsAssertions(settings) && { key_file: identity.key_file ?? keepKeyFile(data) }) },
    warnings: shownWithoutSecret(warnings),
  }
}

/** Warnings for `/readyz`, which needs no secret: by setting, without places, and without those about a secret. */
function shownWithoutSecret(warnings: readonly Warning[]): string[] {
  const isOfSecret = ({ path }: Warning): boolean => Object.values(SECRETS).some(({ key }) => key === textOf(path))
  const shown = warnings.flatMap(warning =>
    warning.path.length === 0 || isOfSecret(warning) ? [] : [`${textOf(warning.path)} ${warning.message}`],
  )
  if (warnings.some(isOfSecret)) shown.push('a secret is unsafe; `dualgate check` names it')
  return shown
}

/**
 * Reads and checks a configuration, and changes nothing. Throws `ConfigurationError` with every fault there is; what only
 * looks at the configuration can do without secrets that a start would need.
 */
export function readConfiguration(
  file: ConfigurationFile,
  environment: NodeJS.ProcessEnv,
  cwd: string,
  { secretsNeeded = true, clock = systemClock }: { secretsNeeded?: boolean; clock?: Clock } = {},
): Configuration {
  const variables = readVariables(environment, cwd)
  const written = readFile(file, variables, cwd)
  const jwtInFile = placeOfJwt(written)
  expandPermissions(written)
  overlay(SettingsSchema, written, variables)
  const ignored = [...written.warnings]
  const decoded = (written.legible ? read(SettingsSchema, written, cwd) : {}) as DecodedSettings
  if (!written.legible) throw new ConfigurationError(written.faults, ignored)

  const isProduction = variables.get('NODE_ENV')?.text === 'production'
  checkSettings(decoded, written)
  warnOfUnwise(decoded, written, isProduction)
  warnOfEmptySecrets(written, variables.empty)
  const faults: Fault[] = []
  if (jwtInFile !== null && decoded.profile !== undefined && !PROFILES[decoded.profile].jwtSettingsInFile) {
    faults.push({ place: jwtInFile, message: NO_JWT_IN_FILE })
  }
  const { upstreams, ...inFile } = readUpstreams(decoded, written, typeof file === 'string', cwd, isProduction)
  const { permissions, faults: permissionFaults } = readPermissions(decoded, written, cwd)
  warnOfUnknownRoles(decoded, permissions.roles, written)
  const isSound = inFile.faults.length === 0 && !written.isFaulty(['upstreams'])
  const kinds = [...Object.values(SECRETS), ...(isSound && signsAssertions({ upstreams }) ? [IDENTITY_KEY] : [])]
  const secrets = kinds.map(kind => originOf(kind, written, decoded.data, cwd))
  if (secretsNeeded && isProduction) {
    faults.push(...secrets.flatMap(({ missing }) => missing))
  }
  const all = [...written.faults, ...faults, ...inFile.faults, ...permissionFaults]
  if (all.length > 0) throw new ConfigurationError(all, ignored)
  return {
    settings: { ...decoded, permissions, upstreams },
    secrets: secrets.map(({ key, from, missing }) => ({ key, from, isSet: missing.length === 0 })),
    warnings: [
      ...written.warnings,
      ...inFile.warnings,
      ...warningsOfCertificates({ ...decoded, upstreams }, clock),
      ...warningsOfUnwritable(decoded),
    ],
  }
}

/** Without a path: while it runs, the gateway itself compares the dates of the certificates in use. */
function warningsOfCertificates(
  { listen: { tls }, upstreams }: Pick<Configuration['settings'], 'listen' | 'upstreams'>,
  clock: Clock,
): Warning[] {
  const own = ownCertificate(tls, tls === undefined ? null : readCertificate(tls))
  const warnings = warningsOfEnd([...own, ...readClientCertificates(upstreams)], clock.now())
  return warnings.map(warning => ({ ...warning, path: [] }))
}

const NO_SUCH_FILE = 'no such file; name the configuration file with --config, or write one with `dualgate init`'

const NO_JWT_IN_FILE =
  'Profile 1 takes the JWT settings from the environment: set JWT__SECRET_KEY, JWT__EXPIRE_SECONDS, JWT__TOKEN_NAME and ' +
  'JWT__ALGORITHM there or in .env, and remove this section (or choose profile: 2)'

function readFile(file: ConfigurationFile, variables: Variables, cwd: string): Written {
  if (file === BUILT_IN) return readBuiltIn(variables, cwd)
  if (file === undefined) return new Written(emptySection(), { label: 'configuration', folder: cwd })
  const path = resolve(cwd, file)
  const written = readYamlFile(path, cwd)
  if (written !== null) return written
  const missing = new Written(emptySection(), { label: labelOf(path, cwd), folder: dirname(path) })
  missing.legible = false
  missing.report([], NO_SUCH_FILE)
  return missing
}

/** Where a `jwt` section that says something stands in the file. */
function placeOfJwt(written: Written): string | null {
  const section = written.get(['jwt'])
  const isEmpty = section === undefined || section === null || (isSection(section) && Object.keys(section).length === 0)
  return isEmpty ? null : `${written.placeOf(['jwt']).label} jwt`
}

interface SecretOrigin {
  key: string
  from: string
  /** What to say when the secret must not be generated. */
  missing: Fault[]
}

function originOf(kind: SecretKind, written: Written, data: string | undefined, cwd: string): SecretOrigin {
  const { key, variable, file, value: meant } = kind
  const path = key.split('.')
  const value = written.get(path)
  if (value !== undefined && value !== null) return { key, from: written.placeOf(path).label, missing: [] }
  const message = `is not set, and with NODE_ENV=production none is generated; set it to ${meant}`
  const from = data === undefined ? file : labelOf(join(data, file), cwd)
  return { key, from, missing: [{ place: `environment ${variable}`, message }] }
}

/** The file with the key of assertions, in the data folder. */
function keepKeyFile(folder: string): string {
  keep(IDENTITY_KEY, folder)
  const file = join(folder, IDENTITY_KEY.file)
  readPem(file, IDENTITY_KEY.key)
  return file
}

function keep(kind: SecretKind, folder: string): string {
  try {
    return keepSecret(kind, folder)
  } catch (error) {
    const place = join(folder, kind.file)
    throw new ConfigurationError([
      { place, message: `${placeFaultText(error) ?? (error as Error).message}; or set ${kind.variable}` },
    ])
  }
}

import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { readEnvText, splitEnv } from '../../settings/notation/env-file.ts'
import { ConfigurationError } from '../../settings/notation/fault.ts'
import { NOT_UTF8 } from '../../settings/notation/utf8.ts'
import { isSection, variableOf } from '../../settings/notation/written.ts'
import { readYamlFile } from '../../settings/notation/yaml.ts'
import { SettingsSchema } from '../../settings/schema/settings.ts'
import { CommandError } from '../terminal.ts'
import { type Database, databaseOf } from './database.ts'

/** A setting of the other service: the name of its variable, and its value. */
interface Named {
  name: string
  value: string
}

/** The settings of a compatible service from its own file. Its secrets are compared and copied, but never shown. */
export interface Service {
  /** The JWT settings of profile 1 come from the environment, those of profile 2 from the configuration file. */
  profile: 1 | 2
  redisUrl?: string
  timezone?: string
  secret?: Named
  sm2?: Named
  /** Its other JWT settings, by the gateway's variables. */
  jwt: Record<string, string>
  database?: Database
  /** Where it listens. */
  host: string
  port?: number
}

type Variables = Readonly<Record<string, string>>

/** Reads a `.env` or a YAML file; keys of YAML are converted to the names of variables. */
export function readService(file: string, cwd: string): Service {
  const path = resolve(cwd, file)
  const isYaml = /\.ya?ml$/.test(path)
  const variables = isYaml ? yamlVariables(path, cwd) : envVariables(path)
  const find = (pattern: RegExp): Named | undefined => {
    const found = Object.entries(variables).find(([name, value]) => pattern.test(name) && value !== '')
    return found === undefined ? undefined : { name: found[0], value: found[1] }
  }
  const redisUrl = find(/^(?:[A-Z]+__?)*REDIS(?:__?[A-Z]+)*__?URL$/i)?.value ?? urlOfParts(variables)
  const timezone = find(/(?:^|_)TIME_?ZONE$/i)?.value
  const secret = find(/^(?:[A-Z]+__?)*JWT(?:__?[A-Z]+)*__?SECRET(?:_KEY)?$/i)
  const sm2 = find(/SM2.*PRIVATE/i)
  const database = databaseOf(variables)
  const port = Number(find(/^(?:APP|SERVER)__?PORT$/i)?.value)
  const host = find(/^(?:APP|SERVER)__?HOST$/i)?.value ?? '127.0.0.1'
  return {
    profile: isYaml ? 2 : 1,
    jwt: jwtOf(find),
    host: /^(0\.0\.0\.0|::|localhost)$/.test(host) ? '127.0.0.1' : host,
    ...(Number.isInteger(port) && port > 0 && port < 65_536 && { port }),
    ...(redisUrl !== undefined && { redisUrl }),
    ...(timezone !== undefined && { timezone }),
    ...(secret !== undefined && { secret }),
    ...(sm2 !== undefined && { sm2 }),
    ...(database !== null && { database }),
  }
}

/** The valid ones of the other JWT settings, as far as they are not the gateway's defaults. */
function jwtOf(find: (pattern: RegExp) => Named | undefined): Record<string, string> {
  const settings: readonly (readonly [variable: string, form: RegExp, fallback: string])[] = [
    ['EXPIRE_SECONDS', /^[1-9]\d{0,8}$/, '2592000'],
    ['TOKEN_NAME', new RegExp(SettingsSchema.properties.jwt.properties.token_name.pattern), 'Authorization'],
    ['ALGORITHM', /^HS(256|384|512)$/, 'HS256'],
  ]
  return Object.fromEntries(
    settings.flatMap(([variable, form, fallback]) => {
      const value = find(new RegExp(`^(?:JWT|TOKEN)__?${variable}$`, 'i'))?.value
      return value === undefined || value === fallback || !form.test(value) ? [] : [[`JWT__${variable}`, value]]
    }),
  )
}

function envVariables(path: string): Variables {
  let text: string | null
  try {
    text = readEnvText(path)
  } catch (fault) {
    throw new CommandError(`${path} cannot be read (${(fault as NodeJS.ErrnoException).code})`)
  }
  if (text === null) throw new CommandError(`${path} ${NOT_UTF8}`)
  return parseEnv(withHashes(splitEnv(text).assigned)) as Record<string, string>
}

/**
 * Node ends a value at any `#`; the libraries of these services, at one behind a blank. So a password with a `#` in it is
 * put in quotes.
 */
const withHashes = (text: string): string =>
  text.replace(/^([\w \t]+=[ \t]*)([^\s'"`#]\S*#\S*)/gm, (line, name: string, value: string) =>
    value.includes("'") ? line : `${name}'${value}'`,
  )

function yamlVariables(path: string, cwd: string): Variables {
  const written = readYamlFile(path, cwd)
  if (written === null) throw new CommandError(`${path} cannot be read (ENOENT)`)
  if (!written.legible) throw new ConfigurationError(written.faults)
  const variables: Record<string, string> = {}
  const flatten = (value: unknown, names: string[]): void => {
    if (isSection(value)) for (const [name, inner] of Object.entries(value)) flatten(inner, [...names, name])
    else if (['string', 'number', 'boolean'].includes(typeof value)) variables[variableOf(names)] = String(value)
  }
  flatten(written.value, [])
  return variables
}

/** An address from its parts: REDIS__HOST, _PORT, _USERNAME, _PASSWORD and _DATABASE or _DB. */
function urlOfParts(variables: Variables): string | undefined {
  const part = (name: string): string =>
    Object.entries(variables).find(([key]) => new RegExp(`^REDIS__?${name}$`, 'i').test(key))?.[1] ?? ''
  if (part('HOST') === '') return undefined
  const user =
    part('PASSWORD') === '' ? '' : `${encodeURIComponent(part('USERNAME'))}:${encodeURIComponent(part('PASSWORD'))}@`
  return `redis://${user}${part('HOST')}:${part('PORT') || 6379}/${part('DATABASE') || part('DB') || 0}`
}

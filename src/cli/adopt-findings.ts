import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { faultOfForm, weaknessOfSigningKey } from '../config/secrets.ts'
import { LOGIN_TYPES } from '../session.ts'
import type { Survey, SurveyedSide } from '../store/redis/survey.ts'
import { isSection } from '../yaml/written.ts'
import { readYamlFile } from '../yaml/yaml.ts'
import { CommandError } from './terminal.ts'

/** The settings of the other service from its own file. Its secrets are compared, but never shown. */
export interface Other {
  redisUrl?: string
  timezone?: string
  secret?: { name: string; value: string }
  /** The name of the variable that holds an SM2 private key. */
  sm2Name?: string
}

/** Reads a `.env` or a YAML file; keys of YAML are converted to the names of variables. */
export function readOther(file: string, cwd: string): Other {
  const path = resolve(cwd, file)
  const variables = /\.ya?ml$/.test(path) ? yamlVariables(path, cwd) : envVariables(path)
  const find = (pattern: RegExp): [string, string] | undefined =>
    Object.entries(variables).find(([name, value]) => pattern.test(name) && value !== '')
  const other: Other = {}
  const redisUrl = find(/^(?:[A-Z]+__?)*REDIS(?:__?[A-Z]+)*__?URL$/i)?.[1] ?? urlOfParts(variables)
  const timezone = find(/(?:^|_)TIME_?ZONE$/i)?.[1]
  const secret = find(/^(?:[A-Z]+__?)*JWT(?:__?[A-Z]+)*__?SECRET(?:_KEY)?$/i)
  const sm2 = find(/SM2.*PRIVATE/i)
  if (redisUrl !== undefined) other.redisUrl = redisUrl
  if (timezone !== undefined) other.timezone = timezone
  if (secret !== undefined) other.secret = { name: secret[0], value: secret[1] }
  if (sm2 !== undefined) other.sm2Name = sm2[0]
  return other
}

function envVariables(path: string): Record<string, string> {
  try {
    return parseEnv(readFileSync(path, 'utf8')) as Record<string, string>
  } catch (fault) {
    throw new CommandError(`${path} cannot be read (${(fault as NodeJS.ErrnoException).code})`)
  }
}

function yamlVariables(path: string, cwd: string): Record<string, string> {
  const written = readYamlFile(path, cwd)
  if (written === null) throw new CommandError(`${path} cannot be read (ENOENT)`)
  if (!written.legible) throw new CommandError(`${path} is not valid YAML`)
  const variables: Record<string, string> = {}
  const flatten = (value: unknown, names: string[]): void => {
    if (isSection(value)) for (const [name, inner] of Object.entries(value)) flatten(inner, [...names, name])
    else if (['string', 'number', 'boolean'].includes(typeof value))
      variables[names.join('__').toUpperCase()] = String(value)
  }
  flatten(written.value, [])
  return variables
}

/** An address from its parts: REDIS__HOST, _PORT, _PASSWORD and _DATABASE or _DB. */
function urlOfParts(variables: Record<string, string>): string | undefined {
  const part = (name: string): string =>
    Object.entries(variables).find(([key]) => new RegExp(`^REDIS__?${name}$`, 'i').test(key))?.[1] ?? ''
  if (part('HOST') === '') return undefined
  const user =
    part('PASSWORD') === '' ? '' : `${encodeURIComponent(part('USERNAME'))}:${encodeURIComponent(part('PASSWORD'))}@`
  return `redis://${user}${part('HOST')}:${part('PORT') || 6379}/${part('DATABASE') || part('DB') || 0}`
}

/** The findings, line by line, without secrets and tokens. */
export function findingsOf(survey: Survey, other: Other | null, url: string): string[] {
  const { hostname, port, pathname } = new URL(url)
  const lines = [
    `Redis ${hostname}:${port || 6379}, database ${pathname.slice(1) || 0}: ${survey.keys} keys${survey.complete ? '' : ' and more'}`,
  ]
  if (survey.families.size === 0) lines.push('  no sessions of this family; is it the right database number?')
  for (const [prefix, family] of survey.families) {
    lines.push(`prefix ${prefix}`)
    for (const type of LOGIN_TYPES) {
      const { tokens, users, disabled } = family[type]
      lines.push(`  ${type}  ${tokens} tokens of ${users} users, ${disabled} disabled`)
      lines.push(...formsOf(family[type]).map(line => `            ${line}`))
    }
    lines.push(
      ...secretLines(
        LOGIN_TYPES.flatMap(type => family[type].samples),
        other,
      ).map(line => `  ${line}`),
    )
  }
  for (const prefix of survey.captchaPrefixes)
    lines.push(`captchas ${prefix === '' ? '' : `${prefix}:`}<TYPE>:captcha:<id>`)
  if (survey.captchaPrefixes.size === 0) lines.push('captchas none at present: request one there, and run this again')
  if (other?.sm2Name !== undefined)
    lines.push(`SM2 key in ${other.sm2Name}: set LOGIN__SM2__PRIVATE_KEY to the same, as 64 hex digits`)
  return lines
}

/** The time format and the fields of `extra` in the records of a side, without digits and values. */
function formsOf({ samples }: SurveyedSide): string[] {
  const forms = new Map<string, number>()
  const names = new Set<string>()
  for (const { text } of samples) {
    const record = parsed(text)
    const created = typeof record.created_at === 'string' ? record.created_at.slice(0, 40) : 'absent'
    const form = created.replace(/^[^+Z]*/, digits => digits.replace(/\d/g, '0'))
    forms.set(form, (forms.get(form) ?? 0) + 1)
    if (isSection(record.extra)) for (const name of Object.keys(record.extra)) names.add(name)
  }
  const lines = Array.from(
    forms,
    ([form, count]) => `created_at like ${form} (${count} of ${samples.length} records read)`,
  )
  if ([...forms.keys()].some(form => /^[\d :T.-]+$/.test(form)))
    lines.push('a created_at without an offset is read in `timezone`: it must be the zone of that service')
  if (names.size > 0) lines.push(`extra names ${[...names].slice(0, 20).join(', ')}`)
  if (samples.length > 0 && !names.has('roles')) lines.push('no roles in the records: permissions.source: accounts')
  return lines
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return isSection(value) ? value : {}
  } catch {
    return {}
  }
}

function secretLines(samples: readonly { token: string }[], other: Other | null): string[] {
  if (other?.secret === undefined) return ['secret    not known: name the .env or YAML file of the service']
  const { name, value } = other.secret
  const fitting = samples.filter(({ token }) => signedBy(token, value)).length
  const lines = [`secret    ${name} fits ${fitting} of ${samples.length} tokens read`]
  const fault = faultOfForm(value)
  if (fault !== null) lines.push(`          it ${fault}`)
  else if (weaknessOfSigningKey(value) !== null) lines.push('          it can be guessed: see jwt.accept_weak_secret')
  return lines
}

const HASHES: Readonly<Record<string, string>> = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' }

function signedBy(token: string, secret: string): boolean {
  const [header = '', payload = '', signature = ''] = token.split('.')
  const alg = parsed(Buffer.from(header, 'base64url').toString()).alg
  const hash = typeof alg === 'string' ? HASHES[alg] : undefined
  if (hash === undefined) return false
  return createHmac(hash, secret).update(`${header}.${payload}`).digest('base64url') === signature
}

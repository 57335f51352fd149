import { parseEnv } from 'node:util'
import { plain } from '../../base/log/terminal-line.ts'
import { WEAK_SECRET_ACCEPTED } from '../../settings/schema/settings.ts'
import { SECRETS } from '../../settings/secrets.ts'
import { CommandError } from '../terminal.ts'
import { queriesFor } from './database.ts'
import type { Plan } from './plan.ts'

/** Not 8081, which compatible services often use themselves. */
const INTERNAL_PORT = 18081

/** In YAML, and without characters that control a terminal which shows the file. */
const quoted = (text: string): string => plain(JSON.stringify(text))

/** `config/gateway.yaml`, without secrets: these are in `.env`. */
export function configurationOf(plan: Plan): string {
  const { profile, timezone, listenPort, prefix, captchaKey, rightsSource, target } = plan
  return `# Written by \`dualgate adopt\`. The secrets, and addresses with passwords, are in .env, in the folder from which the
# gateway is started. config/examples/README.md of the package describes a move; its config/gateway.yaml, every setting.
profile: ${profile}
timezone: ${quoted(timezone)}
listen: { port: ${listenPort} }
internal: { port: ${INTERNAL_PORT} }
store: { kind: redis, prefix: ${quoted(prefix)} }
login:
  captcha: { key: ${quoted(captchaKey)} }
session_administration: on
${accountsOf(plan)}
# record: as the records of sessions have them. accounts: as the accounts have them now, by login id.
permissions: { source: ${rightsSource} }
# Requests that need something else than the rules say. For example, if pages of the C side read dictionaries, before and
# after sign-in:
#gate: { exceptions: [{ path: /api/v1/sys/dict/tree, needs: none }] }
upstreams:
  # The other service. It verifies tokens itself, and reads the whole header as the token: bare, without "Bearer".
  - { name: backend, match: /api, target: ${quoted(target)}, pass_authorization: bare }
`
}

function accountsOf({ database }: Plan): string {
  if (database === null || 'fault' in database)
    return '# The accounts are a new file: see `accounts` in the documents for a table.'
  const { query, rights_query } = queriesFor(database.kind)
  return `# Checked by \`dualgate check --connect\`. The address is ACCOUNTS__URL in .env; a user with the right to read these
# tables is enough. Add a condition for deleted accounts, if the table keeps them. The gateway changes no account; so that
# users can change their password here, write: update: { password: UPDATE sys_user SET password = :password WHERE id = :id }
accounts:
  kind: sql
  query: >-
    ${query}
  rights_query: >-
    ${rights_query}`
}

/** `.env` of the working directory: everything secret. */
export function secretsOf({ secret, sm2, jwt, redisUrl, database }: Plan): string {
  const lines = ['# Written by `dualgate adopt`. Keep it out of version control.']
  if (secret === null) lines.push('# The same secret as that of the service:', '#JWT__SECRET_KEY=')
  else lines.push(variable('JWT__SECRET_KEY', secret.value))
  if (secret?.weak === true) lines.push(`#JWT__ACCEPT_WEAK_SECRET="${WEAK_SECRET_ACCEPTED}"`)
  for (const [name, value] of Object.entries(jwt)) lines.push(variable(name, value))
  lines.push(
    variable(SECRETS.sm2.variable, sm2 ?? SECRETS.sm2.generate()),
    variable(SECRETS.internal.variable, SECRETS.internal.generate()),
    variable('STORE__REDIS__URL', redisUrl),
  )
  if (database !== null && 'url' in database) lines.push(variable('ACCOUNTS__URL', database.url))
  return `${lines.join('\n')}\n`
}

/** A line of `.env` that is read as exactly this value. */
function variable(name: string, value: string): string {
  const forms = [value, `'${value}'`, `"${value}"`, `\`${value}\``].map(form => `${name}=${form}`)
  const line = forms.find(form => parseEnv(form)[name] === value && !form.includes('\n'))
  if (line === undefined)
    throw new CommandError(`the value of ${name} cannot be written into a .env file; set it by hand`)
  return line
}

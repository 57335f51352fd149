import { LOGIN_TYPES } from '../session.ts'
import type { Survey } from '../store/redis/survey.ts'
import type { Other } from './adopt-findings.ts'

const DEFAULT_PREFIX = 'svc:auth'
/** Not 8081, which compatible services often use themselves. */
const INTERNAL_PORT = 18081

/** An initial configuration for a move. Secrets and addresses with passwords stay in the environment. */
export function startingConfiguration(survey: Survey, other: Other | null): string {
  const prefix = prefixOf(survey)
  return `# Begun by \`dualgate adopt\`. Secrets stand in the environment, never here: JWT__SECRET_KEY (the same secret),
# LOGIN__SM2__PRIVATE_KEY (the same key), INTERNAL__SECRET (a new one), STORE__REDIS__URL (the same server and database).
profile: 1
timezone: ${JSON.stringify(other?.timezone ?? 'UTC')}
internal: { port: ${INTERNAL_PORT} }
store: { kind: redis, prefix: ${JSON.stringify(prefix)} }
login:
  captcha: { key: ${JSON.stringify(captchaKeyOf(survey, prefix))} }
# Accounts of the other service; see config/examples/README.md for the query and its pitfalls.
#accounts:
  #kind: sql
  #query: SELECT … WHERE username = :username
  #rights_query: SELECT … WHERE id = :id
permissions: { source: accounts }
upstreams:
  # Where the other service listens. It reads the whole header as the token: bare, without "Bearer".
  - { name: backend, match: /api, target: "http://127.0.0.1:8000", pass_authorization: bare }`
}

/** The prefix with the most tokens. */
function prefixOf({ families }: Survey): string {
  let found = DEFAULT_PREFIX
  let most = -1
  for (const [prefix, family] of families) {
    const tokens = LOGIN_TYPES.reduce((sum, type) => sum + family[type].tokens, 0)
    if (prefix === '' || tokens <= most) continue
    most = tokens
    found = prefix
  }
  return found
}

const captchaKeyOf = ({ captchaPrefixes }: Survey, prefix: string): string =>
  captchaPrefixes.has('') && !captchaPrefixes.has(prefix) ? '{type}:captcha:{id}' : '{prefix}:{type}:captcha:{id}'

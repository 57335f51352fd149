import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Settings } from '../../config/schema/settings.ts'
import type { Login } from '../../login/login.ts'
import type { Profile } from '../../profile.ts'
import { invalid } from '../../refusal.ts'
import { isPlainObject, LOGIN_TYPES, type LoginType, SIDES } from '../../session.ts'
import type { Description } from '../pages/description.ts'
import type { Sides } from '../server/authenticate.ts'
import type { Envelopes } from '../server/envelope.ts'
import { inLocale, LOGGED_OUT } from '../server/messages.ts'
import { describeCaptcha, describeLogin, describeLogout, describePublicKey } from './documents/login.ts'

export interface LoginRoutesOptions {
  settings: Pick<Settings, 'api_versions' | 'jwt' | 'locale'>
  profile: Profile
  envelopes: Envelopes
}

/** The public login endpoints of one side ("Public B-side login endpoints"): captcha, SM2 public key, login. */
export function serveLogin(app: FastifyInstance, type: LoginType, login: Login, options: LoginRoutesOptions): void {
  const { settings, profile, envelopes } = options
  const { section } = SIDES[type]
  const described = (description: Description) => ({ config: { description } })
  for (const version of settings.api_versions) {
    const base = `/api/v${version}`
    app.get(`${base}/public/${section}/captcha`, described(describeCaptcha(type)), async request =>
      envelopes.success(request.id, { ...(await login.issueCaptcha(request.ip)), captcha_code: null }),
    )
    for (const path of profile.sm2PublicKeyPaths) {
      app.get(base + path.replace('/b/', `/${section}/`), described(describePublicKey(type)), async request =>
        envelopes.success(request.id, login.publicKey),
      )
    }
    app.post(`${base}/public/${section}/login`, described(describeLogin(type)), async (request, reply) => {
      const { token } = await login.login(credentialsOf(request))
      reply.header('cache-control', 'no-store')
      const { token_name, expire_seconds } = settings.jwt
      return envelopes.success(request.id, { token, token_name, expires_in: expire_seconds })
    })
  }
}

/** The logout of the clients in use: `/api/v<n>/b/logout` and `/api/v<n>/c/logout`, each behind its side's gate. */
export function serveLogout(app: FastifyInstance, sides: Sides, { settings, envelopes }: LoginRoutesOptions): void {
  for (const version of settings.api_versions) {
    for (const type of LOGIN_TYPES) {
      const route = { config: { description: describeLogout(type) } }
      app.post(`/api/v${version}/${SIDES[type].section}/logout`, route, async request => {
        await sides[type].logout(request)
        return envelopes.success(request.id, { message: inLocale(LOGGED_OUT, settings.locale) })
      })
    }
  }
}

const FIELDS = ['captcha_id', 'captcha_value', 'captcha_code', 'username', 'password', 'device_id'] as const

/** Every field is a string or absent, by our own check: a schema compiler might turn `null` or `12` into one. */
function credentialsOf(request: FastifyRequest) {
  // No body has no field.
  const { body = {} } = request
  if (!isPlainObject(body)) throw invalid('body', 'must be a JSON object')
  const fields: Partial<Record<(typeof FIELDS)[number], string>> = {}
  for (const name of FIELDS) {
    const value = Object.hasOwn(body, name) ? body[name] : undefined
    if (value === undefined || value === null) continue
    if (typeof value !== 'string') throw invalid(name, 'must be a string')
    fields[name] = value
  }
  return { ...fields, address: request.ip, userAgent: request.headers['user-agent'] ?? '' }
}

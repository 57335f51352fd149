import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import type { Test } from 'tap'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { createProvider, type Provider, type SignInRequest } from '../../src/provider/provider.ts'
import type { ProviderSettings } from '../../src/settings/schema/providers.ts'
import { PATIENCE } from '../support/until.ts'

export const REDIRECT_URI = 'http://127.0.0.1/sign-in/b/staff/callback'
export const CLIENT = { client_id: 'dualgate', client_secret: 'the secret of the client, 32 bytes!' }

export const settingsOf = (issuer: string, changes: Partial<ProviderSettings> = {}): ProviderSettings => ({
  ...CLIENT,
  name: 'staff',
  side: 'business',
  label: 'Company account',
  issuer,
  client_auth: 'basic',
  scopes: ['openid', 'profile', 'email'],
  account: 'claims',
  claims: { username: 'preferred_username', nickname: 'name' },
  second_factor: 'provider',
  logout: 'user',
  algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'],
  clock_tolerance: 30_000,
  session: 43_200_000,
  timeout: PATIENCE,
  ...changes,
})

/** The provider of the gateway, and the lines of its log. */
export function open(
  t: Test,
  issuer: string,
  changes: Partial<ProviderSettings> = {},
  clock: Clock = systemClock,
): Provider & { lines: string[] } {
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  const provider = createProvider(settingsOf(issuer, changes), { clock, log })
  t.teardown(() => provider.close())
  return { ...provider, lines }
}

export const newRequest = (): SignInRequest => ({
  state: randomBytes(32).toString('hex').slice(0, 43),
  nonce: randomBytes(16).toString('hex'),
  verifier: randomBytes(32).toString('base64url'),
})

/** What each authorization URL has, whatever the settings; the rest belongs to one sign-in or comes from them. */
export const parametersOf = ({ state, nonce }: SignInRequest) => ({
  client_id: CLIENT.client_id,
  response_type: 'code',
  response_mode: 'query',
  redirect_uri: REDIRECT_URI,
  state,
  nonce,
  code_challenge_method: 'S256',
})

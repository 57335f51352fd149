import { importPKCS8 } from 'jose'
import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  customFetch,
  modifyAssertion,
  PrivateKeyJwt,
} from 'openid-client'
import type { Clock } from '../base/clock.ts'
import { readClientKey } from '../settings/client-key.ts'
import type { ProviderSettings } from '../settings/schema/providers.ts'
import type { ExchangeOptions } from './exchange.ts'
import { type Metadata, mayBePlain } from './metadata.ts'

/** Seconds. */
const ASSERTION_LIFETIME = 60

/** Makes what `openid-client` works with, for one exchange of a code each. */
export type Client = (
  metadata: Metadata,
  fetch: (url: string, options: ExchangeOptions) => Promise<Response>,
) => Promise<Configuration>

/** Throws `ConfigurationError` when the key of the client cannot be read. */
export function createClient(settings: ProviderSettings, clock: Clock): Client {
  const authentication = createAuthentication(settings, clock)
  return async (metadata, fetch) => {
    const client = new Configuration(metadata, settings.client_id, undefined, await authentication())
    client[customFetch] = fetch
    if (mayBePlain(settings)) allowInsecureRequests(client)
    return client
  }
}

function createAuthentication(settings: ProviderSettings, clock: Clock): () => Promise<ClientAuth> {
  const { key, client_secret = '', client_auth } = settings
  if (key !== undefined) return createKeyAuthentication(key, clock)
  const bySecret = client_auth === 'post' ? ClientSecretPost(client_secret) : ClientSecretBasic(client_secret)
  return async () => bySecret
}

/** Assertions (RFC 7523) of the given clock. They name no key: providers find it among those that they know of the client. */
function createKeyAuthentication(file: string, clock: Clock): () => Promise<ClientAuth> {
  const { key, algorithm } = readClientKey(file)
  const pem = key.export({ type: 'pkcs8', format: 'pem' }).toString()
  const toClock: NonNullable<Parameters<typeof PrivateKeyJwt>[1]> = {
    [modifyAssertion](header, payload) {
      // The library writes the name of RFC 9864, which few providers know.
      header.alg = algorithm
      const now = Math.floor(clock.now() / 1000)
      Object.assign(payload, { iat: now, nbf: now, exp: now + ASSERTION_LIFETIME })
    },
  }
  return async () => PrivateKeyJwt(await importPKCS8(pem, algorithm), toClock)
}

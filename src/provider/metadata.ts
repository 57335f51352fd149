import { allowInsecureRequests, ClientError, customFetch, discovery, type ServerMetadata } from 'openid-client'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log/log.ts'
import { Outage } from '../base/refusal.ts'
import type { ProviderSettings } from '../settings/schema/providers.ts'
import type { Exchange } from './exchange.ts'
import { detailOf } from './refusal.ts'

/** What a provider says of itself, with the addresses that a sign-in needs. */
export type Metadata = ServerMetadata & {
  authorization_endpoint: string
  token_endpoint: string
  jwks_uri: string
}

/** In milliseconds: how long it counts as new, and how long the last one does after a request that failed. */
const FRESH = 3_600_000
const FRESH_ENOUGH = 60_000
const NEEDED = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const

/** Whether what belongs to an issuer may come by plain HTTP: only where the issuer itself does. */
export const mayBePlain = ({ issuer }: Pick<ProviderSettings, 'issuer'>): boolean => issuer.startsWith('http:')

/**
 * The metadata of a provider (OpenID Connect Discovery 1.0), fetched at its first use. After an hour it is fetched anew; while
 * that fails, the last one stays.
 */
export class KnownMetadata {
  readonly #settings: ProviderSettings
  readonly #exchange: Exchange
  readonly #clock: Clock
  readonly #log: Logger
  #known: { metadata: Metadata; until: number } | null = null
  #pending: Promise<Metadata> | null = null

  constructor(settings: ProviderSettings, exchange: Exchange, parts: { clock: Clock; log: Logger }) {
    this.#settings = settings
    this.#exchange = exchange
    this.#clock = parts.clock
    this.#log = parts.log
  }

  /** Fails with an `Error` without secrets. Simultaneous uses share one request. */
  get(): Promise<Metadata> {
    if (this.#known !== null && this.#clock.elapsed() < this.#known.until) return Promise.resolve(this.#known.metadata)
    this.#pending ??= this.#fetch().finally(() => {
      this.#pending = null
    })
    return this.#pending
  }

  async #fetch(): Promise<Metadata> {
    try {
      const metadata = await discover(this.#settings, this.#exchange)
      this.#known = { metadata, until: this.#clock.elapsed() + FRESH }
      return metadata
    } catch (err) {
      if (this.#known === null) throw err
      this.#log.warn({ provider: this.#settings.name, err }, 'the last configuration of the provider stays in use')
      this.#known.until = this.#clock.elapsed() + FRESH_ENOUGH
      return this.#known.metadata
    }
  }
}

async function discover(settings: ProviderSettings, { fetch }: Exchange): Promise<Metadata> {
  const execute = mayBePlain(settings) ? [allowInsecureRequests] : []
  const options = { [customFetch]: fetch, execute }
  try {
    const found = await discovery(new URL(settings.issuer), settings.client_id, undefined, undefined, options)
    return checked(found.serverMetadata(), settings)
  } catch (fault) {
    throw new Outage('no discovery', { cause: otherIssuer(fault) ?? faultOfAnswer(fault) })
  }
}

/** The library compares issuers as URLs, and makes an exception for Entra. */
function checked(metadata: ServerMetadata, settings: ProviderSettings): Metadata {
  if (metadata.issuer !== settings.issuer) throw saysIssuer(metadata.issuer)
  for (const name of NEEDED) {
    if (!isAddress(metadata[name], settings)) throw new Error(`${name} is missing, or is not a URL of the right scheme`)
  }
  return metadata as Metadata
}

const saysIssuer = (issuer: string): Error => new Error(`it says that its issuer is ${detailOf(issuer)}`)

function otherIssuer(fault: unknown): Error | null {
  const { attribute, body } = ((fault as Error).cause ?? {}) as { attribute?: string; body?: { issuer: string } }
  return attribute === 'issuer' && body !== undefined ? saysIssuer(body.issuer) : null
}

export function isAddress(value: unknown, settings: Pick<ProviderSettings, 'issuer'>): value is string {
  if (typeof value !== 'string' || !URL.canParse(value)) return false
  const { protocol } = new URL(value)
  return protocol === 'https:' || (protocol === 'http:' && mayBePlain(settings))
}

/**
 * What went wrong, without what the library attaches and quotes: its causes hold the answer, and that of a token endpoint holds
 * tokens.
 */
export function faultOfAnswer(fault: unknown): Error {
  if (!(fault instanceof ClientError)) return fault instanceof Error ? fault : new Error('unknown fault')
  // What the request failed with.
  if (fault.code === undefined && fault.cause instanceof Error) return fault.cause
  const status = fault.cause instanceof Response ? ` (status ${fault.cause.status})` : ''
  return new Error(`${fault.message}${status}`)
}

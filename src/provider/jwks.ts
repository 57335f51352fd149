import { createPublicKey, type JsonWebKey } from 'node:crypto'
import { createLocalJWKSet, errors, type JWK } from 'jose'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log/log.ts'
import { isPlainObject } from '../base/plain-object.ts'
import { Outage } from '../base/refusal.ts'
import type { Exchange } from './exchange.ts'
import type { KnownMetadata } from './metadata.ts'

/** The keys with which a provider signs, as `jose` finds one for the header of a token. */
export type KeySet = ReturnType<typeof createLocalJWKSet>

/** In milliseconds: how often tokens may cause a request for keys, and when one is made without. */
const LIMIT = 60_000
const FRESH = 3_600_000
/** In milliseconds: how long none are requested after a request that failed where none are known. */
const PAUSE = 1000
const MIN_RSA_BITS = 2048

/**
 * The JWKS of a provider (RFC 7517), fetched at its first use. An unknown key fetches it at once, then once a minute at most, so
 * that invalid tokens cannot cause more. Until a first request has succeeded, they cause one a second. After an hour it is fetched anew, so that withdrawn keys end; while that fails, the
 * last keys stay.
 */
export class KnownKeys {
  readonly #metadata: KnownMetadata
  readonly #exchange: Exchange
  readonly #clock: Clock
  readonly #log: Logger
  readonly #provider: string
  #known: { keys: KeySet; fetchedAt: number } | null = null
  #pending: Promise<KeySet> | null = null
  /** Of the last request while no keys were known. */
  #failure: { at: number; fault: unknown } | null = null
  /** When a token has caused a request, and whether that failed. */
  #renewal: { at: number; fault: unknown } | null = null

  constructor(metadata: KnownMetadata, exchange: Exchange, parts: { clock: Clock; log: Logger; provider: string }) {
    this.#metadata = metadata
    this.#exchange = exchange
    this.#clock = parts.clock
    this.#log = parts.log
    this.#provider = parts.provider
  }

  /** Fails with an `Error` without secrets where no keys are known. Simultaneous uses share one request. */
  async get(): Promise<KeySet> {
    if (this.#known === null) return this.#fetchFirst()
    if (this.#clock.elapsed() < this.#known.fetchedAt + FRESH) return this.#known.keys
    const { keys } = this.#known
    return this.#fetch().catch(err => {
      this.#log.warn({ provider: this.#provider, err }, 'the last keys of the provider stay in use')
      this.#known = { keys, fetchedAt: this.#clock.elapsed() - FRESH + LIMIT }
      return keys
    })
  }

  async #fetchFirst(): Promise<KeySet> {
    const failed = this.#failure
    if (failed !== null && this.#pending === null && this.#clock.elapsed() < failed.at + PAUSE) throw failed.fault
    return this.#fetch().catch(fault => {
      this.#failure = { at: this.#clock.elapsed(), fault }
      throw fault
    })
  }

  /** Newer keys than these, or `null` without newer ones. Fails when they could not be fetched. */
  async newerThan(keys: KeySet): Promise<KeySet | null> {
    if (this.#known !== null && this.#known.keys !== keys) return this.#known.keys
    const now = this.#clock.elapsed()
    if (this.#renewal !== null && this.#pending === null && now - this.#renewal.at < LIMIT) {
      if (this.#renewal.fault !== null) throw this.#renewal.fault
      return null
    }
    const renewal = { at: now, fault: null as unknown }
    this.#renewal = renewal
    return this.#fetch().catch(fault => {
      renewal.fault = fault
      throw fault
    })
  }

  #fetch(): Promise<KeySet> {
    this.#pending ??= this.#request().finally(() => {
      this.#pending = null
    })
    return this.#pending
  }

  async #request(): Promise<KeySet> {
    const { jwks_uri } = await this.#metadata.get()
    const keys = createLocalJWKSet({ keys: await fetchKeys(this.#exchange, jwks_uri) })
    this.#known = { keys, fetchedAt: this.#clock.elapsed() }
    return keys
  }
}

async function fetchKeys({ fetch }: Exchange, address: string): Promise<JWK[]> {
  try {
    const response = await fetch(address, { headers: { accept: 'application/json' } })
    if (response.status !== 200) throw new Error(`status ${response.status}`)
    const answer: unknown = await response.json().catch(() => null)
    if (!isPlainObject(answer) || !Array.isArray(answer.keys)) throw new Error('the response is not a JWKS')
    return answer.keys.filter(isUsable)
  } catch (cause) {
    throw new Outage('no keys', { cause })
  }
}

/** Others in the set are ignored: of an unknown kind, malformed, weak, and private ones. */
function isUsable(key: unknown): key is JWK {
  if (!isPlainObject(key) || 'd' in key) return false
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key: key as JsonWebKey, format: 'jwk' })
    return (asymmetricKeyDetails?.modulusLength ?? MIN_RSA_BITS) >= MIN_RSA_BITS
  } catch {
    return false
  }
}

/** Whether a set may have the key of a token since it was fetched. */
export const mayBeNewer = (fault: unknown): boolean =>
  fault instanceof errors.JWKSNoMatchingKey || fault instanceof errors.JWSSignatureVerificationFailed

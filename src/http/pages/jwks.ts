import type { FastifyInstance } from 'fastify'
import { KEYS_PATH } from '../../gate/own-pages.ts'
import type { AssertionSigner } from '../../token/assertion.ts'
import { serveAsset } from './assets.ts'

export type AssertionKeys = AssertionSigner['keys']

/**
 * The public keys of assertions, as a JSON Web Key Set (RFC 7517 5). Services keep it for a while, so a key is published before
 * it signs. Nothing where no upstream gets assertions.
 */
export function serveKeys(app: FastifyInstance, keys: AssertionKeys | null): void {
  if (keys === null) return
  serveAsset(app, { path: KEYS_PATH, from: () => JSON.stringify(keys), cache: 'public, max-age=300' })
}

import { get, publicRoute, settings } from './api.js'

/**
 * Encrypts a password as the gateway expects it: SM2, cipher mode C1C3C2.
 *
 * @param {string} plain
 * @returns {Promise<string>}
 */
export async function encrypted(plain) {
  const publicKey = await get(publicRoute(settings.sm2_public_key))
  return /** @type {any} */ (globalThis).sm2.doEncrypt(plain, publicKey, 1)
}

import { CallError, get, publicRoute, settings } from './api.js'

/**
 * Encrypts a password as the gateway expects it: SM2, cipher mode C1C3C2. Without its script, which did not arrive with the page, it
 * fails as a call that is not answered.
 *
 * @param {string} plain
 * @returns {Promise<string>}
 */
export async function encrypted(plain) {
  const publicKey = await get(publicRoute(settings.sm2_public_key))
  const { sm2 } = /** @type {any} */ (globalThis)
  if (sm2 === undefined) throw new CallError(0, '', null, 'offline')
  return sm2.doEncrypt(plain, publicKey, 1)
}

import { get, postRepeatable, serves } from './api.js'
import { session } from './session.js'

/* The session of the page, at the gateway. */

/**
 * The user of the session, with the permissions for the pages. Without the session administration, and whatever else needs a
 * permission, only the own account is served.
 *
 * @returns {Promise<import('./session.js').Owner>}
 */
export const requestOwner = async () =>
  serves('sys/session/current') ? get('sys/session/current') : { ...(await get('b/account')), permissions: [] }

export function endSession() {
  const { token, handle, owner } = session
  if (serves('b/logout')) return postRepeatable('b/logout')
  if (serves('b/session/tokens')) return postRepeatable('b/session/exit-token', { token: handle })
  return postRepeatable('sys/session/exit-token', { user_id: owner?.user_id, token: token ?? handle })
}

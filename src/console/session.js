/*
 * The token of the administrator. It is kept in the tab's session storage: a reload keeps it, and closing the tab forgets
 * it, while no other tab ever sees it. Local storage would hand it to every page that is served under the same address,
 * and to the next user of the machine.
 */

const KEY = 'dualgate.token'

/** @typedef {{ user_id: string, username: string | null, nickname: string | null, permissions: string[] }} Owner */

/** @type {{ token: string | null, owner: Owner | null }} */
export const session = { token: recall(), owner: null }

function recall() {
  try {
    return sessionStorage.getItem(KEY)
  } catch {
    return null
  }
}

/** @param {string} token */
export function begin(token) {
  session.token = token
  try {
    sessionStorage.setItem(KEY, token)
  } catch {
    // Without a storage the session lasts until the next reload.
  }
}

export function forget() {
  session.token = null
  session.owner = null
  try {
    sessionStorage.removeItem(KEY)
  } catch {
    // Nothing was kept.
  }
}

export const MAY = {
  see: 'sys:session:page',
  end: 'sys:session:exit',
  bar: 'sys:session:disable',
}

/**
 * Whether a user of a side is the one who looks.
 *
 * @param {string} base The side's endpoints.
 * @param {string} userId
 */
export const isOwner = (base, userId) => base.startsWith('sys/') && userId === session.owner?.user_id

/** @param {keyof typeof MAY} what */
export const may = what => session.owner?.permissions.includes(MAY[what]) ?? false

/**
 * Whether a listed token, or a handle of one, is the one of this page. A handle is the token's `jti`.
 *
 * @param {string} listed
 */
export function isOwnToken(listed) {
  if (session.token === null) return false
  return listed === session.token || (listed !== '' && listed === jtiOf(session.token))
}

/** @param {string} token */
function jtiOf(token) {
  try {
    const claims = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')
    return JSON.parse(atob(claims)).jti
  } catch {
    return null
  }
}

/*
 * The token of the administrator, in the session storage of the tab. It survives a reload and is deleted when the tab is
 * closed. No other tab can read it. Local storage would expose it to every page of the same origin, and to the next user
 * of the machine.
 */

const KEY = 'dualgate.token'

/** @typedef {{ user_id: string, username: string | null, nickname: string | null, permissions: string[] }} Owner */

/**
 * `wrongCodes`: those of the second factor that were entered before this sign-in, until the user has seen the number.
 *
 * @type {{ token: string | null, owner: Owner | null, wrongCodes: number }}
 */
export const session = { token: recall(), owner: null, wrongCodes: 0 }

function recall() {
  try {
    return sessionStorage.getItem(KEY)
  } catch {
    return null
  }
}

/**
 * @param {string} token
 * @param {number} [wrongCodes]
 */
export function begin(token, wrongCodes = 0) {
  session.token = token
  session.wrongCodes = wrongCodes
  try {
    sessionStorage.setItem(KEY, token)
  } catch {
    // Without storage the session lasts until the next reload.
  }
}

export function forget() {
  session.token = null
  session.owner = null
  session.wrongCodes = 0
  try {
    sessionStorage.removeItem(KEY)
  } catch {
    // Nothing was stored.
  }
}

export const PERMISSIONS = {
  list: 'sys:session:page',
  end: 'sys:session:exit',
  disable: 'sys:session:disable',
  listAccounts: 'sys:account:page',
  editAccounts: 'sys:account:edit',
  journal: 'sys:journal:page',
}

/**
 * Whether a user of a side is the administrator of this page.
 *
 * @param {string} base The side's endpoints.
 * @param {string} userId
 */
export const isOwner = (base, userId) => base.startsWith('sys/') && userId === session.owner?.user_id

/** @param {keyof typeof PERMISSIONS} what */
export const can = what => session.owner?.permissions.includes(PERMISSIONS[what]) ?? false

/**
 * Whether a listed token or handle belongs to the session of this page.
 *
 * @param {string} listed
 */
export function isOwnToken(listed) {
  return listed !== '' && (listed === session.token || listed === ownHandle())
}

/** The handle of the session of this page: the `jti` of its token. */
export function ownHandle() {
  try {
    const claims = (session.token?.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')
    return JSON.parse(atob(claims)).jti
  } catch {
    return null
  }
}

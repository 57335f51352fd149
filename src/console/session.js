/*
 * The session of the page. Either a cookie that no script can read keeps it, or the token is in the session storage of the
 * tab: it survives a reload and is deleted when the tab is closed, and no other tab can read it. Local storage would expose it
 * to every page of the same origin, and to the next user of the machine.
 */

const KEY = 'dualgate.token'

/** @typedef {{ user_id: string, username: string | null, nickname: string | null, permissions: string[] }} Owner */

/**
 * `handle`: the name of the session in lists; `null` without a session. `token`: `null` where a cookie keeps it. `wrongCodes`:
 * those of the second factor that were entered before this sign-in, until the user has seen the number.
 *
 * @type {{ handle: string | null, token: string | null, owner: Owner | null, wrongCodes: number }}
 */
export const session = { handle: null, token: null, owner: null, wrongCodes: 0 }

/** Continues with the token that an earlier page of this tab has stored, if there is one. */
export function recall() {
  try {
    const token = sessionStorage.getItem(KEY)
    if (token !== null) begin(token)
  } catch {
    // No storage, no token.
  }
}

/**
 * @param {string} token
 * @param {number} [wrongCodes]
 */
export function begin(token, wrongCodes = 0) {
  Object.assign(session, { token, handle: handleIn(token), wrongCodes })
  try {
    sessionStorage.setItem(KEY, token)
  } catch {
    // Without storage the session lasts until the next reload.
  }
}

/**
 * The browser keeps the session in a cookie.
 *
 * @param {string} handle
 * @param {number} [wrongCodes]
 */
export const beginInCookie = (handle, wrongCodes = 0) => Object.assign(session, { token: null, handle, wrongCodes })

export function forget() {
  Object.assign(session, { token: null, handle: null, owner: null, wrongCodes: 0 })
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
  listKeys: 'sys:key:page',
  editKeys: 'sys:key:edit',
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
export const isOwnToken = listed => listed !== '' && (listed === session.token || listed === session.handle)

/**
 * The handle of the session of a token: its `jti`.
 *
 * @param {string} token
 * @returns {string}
 */
function handleIn(token) {
  try {
    return JSON.parse(atob((token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/'))).jti
  } catch {
    return ''
  }
}

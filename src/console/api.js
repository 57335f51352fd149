import { forget, session } from './session.js'

/*
 * Calls of the gateway. Every answer is an envelope, whatever its HTTP status: `code` says what it is, so that both
 * styles of `errors.http_status` read the same.
 */

/**
 * @typedef {object} Settings
 * @property {string} api
 * @property {string} sm2_public_key_path
 * @property {string} token_name
 * @property {boolean} logout
 * @property {string} timezone
 * @property {[en: string, zh: string][]} messages
 */

/** Milliseconds that an answer may take. */
const PATIENCE = 15_000

/** @type {Settings} */
export let settings

/** Where the gateway's own routes are, also when a proxy in front puts the gateway below another path. */
let base = new URL('..', document.baseURI)

export async function loadSettings() {
  const response = await fetch('settings.json', { signal: AbortSignal.timeout(PATIENCE) })
  if (!response.ok) throw new CallError(response.status, '')
  settings = await response.json()
  base = new URL(`..${settings.api}/`, document.baseURI)
}

/** What the gateway refused, or `code` 0 for no answer of it at all. */
export class CallError extends Error {
  /**
   * @param {number} code
   * @param {string} message
   * @param {any} [data]
   */
  constructor(code, message, data = null) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** Told when the session of the page turns out to have ended. */
let ended = () => {}

/** @param {() => void} listener */
export function onEnded(listener) {
  ended = listener
}

/**
 * @param {string} path Below `/api/v<n>/`.
 * @param {Record<string, string | number>} [query]
 */
export function get(path, query = {}) {
  const text = String(new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])))
  return call(text === '' ? path : `${path}?${text}`, {})
}

/**
 * @param {string} path
 * @param {object} [body]
 */
export const post = (path, body = {}) =>
  call(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

/**
 * @param {string} path
 * @param {RequestInit} init
 */
async function call(path, init) {
  const { token } = session
  const headers = { ...init.headers, ...(token !== null && { [settings.token_name]: `Bearer ${token}` }) }
  const envelope = await answerOf(new URL(path, base), { ...init, headers, credentials: 'omit', cache: 'no-store' })
  if (envelope.success === true) return envelope.data
  // An answer to an earlier session says nothing of this one.
  if (envelope.code === 401 && token !== null && session.token === token) {
    forget()
    ended()
  }
  throw new CallError(Number(envelope.code) || 500, String(envelope.message ?? ''), envelope.data)
}

/**
 * @param {URL} url
 * @param {RequestInit} init
 */
async function answerOf(url, init) {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(PATIENCE) })
    return await response.json()
  } catch {
    throw new CallError(0, '')
  }
}

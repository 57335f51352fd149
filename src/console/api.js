import { forget, session } from './session.js'

/*
 * Calls of the gateway. Every answer is an envelope, whatever its HTTP status. Only its `code` is used, so both styles of
 * `errors.http_status` work.
 */

/**
 * @typedef {object} Settings
 * @property {string} api
 * @property {'b' | 'c'} section Of the routes of the page's side.
 * @property {string} sm2_public_key The name of the route of the key that encrypts passwords.
 * @property {boolean} keeps_cookie Whether a cookie keeps the session of the page.
 * @property {'off' | 'proof-of-work'} captcha_alternative
 * @property {string} token_name
 * @property {string[]} routes Below `/api/v<n>/`: what the gateway serves itself.
 * @property {{ min_length: number, classes: number, common: 'refuse' | 'allow' }} passwords
 * @property {Record<import('./elements/sides.js').SideName, KeyLimits | null>} keys `null` for a side without keys.
 * @property {boolean} has_providers Whether users sign in, and out, at the pages for it.
 * @property {string} timezone
 * @property {[en: string, zh: string][]} messages
 */

/** @typedef {{ max_days: number, max_per_user: number, overlap_seconds: number }} KeyLimits What new keys of a side are limited to. */

/** Milliseconds to wait for an answer. */
const TIMEOUT = 15_000
/** The same for a whole file. */
const DOWNLOAD_TIMEOUT = 300_000

/** @type {Settings} */
export let settings

/** The URL of the gateway's own routes. A proxy in front may serve the gateway below another path. */
let base = new URL('..', document.baseURI)
/** That of the gateway itself. */
let root = base

/** @param {string} toRoot From the page. */
export async function loadSettings(toRoot = '..') {
  settings = await requestSettings()
  root = new URL(`${toRoot}/`, document.baseURI)
  base = new URL(`${settings.api.slice(1)}/`, root)
}

/** @returns {Promise<Settings>} */
const requestSettings = () => answerOf(new URL('settings.json', document.baseURI), {}, settingsOf)

/** Whether the gateway has other settings now than those that the page was opened with. */
const isOutdated = () =>
  requestSettings().then(
    now => JSON.stringify(now) !== JSON.stringify(settings),
    () => false,
  )

/**
 * The session that a cookie keeps. Without a session it throws a refusal with 401, and with why the last one has ended where that is known.
 *
 * @returns {Promise<{ handle: string }>}
 */
export const sessionInCookie = () => get(new URL(`sign-in/${settings.section}/session`, root).href)

/**
 * The step that a sign-in by a provider needs, once.
 *
 * @param {string} name As the gateway has named it in the address of the page.
 * @returns {Promise<import('./sign-in/sign-in.js').Step>}
 */
export const takeStep = name =>
  postRepeatable(new URL(`sign-in/${settings.section}/step?${new URLSearchParams({ step: name })}`, root).href)

/**
 * A public route of the page's side.
 *
 * @param {string} route
 */
export const publicRoute = route => `public/${settings.section}/${route}`

/**
 * The URL of a path of the gateway, for its other clients.
 *
 * @param {string} path
 */
export const urlOf = path => new URL(path.slice(1), root).href

/**
 * Whether the gateway serves a route itself. What it does not serve, with its settings and its source of accounts, has no
 * place in the page.
 *
 * @param {string} route
 */
export const serves = route => settings.routes.includes(route)

/**
 * A failure that the page itself finds: nothing has answered, or nothing to a request for a change, which may have been made; or what
 * has answered is not the gateway that the page was opened with.
 *
 * @typedef {'offline' | 'unsure' | 'outdated'} OwnFault
 */

/** A refusal of the gateway, or a failure that the page finds itself; `code` is 0 where no envelope has arrived. */
export class CallError extends Error {
  /**
   * @param {number} code
   * @param {string} message
   * @param {any} [data]
   * @param {OwnFault | null} [own]
   */
  constructor(code, message, data = null, own = null) {
    super(message)
    this.code = code
    this.data = data
    this.own = own
  }

  /** Whether the gateway did not answer, or cannot now: the same call may succeed later. */
  get isTemporary() {
    return this.code === 0 || this.code === 503
  }
}

/** @typedef {'replaced' | 'kicked-out' | 'password-changed' | 'account-changed' | 'logged-out'} EndReason */

/**
 * Called when an answer shows that the session of the page has ended, with the reason if the gateway keeps it
 * (`sessions.tell_end`).
 *
 * @type {(reason: EndReason | undefined) => void}
 */
let notifyEnded = () => {}

/** @param {typeof notifyEnded} listener */
export function onEnded(listener) {
  notifyEnded = listener
}

/**
 * @param {string} path Below `/api/v<n>/`.
 * @param {Record<string, string | number>} [query]
 */
export const get = (path, query = {}) => call(withQuery(path, query), {})

/**
 * A file, instead of an envelope.
 *
 * @param {string} path Below `/api/v<n>/`.
 * @param {Record<string, string | number>} query
 * @returns {Promise<Blob>}
 */
export const download = (path, query) => call(withQuery(path, query), {}, fileOf)

/**
 * @param {string} path
 * @param {Record<string, string | number>} query
 */
function withQuery(path, query) {
  const text = String(new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])))
  return text === '' ? path : `${path}?${text}`
}

/**
 * Requests what does no harm if it is done twice.
 *
 * @param {string} path
 * @param {object} [body]
 */
export const postRepeatable = (path, body = {}) =>
  call(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

/**
 * Requests a change. If its answer is lost, it may have been made.
 *
 * @param {string} path
 * @param {object} [body]
 */
export async function post(path, body) {
  try {
    return await postRepeatable(path, body)
  } catch (problem) {
    if (problem instanceof CallError && problem.own === 'offline') throw new CallError(0, '', null, 'unsure')
    throw problem
  }
}

/**
 * @param {string} path
 * @param {RequestInit} init
 * @param {typeof envelopeOf} read
 */
async function call(path, init, read = envelopeOf) {
  const { handle, token } = session
  const headers = { ...init.headers, ...(token !== null && { [settings.token_name]: `Bearer ${token}` }) }
  const envelope = await answerOf(
    new URL(path, base),
    { ...init, headers, credentials: settings.keeps_cookie ? 'same-origin' : 'omit', cache: 'no-store' },
    read,
  )
  if (envelope.success === true) return envelope.data
  // An answer to an earlier session does not end the present one.
  if (envelope.code === 401 && handle !== null && session.handle === handle) {
    forget()
    notifyEnded(envelope.data?.ended)
  }
  const code = Number(envelope.code) || 500
  // Of a route that the gateway no longer serves, an upstream may answer what it likes.
  const isUnserved = code === 404 || typeof envelope.code !== 'number'
  if (isUnserved && (await isOutdated())) throw new CallError(code, '', null, 'outdated')
  throw new CallError(code, String(envelope.message ?? ''), envelope.data)
}

/**
 * @param {URL} url
 * @param {RequestInit} init
 * @param {(response: Response) => Promise<any>} read
 */
async function answerOf(url, init, read) {
  let isAnswered = false
  try {
    const limit = read === fileOf ? DOWNLOAD_TIMEOUT : TIMEOUT
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(limit) })
    isAnswered = true
    return await read(response)
  } catch {
    const isFromOther = isAnswered && read !== settingsOf && (await isOutdated())
    throw new CallError(0, '', null, isFromOther ? 'outdated' : 'offline')
  }
}

/** @param {Response} response */
async function envelopeOf(response) {
  const envelope = await response.json()
  if (typeof envelope !== 'object' || envelope === null) throw new Error('JSON that is no envelope')
  return envelope
}

/** @param {Response} response */
function settingsOf(response) {
  if (!response.ok) throw new Error(`${response.status} instead of the settings of the page`)
  return response.json()
}

/** A file as the data of an envelope; a refusal is an envelope itself. What a proxy says in the place of the gateway is neither. */
async function fileOf(/** @type {Response} */ response) {
  const type = response.headers.get('content-type') ?? ''
  if (type.includes('json')) return envelopeOf(response)
  if (!response.ok || !type.startsWith('text/csv')) throw new Error(`${response.status} ${type} instead of a file`)
  return { success: true, data: await response.blob() }
}

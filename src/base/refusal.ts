/**
 * A decision against the client, with a stable reason. The same reason is logged, counted and documented; the answer to
 * the client (code, status, text) is one row of the table in `http/server/failure-texts.ts`. Absence is `null` and never a
 * refusal; any other exception is a fault.
 */
export type RefusalReason =
  // the request itself, before any rule
  | 'BAD_PATH'
  | 'BAD_REQUEST'
  | 'URI_TOO_LONG'
  | 'METHOD_NOT_ALLOWED'
  | 'HEADERS_TOO_LARGE'
  | 'BODY_TOO_LARGE'
  | 'UNSUPPORTED_TRANSFER_CODING'
  | 'REQUEST_TIMEOUT'
  /** The client closed its connection before its body was complete. No client reads this answer. */
  | 'CLIENT_LEFT'
  // the gate
  /** `access`: the address of the client. */
  | 'ADDRESS_NOT_ALLOWED'
  | 'NOT_FOUND'
  | 'NOT_LOGGED_IN'
  /** Two session cookies of one name. */
  | 'COOKIE_TWICE'
  /** A write or a handshake with a session cookie that a page of another origin may have caused. */
  | 'CROSS_ORIGIN'
  | 'NOT_PERMITTED'
  /** A path or an address outside of the limits of a key. */
  | 'KEY_NOT_ALLOWED'
  /** What no key can do, whatever its permissions. */
  | 'NOT_FOR_KEYS'
  /** From one address. Keys that the process knows to be right are not refused. */
  | 'TOO_MANY_WRONG_KEYS'
  /** `rate_limit` of the upstream. */
  | 'RATE_LIMITED'
  /** Of a WebSocket. */
  | 'ORIGIN_NOT_ALLOWED'
  | 'TOO_MANY_SOCKETS'
  /** A disabled login id at login, */
  | 'DISABLED'
  /** and with a session, where `disable.enforce` is `request`. */
  | 'SESSION_DISABLED'
  /** Of the internal listener: its secret. A token that an operation is about has nothing to do with it. */
  | 'WRONG_SECRET'
  // our own routes
  | 'INVALID'
  | 'CAPTCHA_BLANK'
  | 'CAPTCHA_GONE'
  | 'CAPTCHA_WRONG'
  | 'WRONG_CREDENTIALS'
  | 'PASSWORD_NOT_ALLOWED'
  /** Of a second factor: wrong, used, or no code at all. */
  | 'WRONG_CODE'
  | 'NO_SECOND_FACTOR'
  | 'SETUP_GONE'
  | 'FACTOR_REQUIRED'
  /** Its key is another one than at its set-up. */
  | 'FACTOR_UNREADABLE'
  /** The password was right; `data` holds the ticket of the next step. */
  | 'STEP_REQUIRED'
  /** Of a step: unknown, expired, used, of another step, or of an account that has changed. */
  | 'TICKET_INVALID'
  | 'ACCOUNT_LOCKED'
  | 'ACCOUNT_INACTIVE'
  /** The right password, which the directory wants to be changed there. */
  | 'PASSWORD_EXPIRED'
  /** A sign-in by an OpenID provider; log and journal have the reason. */
  | 'PROVIDER_REFUSED'
  /** `login.password` is off. */
  | 'PASSWORD_LOGIN_OFF'
  | 'TOO_MANY_ATTEMPTS'
  | 'NO_SUCH_TOKEN'
  // keys
  | 'NO_SUCH_KEY'
  | 'TOO_MANY_KEYS'
  /** Another key has taken its place. */
  | 'KEY_SUCCEEDED'
  /** An administrator makes keys for accounts of programs alone. */
  | 'NO_SERVICE_ACCOUNT'
  // the account administration
  | 'NO_SUCH_ACCOUNT'
  /** Since the revision that the client has read. */
  | 'ACCOUNT_CHANGED'
  /** The account holds rights that the administrator does not hold. */
  | 'ACCOUNT_HOLDS_MORE'
  /** The administrator grants rights that they do not hold. */
  | 'RIGHTS_NOT_HELD'
  /** Administrators do not lock, demote, remove or reset themselves. */
  | 'OWN_ACCOUNT'
  | 'LAST_SUPER_ADMIN'
  /** The accounts file cannot be written. */
  | 'ACCOUNTS_UNWRITABLE'
  // too much at once: logins, captchas, edits of accounts, WebSockets
  | 'BUSY'
  // what stands behind us
  | 'UNAVAILABLE'
  | 'BAD_GATEWAY'
  | 'UPSTREAM_TIMEOUT'
  | 'UPSTREAM_BUSY'
  /** `maintenance` of the upstream. */
  | 'MAINTENANCE'

export interface RefusalDetails {
  /** Fills the placeholders of the reason's text: `field`, `fault`, `permissions`, `rights`, `seconds`, `minutes`. */
  params?: Record<string, string | number>
  /** Goes to the client as the envelope's `data`. */
  data?: unknown
  /** The methods of an `Allow` header. */
  allow?: string
  /** Seconds for a `Retry-After` header. */
  retryAfter?: number
  /** Further headers, by lower-case name. */
  headers?: Readonly<Record<string, string>>
  cause?: unknown
}

export class Refusal extends Error {
  readonly reason: RefusalReason
  readonly params: Record<string, string | number>
  readonly data: unknown
  readonly allow: string | undefined
  readonly retryAfter: number | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(reason: RefusalReason, details: RefusalDetails = {}) {
    super(reason, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = 'Refusal'
    this.reason = reason
    this.params = details.params ?? {}
    this.data = details.data ?? null
    this.allow = details.allow
    this.retryAfter = details.retryAfter
    this.headers = details.headers ?? {}
  }
}

/** What a login id is, for people. */
export const LOGIN_ID_FORM = '1 to 128 characters of A-Z a-z 0-9 . _ @ : -'
export const NOT_A_LOGIN_ID = `must be ${LOGIN_ID_FORM}` as const

/** The faults of a field of a client's input. `http/server/failure-texts.ts` has the same in the other language. */
export type FieldFault =
  | 'is missing'
  | 'is taken'
  | 'must be a JSON object'
  | 'must be sent as application/json'
  | 'must be an object'
  | 'must be a string'
  | 'must be encrypted with the public key'
  | 'must be a whole number from {minimum} to {maximum}'
  | typeof NOT_A_LOGIN_ID
  | 'must be 1 to 128 characters without spaces at its ends'
  | 'must be at most {maximum} characters'
  | 'must be at most 8192 bytes as JSON'
  | 'must be at most 6144 bytes as JSON'
  | 'must not nest deeper than 16 levels'
  | 'must be at most 72 bytes as UTF-8'
  | 'must be well-formed Unicode'
  | 'must not be empty'
  | 'must be `next` of another page'
  | 'must be a time: YYYY-MM-DD HH:MM:SS or ISO 8601'
  | 'must not contain NUL'
  | 'must not contain control characters or noncharacters'
  | 'must be true or false'
  | 'must be one of {values}'
  | 'must be left out: sessions of this side are not kept in cookies'
  | 'must be left out: a service account has no password'
  | 'belongs to a service account, which has no password and no second factor'
  | 'must be a list of at most {maximum} texts of 1 to 128 characters'
  | 'must be shorter: the limits of a key are at most {maximum} bytes together, as JSON'
  | 'must be paths as they are sent, with a slash at the beginning and none at the end'
  | 'must be addresses or CIDR ranges'

/** The faults of a new password, as clients get them in `data.faults`; `http/server/failure-texts.ts` has the texts. */
export type PasswordFault =
  | 'min_length'
  | 'classes'
  | 'common'
  | 'max_bytes'
  /** It contains NUL, or is not well-formed Unicode. */
  | 'characters'
  | 'username'
  | 'same'

/** A field of the client's input is invalid. */
export const invalid = (field: string, fault: FieldFault, limits: Record<string, string | number> = {}): Refusal =>
  new Refusal('INVALID', { params: { field, fault, ...limits } })

/** The permissions that are missing, in the form of existing clients: `['sys:session:page']`. */
export const notPermitted = (missing: readonly string[]): Refusal =>
  new Refusal('NOT_PERMITTED', { params: { permissions: `[${missing.map(code => `'${code}'`).join(', ')}]` } })

/** Why something is not available. Every request logs it until it is back: its text says everything, its stack nothing. */
export class Outage extends Error {
  override readonly name = 'Error'
}

/** A store, or a source of accounts, that does not answer. Never "not logged in": the answer is 503 (design: fail closed). */
export class Unavailable extends Refusal {
  constructor(what: string, cause?: unknown, reason: 'UNAVAILABLE' | 'ACCOUNTS_UNWRITABLE' = 'UNAVAILABLE') {
    super(reason, { cause: new Outage(what, cause === undefined ? undefined : { cause }) })
    this.name = 'Unavailable'
  }
}

/*
 * The header names that have a meaning for the gateway. Names are compared in their reserved form: lower-case, with all but
 * letters and digits read as `-`, because servers behind us (CGI, WSGI, PHP, Servlet filters) fold these spellings into one:
 * most of them `_` and `.`, some CGI servers every such character.
 */

export const reservedForm = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '-')

/**
 * The identity headers, which only the gateway sets (design: Upstreams). Dropped in both directions, then set by us.
 */
const IDENTITY = new Set(['x-login-id', 'x-login-type', 'x-login-key', 'x-login-extra', 'x-login-signature'])

/** Whether a server that folds spellings reads a name as one of these. */
export const isIdentity = (name: string): boolean => IDENTITY.has(reservedForm(name))

/** The lower-case spellings that servers commonly read as a name: all that some CGI servers read would be too many. */
function spellingsOf(name: string): string[] {
  const [first = '', ...rest] = name.split('-')
  return rest.reduce((begun, part) => begun.flatMap(text => ['-', '_', '.'].map(mark => text + mark + part)), [first])
}

/** Those of the identity headers, for proxies that remove headers by name. */
export const IDENTITY_SPELLINGS: readonly string[] = [...IDENTITY].flatMap(spellingsOf)

/** RFC 9110 7.6.1 and other headers of a single connection. `Proxy-*` is matched by its prefix. */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'te', 'transfer-encoding', 'upgrade', 'http2-settings'])

/**
 * Headers with which a backend serves another method or another path than the gate has judged. By the last two, older Rack
 * (CVE-2025-61780) answers with `X-Accel-Redirect` and a path of the client's choice, which nginx then requests.
 */
const OVERRIDING = new Set([
  'x-http-method-override',
  'x-http-method',
  'x-method-override',
  'x-original-url',
  'x-rewrite-url',
  'x-sendfile-type',
  'x-accel-mapping',
])

/**
 * Headers that name the path at which a backend is mounted: gunicorn, Daphne, Pyramid and some applications serve the rest of the
 * path, as if the client had requested that. Proxies set them, and so may the settings of an upstream.
 */
const MOUNTING = new Set(['script-name', 'x-script-name', 'daphne-root-path', 'x-vhm-root'])

/** Whether a server that folds spellings reads a name as one of these. */
export function isOverriding(name: string): boolean {
  const reserved = reservedForm(name)
  return OVERRIDING.has(reserved) || MOUNTING.has(reserved)
}

/** Their spellings, for the same proxies. */
export const OVERRIDING_SPELLINGS: readonly string[] = [...OVERRIDING, ...MOUNTING].flatMap(spellingsOf)

/** Headers that a client must not send to an upstream: another method, another path, its own address. */
const FORGEABLE = new Set([...OVERRIDING, ...MOUNTING, 'forwarded', 'x-real-ip', 'x-request-id', 'trace-id'])
const FORGEABLE_PREFIXES = ['x-forwarded-', 'x-accel-']

/** Fields of the message itself; `Connection` cannot make them hop-by-hop (RFC 9110 7.6.1). */
const END_TO_END = new Set(['host', 'authorization', 'cookie', 'set-cookie', 'cache-control'])

const isHopByHop = (reserved: string): boolean => HOP_BY_HOP.has(reserved) || reserved.startsWith('proxy-')

/** `Content_Length` and the like: a second framing for a server that folds names. */
const isOtherSpellingOfLength = (name: string, reserved: string): boolean =>
  reserved === 'content-length' && name.toLowerCase() !== 'content-length'

/**
 * Whether a `Content-Length` has one reading. RFC 9110 8.6 allows leading zeros, but some parsers read them as octal, so that
 * the message would end in another place.
 */
export const isPlainLength = (value: string): boolean => PLAIN_LENGTH.test(value)

const PLAIN_LENGTH = /^(?:0|[1-9]\d*)$/

/** Whether a header of a request never reaches an upstream. */
export function isDroppedFromRequests(name: string): boolean {
  const reserved = reservedForm(name)
  return (
    isHopByHop(reserved) ||
    IDENTITY.has(reserved) ||
    FORGEABLE.has(reserved) ||
    FORGEABLE_PREFIXES.some(prefix => reserved.startsWith(prefix)) ||
    reserved === 'expect' ||
    reserved === 'trailer' ||
    isOtherSpellingOfLength(name, reserved)
  )
}

/**
 * Whether a name is another spelling of one that proxies set or remove in its plain spelling only. `trace_id` is not: it is a
 * name of its own.
 */
export const isUnusualSpelling = (name: string): boolean =>
  /[^a-z0-9-]/i.test(name) && reservedForm(name) !== 'trace-id' && isDroppedFromRequests(name)

/** With it an upstream of `signs_in` names the session that it has begun. It is for the gateway alone. */
export const SESSION_HEADER = 'x-dualgate-session'

/** Whether a header of an upstream's response never reaches a client. */
export function isDroppedFromResponses(name: string): boolean {
  const reserved = reservedForm(name)
  return (
    isHopByHop(reserved) ||
    IDENTITY.has(reserved) ||
    reserved === SESSION_HEADER ||
    isOtherSpellingOfLength(name, reserved)
  )
}

/** What both directions keep as the gateway makes it: framing, the handshake of WebSockets, and the id of the trace. */
const isFixed = (reserved: string): boolean =>
  FIXED.has(reserved) || reserved.startsWith('sec-websocket-') || isHopByHop(reserved)

const FIXED = new Set(['host', 'content-length', 'expect', 'trailer', 'x-request-id', 'trace-id'])

/** Whether the settings of an upstream cannot edit a header of its requests. */
export const isFixedInRequests = (name: string): boolean =>
  !MOUNTING.has(reservedForm(name)) &&
  (isDroppedFromRequests(name) || isFixed(reservedForm(name)) || reservedForm(name) === 'via')

/** Whether the settings of an upstream cannot edit a header of its responses. */
export const isFixedInResponses = (name: string): boolean =>
  isDroppedFromResponses(name) || isFixed(reservedForm(name)) || isCors(name)

/** Whether a header of a response says which pages may read it, or send what they like (the CORS protocol of Fetch). */
export const isCors = (name: string): boolean => reservedForm(name).startsWith('access-control-')

/**
 * The names that a `Connection` header declares hop-by-hop, lower-case, as far as it may; `null` for none, which is
 * nearly always so.
 */
export function namedByConnection(value: string | undefined): ReadonlySet<string> | null {
  if (value === undefined) return null
  const plain = value.toLowerCase()
  if (plain === 'keep-alive' || plain === 'close') return null
  const names = plain.split(',').map(name => name.trim())
  const removable = names.filter(name => name !== '' && !END_TO_END.has(name) && !name.startsWith('content-'))
  return removable.length === 0 ? null : new Set(removable)
}

import { trimmed } from '../base/trimmed.ts'
import { bySide, LOGIN_TYPES, type LoginType, SIDES } from '../session/sides.ts'
import { asToken, type Token } from './bearer.ts'

/*
 * Sessions in cookies: the value is the token. The prefixes are rules of browsers (RFC 6265bis): with `__Host-` no other host
 * and no unencrypted page can set the cookie, with `__Secure-` no unencrypted page can.
 */

const PREFIXES = ['__Host-', '__Secure-', ''] as const
type Prefix = (typeof PREFIXES)[number]

const nameOf = (prefix: Prefix, type: LoginType): string => `${prefix}dualgate-${SIDES[type].section}`

/** Names of the cookie of a browser on its way to an OpenID provider. */
const FLOW_NAMES = ['__Host-dualgate-flow', 'dualgate-flow'] as const

/** Every name that a cookie of ours can have. They stay ours where other settings name it otherwise: browsers keep old ones. */
const OWN_NAMES: ReadonlySet<string> = new Set([
  ...PREFIXES.flatMap(prefix => LOGIN_TYPES.map(type => nameOf(prefix, type))),
  ...FLOW_NAMES,
])

/** A part of every name. What lacks it costs no more than this look. */
const HINT = 'dualgate-'

/** As it is in the settings, but for the sides as a set. */
export interface CookieSettings {
  /** The sides whose users may keep their session in a cookie. */
  sides: ReadonlySet<LoginType>
  secure: boolean
  /** `browser`: until the browser is closed. */
  keep: 'session' | 'browser'
  domain?: string | undefined
}

export interface SessionCookies {
  /** The sides whose users may keep their session in a cookie. */
  readonly sides: ReadonlySet<LoginType>
  /** The name of the cookie of a side. */
  name(type: LoginType): string
  /**
   * The values of the cookie of a side in a `Cookie` header, as far as they have the form of a token, and how often the name
   * occurs. A browser sends one; two come from two places, and nothing says which is meant.
   */
  read(header: string | undefined, type: LoginType): { token: Token | null; count: number }
  /** All of these tokens, each once. */
  readAll(header: string | undefined, type: LoginType): Token[]
  /** The value of `Set-Cookie` that keeps a token for so many seconds. */
  set(type: LoginType, token: string, seconds: number): string
  /** The value of `Set-Cookie` that removes the cookie of a side. */
  expire(type: LoginType): string
}

/** `null` where no side has session cookies. */
export function createSessionCookies({ sides, secure, keep, domain }: CookieSettings): SessionCookies | null {
  if (sides.size === 0) return null
  const prefix = !secure ? '' : domain === undefined ? '__Host-' : '__Secure-'
  const names = bySide(type => nameOf(prefix, type))
  const attributes = [
    'Path=/',
    ...(domain === undefined ? [] : [`Domain=${domain}`]),
    'HttpOnly',
    'SameSite=Lax',
    ...(secure ? ['Secure'] : []),
  ].join('; ')
  return {
    sides,
    name: type => names[type],
    read: (header, type) => readCookie(header, names[type]),
    readAll: (header, type) => tokensIn(header, names[type]),
    set: (type, token, seconds) =>
      `${names[type]}=${token}; ${keep === 'session' ? `Max-Age=${seconds}; ` : ''}${attributes}`,
    expire: type => `${names[type]}=; Max-Age=0; ${attributes}`,
  }
}

/** The cookie that binds a sign-in to the browser in which it began: of the host of the gateway alone. */
export interface FlowCookie {
  /** Its value; `null` without one, and where there are two. */
  read(header: string | undefined): string | null
  /** The value of `Set-Cookie` that keeps it for so many seconds. */
  set(value: string, seconds: number): string
}

export function createFlowCookie({ secure }: Pick<CookieSettings, 'secure'>): FlowCookie {
  const name = FLOW_NAMES[secure ? 0 : 1]
  return {
    read: header => {
      const values = valuesOf(header, name)
      return values.length === 1 ? values[0]! : null
    },
    set: (value, seconds) =>
      `${name}=${value}; Max-Age=${seconds}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`,
  }
}

function readCookie(header: string | undefined, name: string): { token: Token | null; count: number } {
  const values = valuesOf(header, name)
  return { token: asToken(values.at(-1) ?? ''), count: values.length }
}

const tokensIn = (header: string | undefined, name: string): Token[] =>
  [...new Set(valuesOf(header, name))].map(asToken).filter(token => token !== null)

/** The values of the cookies of one name, in their order. */
function valuesOf(header: string | undefined, name: string): string[] {
  const found: string[] = []
  // Only the cookies in which the name occurs are cut out: for one, applications may have set twenty.
  for (let at = header?.indexOf(name) ?? -1; at !== -1; ) {
    const end = header!.indexOf(';', at)
    const pair = header!.slice(header!.lastIndexOf(';', at) + 1, end === -1 ? undefined : end)
    if (nameIn(pair) === name) found.push(trimmed(pair, pair.indexOf('=') + 1))
    at = end === -1 ? -1 : header!.indexOf(name, end)
  }
  return found
}

/**
 * The name of a cookie: what stands before the first `=`, or all of it, as some browsers send a cookie without a name. As in browsers,
 * a no-break space (byte A0) is part of it: without that, a name that has no prefix to them would be one of ours.
 */
function nameIn(pair: string): string {
  const mark = pair.indexOf('=')
  return trimmed(pair, 0, mark === -1 ? pair.length : mark)
}

/** A `Cookie` header without session cookies, the other cookies byte for byte; `null` when nothing is left. */
export function withoutSessionCookies(header: string): string | null {
  if (!header.includes(HINT)) return header
  if (!header.includes(';')) return OWN_NAMES.has(nameIn(header)) ? null : header
  const pairs = header.split(';')
  const kept = pairs.filter(pair => !OWN_NAMES.has(nameIn(pair)))
  if (kept.length === pairs.length) return header
  const rest = kept.join(';').trimStart()
  return rest === '' ? null : rest
}

/** Whether a `Set-Cookie` sets a cookie that a browser would send back under one of our names. */
export function setsSessionCookie(value: string): boolean {
  if (!value.includes(HINT)) return false
  // Of a cookie without a name browsers send the value alone: `=__Host-dualgate-b=…` comes back as ours.
  const pair = trimmed(value.split(';', 1)[0]!).replace(/^=+/, '')
  return OWN_NAMES.has(nameIn(pair))
}

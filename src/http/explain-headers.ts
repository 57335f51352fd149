import type { RequiredSession } from '../gate/required-session.ts'
import type { Verdict } from '../gate/rules.ts'
import type { SessionRecord } from '../session/record.ts'
import type { LoginType } from '../session/sides.ts'
import type { HeaderEditSettings, UpstreamSettings } from '../settings/schema/upstreams.ts'
import type { Token } from '../token/bearer.ts'
import { createEdits } from '../upstream/headers/header-edits.ts'
import { namedHeaders } from '../upstream/headers/identity.ts'
import { createRequestHeaders } from '../upstream/headers/request-headers.ts'
import type { Upstream } from '../upstream/upstream.ts'

/* What an explanation says of the headers that an upstream would get. */

/** Values may be passwords, so only their names are shown. */
const masked = (edits: HeaderEditSettings | undefined): HeaderEditSettings | undefined =>
  edits && {
    ...edits,
    set: Object.fromEntries(Object.keys(edits.set).map(name => [name, '<as set in upstreams.yaml>'])),
  }

/** A record with placeholders for values that are unknown without a session. */
function recordFor(need: Exclude<RequiredSession, 'none'>): SessionRecord {
  const type = need === 'either' ? ('<BUSINESS or CONSUMER>' as LoginType) : need
  const extra = { username: '<username>', nickname: '<nickname>', roles: ['<roles>'] }
  return { user_id: '<user id>', type, created_at: '', extra }
}

const TOKEN = '<token>' as Token

/** What stands for values that cannot be computed from placeholders. */
const COMPUTED: ReadonlyMap<string, string> = new Map([
  ['x-login-extra', '<base64url of JSON>'],
  ['x-login-signature', 't=<seconds>,v1=<HMAC-SHA256 in hex>'],
])

const SIGNED = '<JWT signed with ES256>'

/** The request whose headers are explained. */
interface Explained {
  method: string
  verdict: Verdict
  tokenName: string
}

/** The headers of the request to the upstream, for a client that sends only a token. */
export function headersOf(
  upstream: Upstream,
  { request_headers, identity }: UpstreamSettings,
  { method, verdict, tokenName }: Explained,
): string[] {
  const session =
    verdict.need === 'none' ? null : { token: TOKEN, claims: { jti: '', iat: 0 }, record: recordFor(verdict.need) }
  const host = '<host of the gateway>'
  const edits = createEdits(masked(request_headers), namedHeaders(identity))
  // The token counts as one of ours.
  const headers = createRequestHeaders(tokenName.toLowerCase(), {
    isIn: () => true,
    hasKey: () => false,
    bareOf: () => TOKEN,
  })(
    {
      rawHeaders: ['Host', host, tokenName, `Bearer ${TOKEN}`],
      connection: undefined,
      verdict,
      session,
      hasCookieSession: false,
      id: '<trace id>',
      ip: '<address of the client>',
      protocol: 'http',
      host,
      httpVersion: '1.1',
    },
    {
      host:
        upstream.host === 'preserve' ? host : (upstream.targets.find(({ weight }) => weight > 0)?.authority ?? 'echo'),
      passAuthorization: upstream.passAuthorization,
      via: upstream.via,
      edits,
    },
  )
  const asked = { method, path: '', session }
  const identified = upstream.identity?.headersFor(asked) ?? []
  for (let i = 0; i < identified.length; i += 2) {
    const name = identified[i]!
    headers.push(name, COMPUTED.get(name) ?? identified[i + 1]!)
  }
  if (upstream.assertions !== null && session !== null) headers.push(upstream.assertions.header, SIGNED)
  headers.push(...(edits?.added ?? []))
  return Array.from({ length: headers.length / 2 }, (_, index) => `${headers[2 * index]}: ${headers[2 * index + 1]}`)
}

import { readConfiguration } from '../config/load.ts'
import { ownMethods, ownRoutes } from '../config/own-routes.ts'
import type { Settings } from '../config/schema/settings.ts'
import type { HeaderEditSettings, UpstreamSettings } from '../config/schema/upstreams.ts'
import { pathRulesOf } from '../config/served.ts'
import { describeTarget } from '../config/targets.ts'
import { type Judged, judge } from '../gate/decide.ts'
import type { Need } from '../gate/need.ts'
import { isVersioned, type PathRules, type Verdict } from '../gate/rules.ts'
import { type Found, findUpstream } from '../http/forward/lookup.ts'
import { PROFILES } from '../profile.ts'
import { Refusal } from '../refusal.ts'
import type { LoginType, SessionRecord } from '../session.ts'
import type { Token } from '../token/bearer.ts'
import { createEdits } from '../upstream/headers/edits.ts'
import { createRequestHeaders } from '../upstream/headers/request.ts'
import { createUpstreamTable } from '../upstream/table.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { CONFIG_HELP, CONFIG_OPTION, type Command, configOrBuiltIn } from './command.ts'
import { say, UsageError } from './terminal.ts'

type ReadSettings = Omit<Settings, 'jwt' | 'login' | 'internal' | 'warnings'> & {
  jwt: Pick<Settings['jwt'], 'token_name'>
  login: Pick<Settings['login'], 'consumer' | 'logout_routes'>
}

export const explain: Command = {
  words: 'METHOD PATH',
  summary: 'show rule, side, upstream and headers for a request',
  help: `Shows the path as it is judged, the rule that speaks, the session that is needed, who answers, and what an upstream
would get. Nothing is sent.

${CONFIG_HELP}

Example:
  dualgate explain GET '/api/v1/c/orders/7?x=1'`,
  options: CONFIG_OPTION,
  async run(written, { output, environment, cwd }) {
    const [method, target, ...more] = written.words
    if (method === undefined || target === undefined || more.length > 0) {
      throw new UsageError("explain takes a method and a path: explain GET '/api/v1/c/orders/7?x=1'")
    }
    const { settings } = readConfiguration(configOrBuiltIn(written, cwd), environment, cwd, { secretsNeeded: false })
    say(
      output,
      ...(await explainRequest(method.toUpperCase(), target, settings)).map(([name, value]) => name.padEnd(16) + value),
    )
    return 0
  },
}

type Row = [name: string, value: string]

const NEEDS: Record<Need, string> = {
  none: 'no session',
  BUSINESS: 'a live B-side session (BUSINESS)',
  CONSUMER: 'a live C-side session (CONSUMER)',
  either: 'a live session of either side (BUSINESS or CONSUMER)',
}

async function explainRequest(method: string, text: string, settings: ReadSettings): Promise<Row[]> {
  const profile = PROFILES[settings.profile]
  const rules = pathRulesOf(settings, profile)
  const judged = judgeOrRefuse(text, method, rules)
  if (judged instanceof Refusal) return [['refused', `${judged.reason}: ${judged.params.fault ?? 'it is too long'}`]]
  const { target, verdict } = judged
  const rows: Row[] = [['path', target.path]]
  if (target.query !== '') rows.push(['query', target.query])

  if (verdict === null) return [...rows, ['rule', 'none speaks'], ['refused', 'NOT_FOUND']]
  rows.push(['rule', `${verdict.rule.number} of profile ${profile.number}`])
  if (verdict.exception !== undefined) {
    const { path, methods } = verdict.exception
    const index = rules.exceptions.indexOf(verdict.exception)
    rows.push(['exception', `gate.exceptions[${index}] ${path} (${[...methods].join(', ')})`])
  }
  rows.push(['needs', NEEDS[verdict.need]])
  const own = ownMethods(ownRoutes(settings, profile), target.path)
  if (own.includes(method)) return [...rows, ['answered by', 'the gateway itself']]
  if (own.length > 0)
    return [...rows, ['refused', `METHOD_NOT_ALLOWED: the gateway serves this path itself, with ${own.join(', ')}`]]

  const table = createUpstreamTable(settings.upstreams)
  try {
    const found = isVersioned(target.path) ? await findUpstream(table.upstreams, target.path) : null
    if (found === null) return [...rows, ['refused', 'NOT_FOUND: no upstream matches']]
    return [...rows, ...explainUpstream(found, method, target.query, verdict, settings)]
  } finally {
    table.close()
  }
}

function judgeOrRefuse(text: string, method: string, rules: PathRules): Judged | Refusal {
  try {
    return judge(text, method, rules)
  } catch (refusal) {
    if (refusal instanceof Refusal) return refusal
    throw refusal
  }
}

function explainUpstream(
  { upstream, path }: Found,
  method: string,
  query: string,
  verdict: Verdict,
  settings: ReadSettings,
): Row[] {
  return [
    ['answered by', `upstream ${upstream.name} (${upstream.match})`],
    ['sent to', sentTo(upstream).join(' or ')],
    ...(upstream.targets.length > 1 ? [['balance', balanceOf(upstream, settings)] as Row] : []),
    ['as', `${method} ${path}${query}`],
    ...responseEditsOf(upstream, settings),
    ...headersOf(upstream, method, verdict, settings).map((line, index): Row => [index === 0 ? 'headers' : '', line]),
  ]
}

const sentTo = ({ targets, urls }: Upstream): readonly string[] =>
  targets.length === 0 ? urls : targets.map(describeTarget)

const settingsOf = ({ name }: Upstream, { upstreams }: ReadSettings): UpstreamSettings =>
  upstreams.find(upstream => upstream.name === name)!

/** Values may be passwords, so only their names are shown. */
const masked = (edits: HeaderEditSettings | undefined): HeaderEditSettings | undefined =>
  edits && {
    ...edits,
    set: Object.fromEntries(Object.keys(edits.set).map(name => [name, '<as set in upstreams.yaml>'])),
  }

function responseEditsOf(upstream: Upstream, settings: ReadSettings): Row[] {
  const { set = {}, remove = [] } = settingsOf(upstream, settings).response_headers ?? {}
  const edits = [...Object.keys(set).map(name => `set ${name}`), ...remove.map(name => `remove ${name}`)]
  return edits.length === 0 ? [] : [['response', edits.join(', ')]]
}

function balanceOf(upstream: Upstream, settings: ReadSettings): string {
  const { balance } = settingsOf(upstream, settings)
  return typeof balance === 'string' ? balance : `by ${balance.hash}; requests without one in turn`
}

/** A record with placeholders for values that are unknown without a session. */
function recordFor(need: Exclude<Need, 'none'>): SessionRecord {
  const type = need === 'either' ? ('<BUSINESS or CONSUMER>' as LoginType) : need
  return { user_id: '<user id>', type, created_at: '', extra: {} }
}

const TOKEN = '<token>' as Token

/** The headers of the request to the upstream, for a client that sends only a token. */
function headersOf(upstream: Upstream, method: string, verdict: Verdict, settings: ReadSettings): string[] {
  const { jwt } = settings
  const session =
    verdict.need === 'none' ? null : { token: TOKEN, claims: { jti: '', iat: 0 }, record: recordFor(verdict.need) }
  const host = '<host of the gateway>'
  // The token counts as one of ours.
  const headers = createRequestHeaders(jwt.token_name.toLowerCase(), { isIn: () => true, bareOf: () => TOKEN })(
    {
      rawHeaders: ['Host', host, jwt.token_name, `Bearer ${TOKEN}`],
      connection: undefined,
      verdict,
      session,
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
    },
  )
  const asked = { method, path: '', session }
  for (const name of upstream.identity?.headersFor(asked).filter((_, index) => index % 2 === 0) ?? []) {
    headers.push(name, name === 'x-login-extra' ? '<base64url of JSON>' : 't=<seconds>,v1=<HMAC-SHA256 in hex>')
  }
  const edited = createEdits(masked(settingsOf(upstream, settings).request_headers))?.apply(headers) ?? headers
  return Array.from({ length: edited.length / 2 }, (_, index) => `${edited[2 * index]}: ${edited[2 * index + 1]}`)
}

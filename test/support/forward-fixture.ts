import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { createPermissions } from '../../src/account/permissions.ts'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log/log.ts'
import { registerForwarding } from '../../src/http/forward/forward.ts'
import { createGate, createJudge } from '../../src/http/server/authenticate.ts'
import { createEnvelopes } from '../../src/http/server/envelope.ts'
import { OwnPaths } from '../../src/http/server/own-paths.ts'
import { createServer } from '../../src/http/server/server.ts'
import type { LoginType } from '../../src/session/sides.ts'
import { PROFILES } from '../../src/settings/profile.ts'
import type { UpstreamSettings } from '../../src/settings/schema/upstreams.ts'
import type { Session } from '../../src/side/side.ts'
import type { SessionWatch } from '../../src/store/session-watch.ts'
import { createOwnTokens } from '../../src/token/issued-here.ts'
import type { LookUp } from '../../src/upstream/look-ups.ts'
import { createUpstreamTable, type UpstreamTable } from '../../src/upstream/table.ts'
import { PATIENCE } from './until.ts'

/*
 * The edge and the forwarding without stores and logins: a token here is `<BUSINESS|CONSUMER>.<login id>`. For tests of
 * what happens behind the gate.
 */

export interface ForwardFixture {
  url: string
  port: number
  app: FastifyInstance
  table: UpstreamTable
  /** Log lines, as objects. */
  log: Record<string, any>[]
  close(): Promise<void>
}

/** An upstream with what the test says; the rest are defaults. */
export type WrittenUpstream = Partial<Omit<UpstreamSettings, 'timeouts' | 'connections'>> & {
  timeouts?: Partial<UpstreamSettings['timeouts']>
  connections?: Partial<UpstreamSettings['connections']>
}

export interface ForwardOptions {
  upstreams: WrittenUpstream[]
  tokenHeader?: string
  trustedProxies?: string[]
  /** The clock of the targets. */
  clock?: Clock
  /** Looks names of targets up; the system when it is not given. */
  lookUp?: LookUp
  /** Called before the routes, for hooks of the test's own. */
  prepare?: (app: FastifyInstance) => void
  /** Notices the ends of sessions; without it none ever ends. */
  watch?: Pick<SessionWatch, 'watch'>
}

/** Side, user, and what stands for a signature. */
export const TOKEN = { business: 'BUSINESS.admin-1.signed', consumer: 'CONSUMER.user-7.signed' }

/** Settings of an upstream as the configuration would have them, with what the test says. */
export const upstreamSettings = (written: WrittenUpstream): UpstreamSettings =>
  ({
    name: 'backend',
    match: '/api',
    host: 'target',
    pass_authorization: 'off',
    via: true,
    websocket: 'off',
    end_with_session: false,
    balance: 'round-robin',
    ejection: { failures: 5, duration: 10_000, limit: 300_000 },
    maintenance: 'off',
    rate_limit: 'off',
    resolve: 'off',
    retries: 0,
    signs_in: 'off',
    identity: { optional: false, headers: {}, assertion: 'off', extra: false, signature: [] },
    ...written,
    timeouts: { connect: PATIENCE, response: PATIENCE, idle: PATIENCE, ...written.timeouts },
    connections: { limit: 4096, queue: 4096, wait: PATIENCE, idle: 4000, lifetime: 60_000, ...written.connections },
  }) as UpstreamSettings

export async function openForwardFixture(options: ForwardOptions): Promise<ForwardFixture> {
  const { upstreams, tokenHeader = 'authorization', trustedProxies = [], clock = systemClock, prepare } = options
  const { lookUp } = options
  const { watch = { watch: () => () => undefined } } = options
  const log: Record<string, any>[] = []
  const logger = createLog('info', { write: line => void log.push(JSON.parse(line)) })
  const app = createServer({
    log: logger,
    envelopes: createEnvelopes('en', 'envelope'),
    observer: null,
    trustedProxies,
  })
  const table = createUpstreamTable(upstreams.map(upstreamSettings), { clock, log: logger, ...(lookUp && { lookUp }) })
  prepare?.(app)
  const { paths: rules } = PROFILES[1]
  app.addHook('onRequest', createJudge({ rules, tokenHeader, ownPaths: new OwnPaths(), upstreams: table }))
  const side = (type: LoginType) => ({ authenticate: (token: string) => sessionOf(token, type) })
  const sides = { BUSINESS: side('BUSINESS'), CONSUMER: side('CONSUMER') }
  const credentials = { tokenHeader, cookies: null, origins: new Set<string>(), keys: false }
  app.addHook('onRequest', createGate({ rules, sides, permissions: createPermissions({}), credentials }))
  // What these tests send has no signature.
  const ownTokens = createOwnTokens({ isSigned: () => false })
  await registerForwarding(app, {
    tokenHeader,
    ownTokens,
    hasPages: false,
    ownsCors: false,
    log: logger,
    webSockets: null,
    watch,
    signIns: null,
  })
  await table.start()
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    app,
    table,
    log,
    async close() {
      app.server.closeAllConnections()
      await app.close()
      table.close()
    },
  }
}

function sessionOf(token: string, need: LoginType): Session | null {
  const [type, userId] = token.split('.')
  if (type !== need || userId === undefined) return null
  const record = { user_id: userId, type: need, created_at: '2026-05-11 08:00:00', extra: {} }
  return { token: token as Session['token'], claims: { jti: 'test', iat: 0 }, record }
}

/** A fixture with one upstream, both closed with the test. */
export async function forwardTo(t: Test, target: string, written: WrittenUpstream = {}): Promise<ForwardFixture> {
  const fixture = await openForwardFixture({ upstreams: [{ target, ...written }] })
  t.teardown(() => fixture.close())
  return fixture
}

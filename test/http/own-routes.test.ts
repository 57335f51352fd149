import { fastify } from 'fastify'
import t from 'tap'
import { createPermissions } from '../../src/account/permissions.ts'
import { NOTHING } from '../../src/http/routes/common-fields.ts'
import { answering, type Endpoints, required, serveOwnRoutes } from '../../src/http/routes/own-routes.ts'
import { createEnvelopes, createErrorHandler } from '../../src/http/server/envelope.ts'
import { createGuards } from '../../src/http/server/guards.ts'
import { decorateRequests } from '../../src/http/server/request.ts'
import { LOGIN_TYPES, type LoginType } from '../../src/session/sides.ts'
import { type RouteSettings, servedRoutes } from '../../src/settings/own-routes.ts'
import { PROFILES } from '../../src/settings/profile.ts'
import type { Session } from '../../src/side/side.ts'

/* The guards of the gateway's own routes. They hold whatever the gate has admitted. */

const SETTINGS = {
  api_versions: [1],
  session_administration: true,
  account_administration: true,
  console: false,
  accounts: { kind: 'file' },
  own_sessions: { business: true, consumer: true },
  journal: {},
  keys: { business: { users: true }, consumer: { users: true } },
  login: { consumer: { kind: 'file' }, logout_routes: true, second_factor: { for: 'everyone' } },
} as unknown as RouteSettings

const ROUTES = servedRoutes(SETTINGS, PROFILES[2])

/** Every route, behind a gate that admits one session to all of them. */
async function serveAdmitting(type: LoginType | null, key?: Session['key']) {
  const app = fastify()
  decorateRequests(app)
  const envelopes = createEnvelopes('en', 'native')
  app.setErrorHandler(createErrorHandler(envelopes))
  app.addHook('onRequest', async request => {
    request.session = type === null ? null : ({ record: { type, user_id: '1', extra: {} }, key } as Session)
  })
  const contract = { summary: '', data: NOTHING }
  const endpoint = () => answering(contract, async () => null)
  const endpoints = Object.fromEntries(ROUTES.map(({ name }) => [name, endpoint])) as unknown as Endpoints
  const guards = createGuards(createPermissions({}))
  serveOwnRoutes(app, endpoints, { settings: SETTINGS, profile: PROFILES[2], guards, envelopes })
  return app
}

t.test('a route that needs a session accepts one of its own side, and no other', async t => {
  t.ok(ROUTES.length > 50, `${ROUTES.length} routes`)
  for (const admitted of [null, ...LOGIN_TYPES]) {
    const app = await serveAdmitting(admitted)
    for (const { method, path, needs, type } of ROUTES) {
      const isAccepted = needs === 'nothing' || admitted === (needs === 'own session' ? type : needs)
      const { statusCode } = await app.inject({ method, url: path })
      t.equal(statusCode, isAccepted ? 200 : 401, `${method} ${path} with ${admitted}`)
    }
    await app.close()
  }
})

t.test('no route that needs a session accepts one by key', async t => {
  for (const admitted of LOGIN_TYPES) {
    const app = await serveAdmitting(admitted, { id: 'AbCdEfGhIjKl' } as Session['key'])
    for (const { method, path, needs, type } of ROUTES) {
      const isOfSide = admitted === (needs === 'own session' ? type : needs)
      const { statusCode } = await app.inject({ method, url: path })
      t.equal(
        statusCode,
        needs === 'nothing' ? 200 : isOfSide ? 403 : 401,
        `${method} ${path} with a key of ${admitted}`,
      )
    }
    await app.close()
  }
})

t.test('a part that a served route needs and that was not made is a fault', t => {
  t.throws(() => required(null), /a route is served/)
  t.equal(required('part'), 'part')
  t.end()
})

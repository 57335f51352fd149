import { createConfig, lintFromString } from '@redocly/openapi-core'
import t, { type Test } from 'tap'
import { LOGIN_TYPES } from '../../src/session/sides.ts'
import { ownRoutes } from '../../src/settings/own-routes.ts'
import { PROFILES } from '../../src/settings/profile.ts'
import { servesKeys } from '../../src/settings/served.ts'
import { operationNames } from '../../src/side/operations.ts'
import { call } from '../support/client.ts'
import { type Fixture, type FixtureOptions, openFixture } from '../support/gateway-fixture.ts'

/** Refusals are answers with status 200 in the shipped style, so an operation without a 4xx is complete. */
const RULES = { 'operation-4xx-response': 'off', 'no-server-example.com': 'off' } as const

const config = await createConfig({ extends: ['recommended-strict'], rules: RULES })
/** By document: many gateways have the same. */
const complaints = new Map<string, Promise<string[]>>()

async function lint(document: string): Promise<string[]> {
  const problems = await lintFromString({ source: document, config })
  return problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer ?? ''}`)
}

function complaintsOf(document: string): Promise<string[]> {
  const found = complaints.get(document) ?? lint(document)
  complaints.set(document, found)
  return found
}

const routesOf = (document: { paths: Record<string, object> }): string[] =>
  Object.entries(document.paths)
    .flatMap(([path, item]) => Object.keys(item).map(method => `${method.toUpperCase()} ${path}`))
    .sort()

const CONFIGURATIONS: [what: string, options: FixtureOptions][] = [
  ['profile 1', { profile: 1 }],
  ['profile 2', { profile: 2, config: { session_administration: true } }],
  ['profile 2 as it is', { profile: 2 }],
  ['real statuses, in Chinese', { config: { errors: { http_status: 'native' }, locale: 'zh-CN' } }],
  [
    'every route',
    {
      config: {
        api_versions: [1, 2],
        login: { consumer: { kind: 'file', path: 'consumers.yaml' } },
        keys: { consumer: {} },
      },
    },
  ],
  ['another token header', { environment: { JWT__TOKEN_NAME: 'X-Token' } }],
]

async function open(t: Test, options: FixtureOptions): Promise<Fixture> {
  const fixture = await openFixture(t, options)
  return fixture
}

for (const [what, options] of CONFIGURATIONS) {
  t.test(what, async t => {
    const fixture = await open(t, options)

    t.test('the document is valid OpenAPI 3.1 and names the routes that the gateway answers, and no other', async t => {
      const { headers, text, json } = await fixture.get('/openapi.json')
      t.match(headers['content-type'], /^application\/json/)
      t.equal(json().openapi, '3.1.0')
      t.same(await complaintsOf(text), [])
      const own = [...ownRoutes(fixture.settings, PROFILES[fixture.profile])].filter(
        route => / \/api\//.test(route) && !route.startsWith('HEAD '),
      )
      t.same(routesOf(json()), own.sort())
    })

    t.test('the internal listener has a document of its own', async t => {
      const { text, json } = await call(fixture.internal, { path: '/openapi.json' })
      t.same(await complaintsOf(text), [])
      const routes = routesOf(json())
      const operations = routes.filter(route => /^POST \/operations\/v1\/(business|consumer)\/[a-z-]+$/.test(route))
      const withKeys = LOGIN_TYPES.filter(type => servesKeys(fixture.settings, type))
      t.equal(operations.length, 2 * operationNames(PROFILES[fixture.profile]).length + withKeys.length)
      const others = routes.filter(route => !operations.includes(route))
      const verify = ['DELETE', 'GET', 'OPTIONS', 'PATCH', 'POST', 'PUT'].map(method => `${method} /verify`)
      const explain = 'POST /operations/v1/explain'
      t.same(others.sort(), ['GET /livez', 'GET /metrics', 'GET /readyz', explain, ...verify].sort())
    })
  })
}

t.test('only profile 2 has the document at /v3/api-docs too', async t => {
  const [first, second] = [await open(t, { profile: 1 }), await open(t, { profile: 2 })]
  t.equal((await second.get('/v3/api-docs')).text, (await second.get('/openapi.json')).text)
  t.equal((await first.get('/v3/api-docs')).status, 404)
})

t.test('refusals are documented under the status that they are sent with', async t => {
  const page = '/api/v1/sys/session/page'
  const reasonsOf = async (http_status: string) => {
    const fixture = await open(t, { config: { errors: { http_status } } })
    const { responses } = (await fixture.get('/openapi.json')).json().paths[page].get
    return Object.fromEntries(
      Object.entries<any>(responses).map(([status, { content }]) => [
        status,
        Object.keys(content['application/json'].examples),
      ]),
    )
  }
  t.match(await reasonsOf('envelope'), { 200: ['SUCCESS', 'NOT_LOGGED_IN', 'INVALID'], 403: ['NOT_PERMITTED'] })
  t.match(await reasonsOf('native'), { 200: ['SUCCESS'], 401: ['NOT_LOGGED_IN'], 403: ['NOT_PERMITTED'] })
})

t.test('the documented header of the token is the configured one', async t => {
  const schemes = async (options: FixtureOptions) =>
    (await (await open(t, options)).get('/openapi.json')).json().components.securitySchemes.BUSINESS
  t.match(await schemes({}), { type: 'http', scheme: 'bearer' })
  t.match(await schemes({ environment: { JWT__TOKEN_NAME: 'X-Token' } }), {
    type: 'apiKey',
    in: 'header',
    name: 'X-Token',
  })
})

t.test('the documented query parameters are checked as documented', async t => {
  const fixture = await open(t, { config: { errors: { http_status: 'native' } } })
  const token = await fixture.gateway.sides.business.login(undefined, '1', { roles: ['SUPER_ADMIN'] })
  const { paths } = (await fixture.get('/openapi.json')).json()
  const schemaOf = (route: string, name: string) =>
    paths[`/api/v1/sys/session/${route}`].get.parameters.find((one: { name: string }) => one.name === name).schema
  const ask = (route: string, query: string) => fixture.get(`/api/v1/sys/session/${route}?${query}`, token)

  for (const name of ['current', 'size']) {
    const { minimum, maximum } = schemaOf('page', name)
    for (const [value, status] of [
      [minimum, 200],
      [maximum, 200],
      [minimum - 1, 400],
      [maximum + 1, 400],
    ])
      t.equal((await ask('page', `${name}=${value}`)).status, status, `${name}=${value}`)
  }
  for (const route of ['tokens', 'disabled']) {
    const pattern = new RegExp(schemaOf(route, 'user_id').pattern, 'u')
    for (const id of ['1', 'a@b:c', '', 'a b', 'a\u0015', '中', 'x'.repeat(128), 'x'.repeat(129)]) {
      const { status } = await ask(route, `user_id=${encodeURIComponent(id)}`)
      t.equal(status, pattern.test(id) ? 200 : 400, `${route}: ${id}`)
    }
  }
})

t.test('the answers of /verify to every method are described', async t => {
  const fixture = await open(t, {})
  const item = (await call(fixture.internal, { path: '/openapi.json' })).json().paths['/verify']
  for (const method of ['GET', 'POST', 'OPTIONS']) {
    for (const [path, status] of [
      ['/api/v1/public/b/x', 200],
      ['/api/v1/b/x', method === 'OPTIONS' ? 200 : 401],
      ['/x', method === 'OPTIONS' ? 200 : 403],
    ] as const) {
      const headers = { 'x-original-uri': path, 'x-original-method': method }
      const answer = await call(fixture.internal, { method, path: '/verify', headers })
      t.equal(answer.status, status, `${method} ${path}`)
      t.ok(item[method.toLowerCase()].responses[answer.status], `${method} ${answer.status} is described`)
    }
  }
})

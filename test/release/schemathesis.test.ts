import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import t, { type Test } from 'tap'
import { call } from '../support/client.ts'
import { type Fixture, openFixture } from '../support/gateway-fixture.ts'

/* Documents promise what is checked: requests generated from them are answered as they say. */

const SCHEMATHESIS = [
  process.env.SCHEMATHESIS,
  ...(process.env.PATH ?? '').split(delimiter).map(folder => join(folder, 'schemathesis')),
].find(path => path !== undefined && existsSync(path))
const skip = SCHEMATHESIS === undefined ? 'LEFT OUT: no schemathesis on PATH and none in $SCHEMATHESIS' : false

/**
 * What no document can say: which captcha and which ticket is outstanding, whose token is live, which accounts and keys there are,
 * which times exist, and with which key a password was encrypted. Requests of the right form are refused there with 400 for their values.
 */
const BY_VALUE = [
  ...['b', 'c'].flatMap(section => [
    ...['', '/password', '/second-factor', '/second-factor/setup'].map(
      step => `/api/v1/public/${section}/login${step}`,
    ),
    `/api/v1/${section}/account/password`,
    ...['setup', 'confirm', 'recovery-codes', 'remove'].map(
      change => `/api/v1/${section}/account/second-factor/${change}`,
    ),
    `/api/v1/${section}/session/exit-token`,
    `/api/v1/public/${section}/token`,
    ...['add', 'rotate', 'revoke'].map(change => `/api/v1/${section}/account/keys/${change}`),
  ]),
  ...['sys', 'client'].flatMap(base => [
    `/api/v1/${base}/session/exit-token`,
    ...['add', 'revoke'].map(call => `/api/v1/${base}/key/${call}`),
    ...['add', 'detail', 'edit', 'reset-password', 'reset-second-factor', 'remove'].map(
      call => `/api/v1/${base}/account/${call}`,
    ),
  ]),
  '/api/v1/sys/journal/page',
  '/api/v1/sys/journal/export',
  '/operations/v1/business/kickout-token',
  '/operations/v1/consumer/kickout-token',
]

const SETTINGS = [
  '[checks]',
  'negative_data_rejection.expected-statuses = ["400", "401", "403", "404", "405", "413", "415", "429", "5xx"]',
  ...BY_VALUE.map(
    path => `[[operations]]
include-path = "${path}"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "429"]
`,
  ),
].join('\n')

interface Call {
  base: string
  authorization: string
  /** Tokens by path, where it is not `authorization`. */
  tokens?: Record<string, string>
  /** Paths that get no requests. */
  without: string[]
}

const headerOf = ([path, token]: [string, string]): string => `[[operations]]
include-path = "${path}"
headers = { Authorization = "Bearer ${token}" }
`

const leaveOut = (path: string): string => `[[operations]]
include-path = "${path}"
enabled = false
`

function run(t: Test, { base, authorization, tokens = {}, without }: Call): Promise<{ code: number; said: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-schemathesis-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const settings = join(folder, 'schemathesis.toml')
  writeFileSync(settings, [SETTINGS, ...Object.entries(tokens).map(headerOf), ...without.map(leaveOut)].join('\n'))
  const header = `Authorization: Bearer ${authorization}`
  const more = ['--header', header, '--max-examples', '10', '--seed', '1', '--no-color']
  const args = ['--config-file', settings, 'run', `${base}/openapi.json`, '--url', base, ...more]
  return new Promise(resolve => {
    execFile(SCHEMATHESIS!, args, { cwd: folder, maxBuffer: 2 ** 26 }, (fault, output, errors) =>
      resolve({ code: fault === null ? 0 : Number(fault.code), said: output + errors }),
    )
  })
}

async function open(t: Test, profile: 1 | 2): Promise<Fixture> {
  const config = { session_administration: true, errors: { http_status: 'native' }, keys: { consumer: {} } }
  const login = { consumer: { kind: 'file', path: 'consumers.yaml' } }
  const fixture = await openFixture(t, { profile, config: { ...config, login } })
  return fixture
}

/** Answers once for each text, and `false` from then on. */
const seen = new Set<string>()
const isNew = (text: string): boolean => !seen.has(text) && seen.add(text) !== undefined

/** The paths of a document that another document before it has described in the same words. */
async function describedBefore(base: string): Promise<string[]> {
  const { paths, components } = (await call(base, { path: '/openapi.json' })).json()
  return Object.keys(paths).filter(path => !isNew(JSON.stringify([path, paths[path], components])))
}

for (const profile of [1, 2] as const) {
  t.test(`profile ${profile}: schemathesis finds nothing in what is not described before`, { skip }, async t => {
    const fixture = await open(t, profile)
    const { business, consumer } = fixture.gateway.sides
    const roles = ['SUPER_ADMIN']
    const admin = await business.login(undefined, 'admin-7531', { roles })
    // A logout ends the session that the other requests need: each is tested with a session of its own.
    const user = {
      business: await business.login(undefined, '8', { roles }),
      consumer: await consumer.login(undefined, '8'),
    }
    const tokens = { '/api/v1/b/logout': user.business, '/api/v1/c/logout': user.consumer }
    for (const [what, { base, ...rest }] of Object.entries<Omit<Call, 'without'>>({
      public: { base: fixture.url, authorization: admin, tokens },
      internal: { base: fixture.internal, authorization: fixture.settings.internal.secret },
    })) {
      const without = await describedBefore(base)
      const { code, said } = await run(t, { base, ...rest, without })
      t.equal(code, 0, what, code === 0 ? {} : { said })
    }
    if (profile === 2) return
    const ended = [await business.getLoginIdByToken(user.business), await consumer.getLoginIdByToken(user.consumer)]
    t.same(ended, ['', ''], 'the logouts of both sides were tested with live sessions')
  })
}

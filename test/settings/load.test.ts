import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { stringify } from 'yaml'
import { loadSettings } from '../../src/settings/load.ts'
import { SettingsSchema } from '../../src/settings/schema/settings.ts'
import { BESIDE, faultsOf, folderWith, settingsOf } from './folder.ts'

t.test('an empty file means the defaults of the schema', async t => {
  const folder = folderWith(t, { ...BESIDE, 'empty.yaml': '' })
  // Ajv fills in what the schema says, independently of the gateway. Profile 1 has no jwt section in its file.
  const { jwt, ...defaults } = withDefaults({}) as Record<string, unknown>
  writeFileSync(join(folder, 'whole.yaml'), stringify(defaults))
  const settings = loadSettings('empty.yaml', {}, folder)
  t.same(settings, loadSettings('whole.yaml', {}, folder))
  t.same({ ...settings.jwt, secret_key: undefined }, { ...(jwt as object), secret_key: undefined })
  t.same([settings.upstreams, settings.permissions], [[], { roles: {}, source: 'record', remember: 5000 }])
  t.match(settings, {
    listen: { port: 8080, timeouts: { headers: 10_000 }, min_rate: 1024 },
    store: { kind: 'embedded', timeout: 1000 },
    console: true,
    cors: 'off',
    accounts: { kind: 'file', path: /\/accounts\.yaml$/ },
    data: /\/data$/,
  })
})

function withDefaults(value: object): object {
  new Ajv2020({ strict: false, useDefaults: true }).compile(SettingsSchema)(value)
  return value
}

t.test('an empty section and a section whose keys are all commented out mean the defaults', async t => {
  const settings = settingsOf(t, 'listen:\n  #port: 1\nlogin: {}\nstore: ~\njwt:\n')
  t.equal(settings.listen.port, 8080)
  t.equal(settings.store.timeout, 1000)
})

t.test('durations arrive as milliseconds and switches as booleans', async t => {
  const settings = settingsOf(
    t,
    'store: { timeout: 2h }\nlog: { access: off }\nlogin: { logout_routes: false, rate_limit: off }',
  )
  t.equal(settings.store.timeout, 7_200_000)
  t.equal(settings.log.access, false)
  t.equal(settings.login.logout_routes, false)
  t.equal(settings.login.rate_limit, 'off')
})

t.test('a time zone is a name of today, an older one, or in other letters', async t => {
  for (const timezone of ['UTC', 'utc', 'GMT', 'Asia/Shanghai', 'europe/berlin', 'US/Pacific', 'Asia/Calcutta'])
    t.equal(settingsOf(t, `timezone: ${timezone}\n`).timezone, timezone)
})

t.test('paths are relative to the file that holds them, data to the working directory', async t => {
  const folder = folderWith(t, {})
  mkdirSync(join(folder, 'etc'))
  writeFileSync(
    join(folder, 'etc/gateway.yaml'),
    'internal: { socket: run.sock }\naccounts: { kind: file, path: a/b.yaml }\ndata: state\n',
  )
  writeFileSync(join(folder, 'etc/upstreams.yaml'), 'upstreams: [{ name: a, match: /api, target: "builtin:echo" }]')
  const settings = loadSettings('etc/gateway.yaml', {}, folder)
  t.equal(settings.internal.socket, join(folder, 'etc/run.sock'))
  t.match(settings.accounts, { path: join(folder, 'etc/a/b.yaml') })
  t.equal(settings.data, join(folder, 'state'))
  t.equal(settings.upstreams[0]?.name, 'a')
  const overlaid = loadSettings(
    'etc/gateway.yaml',
    { INTERNAL__SOCKET: 'x.sock', ACCOUNTS__PATH: 'c.yaml', DATA: 'd' },
    folder,
  )
  t.equal(overlaid.internal.socket, join(folder, 'x.sock'))
  t.match(overlaid.accounts, { kind: 'file', path: join(folder, 'c.yaml') })
  t.equal(overlaid.data, join(folder, 'd'))
})

t.test('the list of upstreams may be in the file itself', async t => {
  const { upstreams } = settingsOf(
    t,
    'upstreams:\n  - { name: a, match: /api/v1, targets: ["http://127.0.0.1:1"], timeouts: { idle: 5m } }\n',
  )
  t.match(upstreams, [{ name: 'a', host: 'target', timeouts: { connect: 5000, response: 30_000, idle: 300_000 } }])
})

t.test('without a file everything comes from the environment', async t => {
  const folder = folderWith(t, {})
  t.same(loadSettings(undefined, {}, folder).upstreams, [])
  t.equal(loadSettings(undefined, { LISTEN__PORT: '1' }, folder).listen.port, 1)
})

t.test('a missing file is a fault', async t => {
  t.throws(() => loadSettings('nope.yaml', {}, folderWith(t, {})), { message: /^nope\.yaml: no such file/ })
})

t.test('profile 2 reads the jwt section, and the environment overrides it', async t => {
  const yaml = 'profile: 2\njwt: { expire_seconds: 60, algorithm: HS512 }\n'
  t.match(settingsOf(t, yaml).jwt, { expire_seconds: 60, algorithm: 'HS512', token_name: 'Authorization' })
  t.match(settingsOf(t, yaml, { JWT__EXPIRE_SECONDS: '90' }).jwt, { expire_seconds: 90, algorithm: 'HS512' })
})

t.test('the header of the token is one that has no other meaning', async t => {
  for (const name of [
    'Cookie',
    'host',
    'Transfer-Encoding',
    'X-Login-Id',
    'X-Forwarded-For',
    'Content-Type',
    'X_Login_Id',
  ])
    t.match(
      faultsOf(t, `profile: 2\njwt: { token_name: ${name} }\n`),
      [/^gateway\.yaml:2 jwt\.token_name: cannot carry/],
      name,
    )
  for (const name of ['authorization', 'X-Token', 'satoken'])
    t.equal(settingsOf(t, `profile: 2\njwt: { token_name: ${name} }\n`).jwt.token_name, name)
})

t.test('a variable can set where rights come from, and leaves the file of the roles as it is', async t => {
  const folder = folderWith(t, {
    'gateway.yaml': 'permissions: roles.yaml\nupstreams: []',
    'roles.yaml': 'roles: { operator: [a:b] }',
  })
  const { permissions } = loadSettings('gateway.yaml', { PERMISSIONS__SOURCE: 'accounts' }, folder)
  t.same(permissions, { roles: { operator: ['a:b'] }, source: 'accounts', remember: 5000 })
})

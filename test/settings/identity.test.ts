import { generateKeyPairSync } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { generateIdentityKey } from '../../src/settings/identity-key.ts'
import { loadSettings } from '../../src/settings/load.ts'
import { faultsOf, folderWith, GOOD_KEY, settingsOf } from './folder.ts'

const ASSERTED = 'upstreams: [{ name: a, match: /api, target: "builtin:echo", identity: { assertion: {} } }]\n'
const KEY = generateIdentityKey()

const pemOf = (key: ReturnType<typeof generateKeyPairSync>['privateKey']): string =>
  (key as any).export({ type: 'pkcs8', format: 'pem' })
const RSA = pemOf(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey as any)
const P384 = pemOf(generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey as any)
const PUBLIC = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
  type: 'spki',
  format: 'pem',
}) as string

t.test('the key of assertions is generated where an upstream gets any, once, and only its owner reads it', async t => {
  const folder = folderWith(t, { 'gateway.yaml': ASSERTED, 'permissions.yaml': 'roles: {}\n' })
  const { identity } = loadSettings('gateway.yaml', {}, folder)
  const file = join(folder, 'data/identity.pem')
  t.same(identity, { issuer: 'dualgate', key_file: file })
  t.match(readFileSync(file, 'utf8'), /^-----BEGIN PRIVATE KEY-----\n/)
  t.equal(statSync(file).mode & 0o777, 0o600)
  const before = readFileSync(file, 'utf8')
  loadSettings('gateway.yaml', {}, folder)
  t.equal(readFileSync(file, 'utf8'), before)
})

t.test('without such an upstream no key is made', async t => {
  const folder = folderWith(t, {})
  t.same(loadSettings(undefined, {}, folder).identity, { issuer: 'dualgate' })
  t.notOk(readdirSync(join(folder, 'data')).includes('identity.pem'))
})

t.test('a key that is named is used, and none is generated for it', async t => {
  const settings = settingsOf(
    t,
    `${ASSERTED}identity: { key_file: mine.pem, previous_key_file: old.pem }`,
    {},
    {
      'mine.pem': KEY,
      'old.pem': PUBLIC,
    },
  )
  t.match(settings.identity, { key_file: /\/mine\.pem$/, previous_key_file: /\/old\.pem$/ })
  t.notOk(readdirSync(settings.data).includes('identity.pem'))
})

t.test('in production none is generated', async t => {
  const environment = {
    NODE_ENV: 'production',
    JWT__SECRET_KEY: GOOD_KEY,
    LOGIN__SM2__PRIVATE_KEY: '1'.padStart(64, '5'),
    INTERNAL__SECRET: 'kJ3vQ8zR2xW7bN5m',
  }
  t.same(faultsOf(t, ASSERTED, environment), [
    'environment IDENTITY__KEY_FILE: is not set, and with NODE_ENV=production none is generated; set it to a file with the output of `dualgate keys identity`',
  ])
  t.same(faultsOf(t, 'upstreams: []', environment), [])
})

t.test('a key that cannot sign is a fault that names its file, and never shows it', async t => {
  const faults: [what: string, yaml: string, files: Record<string, string>, fault: RegExp][] = [
    ['absent', 'key_file: k.pem', {}, /identity\.key_file: k\.pem no such file; identity\.key_file names it$/],
    ['not PEM', 'key_file: k.pem', { 'k.pem': 'x' }, /k\.pem holds no private key in PEM form without a passphrase$/],
    ['public', 'key_file: k.pem', { 'k.pem': PUBLIC }, /k\.pem holds no private key in PEM form/],
    ['RSA', 'key_file: k.pem', { 'k.pem': RSA }, /k\.pem is not a key of the curve P-256, .*`dualgate keys identity`$/],
    ['P-384', 'key_file: k.pem', { 'k.pem': P384 }, /is not a key of the curve P-256/],
    ['RSA', 'previous_key_file: k.pem', { 'k.pem': RSA }, /previous_key_file: k\.pem is not a key of the curve P-256/],
    ['no key', 'previous_key_file: k.pem', { 'k.pem': '' }, /previous_key_file: k\.pem holds no key in PEM form/],
    ['the same', 'key_file: k.pem, previous_key_file: k.pem', { 'k.pem': KEY }, /is the file of identity\.key_file/],
  ]
  for (const [what, yaml, files, fault] of faults) {
    const found = faultsOf(t, `${ASSERTED}identity: { ${yaml} }`, {}, files)
    t.equal(found.length, 1, what)
    t.match(found[0]?.replaceAll(/\/\S*\//g, ''), fault, what)
    t.notMatch(found[0], /BEGIN|MII/, what)
  }
})

t.test('an upstream names a header, an audience and a lifetime that make sense', async t => {
  const written = (assertion: string, rest = '') =>
    faultsOf(
      t,
      `upstreams: [{ name: a, match: /api, target: "http://a", identity: { assertion: ${assertion}${rest} } }]`,
    )
  t.same(written('{}'), [])
  t.same(written('off'), [])
  t.same(written('{ header: X-Auth-Token, audience: "https://orders.example", lifetime: 1h }'), [])
  t.match(written('{ lifetime: 9s }'), [/identity\.assertion\.lifetime: must be 10s to 1h, in whole seconds/])
  t.match(written('{ lifetime: 2h }'), [/must be 10s to 1h/])
  t.match(written('{ lifetime: 10500ms }'), [/in whole seconds/])
  for (const header of ['Authorization', 'Cookie', 'X-Login-Id', 'x_login_extra', 'Host', 'X-Forwarded-For'])
    t.match(written(`{ header: ${header} }`), [/identity\.assertion\.header: cannot carry the identity/], header)
  t.match(written('{ header: "no name" }'), [/is not the name of a header/])
  t.match(written('{ header: X-Who }', ', headers: { x_who: id }'), [/assertion\.header: is there twice/])
  t.match(written('{ audience: "" }'), [/audience/])
  t.match(written('{ key: x }'), [/unknown|not a setting|key/])
})

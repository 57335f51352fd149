import t from 'tap'
import { ownRoutes } from '../../src/settings/own-routes.ts'
import { PROFILES } from '../../src/settings/profile.ts'
import type { Settings } from '../../src/settings/schema/settings.ts'
import { faultsOf, settingsOf } from './folder.ts'

/* Keys of programs in the configuration. */

const DAY = 86_400_000
const CONSUMERS = 'login: { consumer: { kind: file, path: consumers.yaml } }\n'
const SHIPPED = { users: true, max_per_user: 20, max_age: 365 * DAY, overlap: DAY }

t.test('as shipped users of the B side have keys, and those of the C side have none', async t => {
  t.same(settingsOf(t, '').keys, { business: SHIPPED, consumer: 'off' })
  t.same(settingsOf(t, 'keys: {}').keys, { business: SHIPPED, consumer: 'off' })
})

t.test('what is written of a side is taken, and the rest has its default', async t => {
  const { keys } = settingsOf(
    t,
    `${CONSUMERS}keys: { business: { users: off, max_per_user: 5 }, consumer: { max_age: 30d, overlap: 10m } }`,
  )
  t.same(keys, {
    business: { ...SHIPPED, users: false, max_per_user: 5 },
    consumer: { ...SHIPPED, max_age: 30 * DAY, overlap: 600_000 },
  })
  t.same(settingsOf(t, `${CONSUMERS}keys: { consumer: {} }`).keys.consumer, SHIPPED)
})

t.test('the environment sets them, too', async t => {
  t.equal(settingsOf(t, '', { KEYS__BUSINESS: 'off' }).keys.business, 'off')
  t.match(settingsOf(t, '', { KEYS__BUSINESS__USERS: 'off', KEYS__BUSINESS__MAX_AGE: '90d' }).keys.business, {
    users: false,
    max_age: 90 * DAY,
    max_per_user: 20,
  })
})

t.test('keys of consumers need accounts of consumers', async t => {
  const needs =
    /keys\.consumer: needs login\.consumer: keys belong to accounts that the gateway knows; set it, or switch the keys off$/
  t.match(faultsOf(t, 'keys: { consumer: {} }'), [needs])
  t.same(faultsOf(t, 'keys: { consumer: off }'), [])
  t.same(faultsOf(t, `${CONSUMERS}keys: { consumer: {} }`), [])
})

t.test('a lifetime is a day or more, and a number is one that can be kept', async t => {
  const faults: [yaml: string, fault: RegExp][] = [
    ['max_age: 23h', /keys\.business\.max_age: must be 1d or more$/],
    ['max_age: 0s', /keys\.business\.max_age: /],
    ['max_age: forever', /keys\.business\.max_age: .*duration/],
    ['max_per_user: 0', /keys\.business\.max_per_user: /],
    ['max_per_user: 1001', /keys\.business\.max_per_user: /],
    ['max_per_user: 1.5', /keys\.business\.max_per_user: /],
    ['users: maybe', /keys\.business\.users: /],
    ['overlap: 24', /keys\.business\.overlap: /],
  ]
  for (const [yaml, fault] of faults) t.match(faultsOf(t, `keys: { business: { ${yaml} } }`), [fault], yaml)
  for (const yaml of ['max_age: 1d', 'max_age: 3650d', 'max_per_user: 1', 'max_per_user: 1000', 'overlap: 1s'])
    t.same(faultsOf(t, `keys: { business: { ${yaml} } }`), [], yaml)
})

t.test('an unknown key is a fault that names its place', async t => {
  t.match(faultsOf(t, 'keys: { buisness: off }'), [/keys\.buisness: unknown setting; did you mean business/])
  t.match(faultsOf(t, 'keys: { business: { max_keys: 3 } }'), [/keys\.business\.max_keys: unknown setting/])
  t.match(faultsOf(t, 'keys: off'), [/keys: /])
  t.match(faultsOf(t, 'keys: { business: on }'), [/keys\.business: /])
})

/** The routes of keys that a gateway with these settings serves. */
function routesOf(settings: Settings, profile: 1 | 2 = 1): string[] {
  const routes = [...ownRoutes(settings, PROFILES[profile])]
  return routes.filter(route => /^(?!HEAD).* \/api\/.*\/(?:keys?(?:\/|$)|token$)/.test(route)).sort()
}

const OWN = (section: string) =>
  ['GET …/account/keys', 'POST …/account/keys/add', 'POST …/account/keys/revoke', 'POST …/account/keys/rotate'].map(
    route => route.replace('…', `/api/v1/${section}`),
  )
const ADMINISTRATION = (base: string) => [
  `GET /api/v1/${base}/page`,
  `POST /api/v1/${base}/add`,
  `POST /api/v1/${base}/revoke`,
]

t.test('routes follow from the settings', async t => {
  const served = (yaml: string, profile: 1 | 2 = 1) =>
    routesOf(settingsOf(t, profile === 2 ? `profile: 2\n${yaml}` : yaml), profile)
  const token = 'POST /api/v1/public/b/token'
  t.same(served(''), [...OWN('b'), ...ADMINISTRATION('sys/key'), token].sort())
  t.same(served('keys: { business: off }'), [])
  t.same(served('keys: { business: { users: off } }'), [...ADMINISTRATION('sys/key'), token].sort())
  t.same(
    served(`${CONSUMERS}keys: { business: off, consumer: {} }`),
    [...OWN('c'), ...ADMINISTRATION('client/key'), 'POST /api/v1/public/c/token'].sort(),
  )
  t.same(served('', 2), [...OWN('b'), token].sort(), 'without an administration')
  t.same(
    served('session_administration: on', 2),
    [...OWN('b'), 'GET /api/v1/sys/key/page', 'POST /api/v1/sys/key/revoke', token].sort(),
    'keys are made for accounts that are administered here',
  )
  t.same(served('account_administration: on', 2), [...OWN('b'), ...ADMINISTRATION('sys/key'), token].sort())
})

import t from 'tap'
import { call } from '../support/client.ts'
import { someone, withEveryStore } from '../support/gateway-fixture.ts'

/* What services may hand to the operations by mistake, or be made to hand on. */

const BAD_IDS = [
  ...[
    '',
    ' ',
    'a b',
    'a\n',
    'a\0',
    'é',
    '中',
    '*',
    'a*',
    'a?',
    '[a]',
    'a/b',
    '../a',
    'a\\b',
    '{a}',
    '"',
    "'",
    '<a>',
    '%41',
  ],
  ...['a'.repeat(129), 'a\r\nX-Login-Type: BUSINESS', null, 0, 12, 2 ** 64, true, ['a'], { a: 1 }],
]

/** Ids with what separates keys: each is one user and no other. */
const NEAR_IDS = [
  '1',
  '1:1',
  ':1',
  '1:',
  ':',
  'token:x',
  'session:1',
  'BUSINESS:1',
  'disable:1',
  '__proto__',
  'constructor',
]

const BAD_SECONDS = [0, -0, -1, 1.5, 0.1, 315_360_001, 1e12, 1e21, '60', '', ' ', true, [60], { a: 60 }]
const RAW_SECONDS = ['1e400', '-1e400', '1e-400', '9007199254740993']

const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`

const BAD_EXTRAS = [
  ...['[]', '"x"', '12', 'true', '[{}]'],
  ...[nested(17), nested(1000), `{"a":${'['.repeat(17)}${']'.repeat(17)}}`],
  ...[`{"a":"${'x'.repeat(8192)}"}`, `{"a":"${'中'.repeat(3000)}"}`, `{"${'k'.repeat(8192)}":1}`],
]

withEveryStore(t, async (t, fixture) => {
  for (const side of ['business', 'consumer'] as const) {
    const operate = (operation: string, body?: unknown) => fixture.operate(side, operation, body)
    const refusal = (field: string) => ({ code: 400, success: false, data: null, message: new RegExp(`^${field}: `) })

    t.test(`${side}: an id that is invalid in keys or headers is refused by every operation`, async t => {
      for (const user_id of BAD_IDS) {
        for (const [operation, rest] of [
          ['login', {}],
          ['kickout', {}],
          ['kickout-token', { token: 'a.b.c' }],
          ['disable', { seconds: 60 }],
          ['is-disable', {}],
          ['untie-disable', {}],
        ] as const) {
          t.match(await operate(operation, { user_id, ...rest }), refusal('user_id'), `${operation} ${user_id}`)
        }
      }
    })

    t.test(`${side}: ids that look like keys are separate users`, async t => {
      const tokens = new Map<string, string>()
      for (const user_id of NEAR_IDS) tokens.set(user_id, (await operate('login', { user_id })).data.token)
      for (const [user_id, token] of tokens) t.same((await operate('get-login-id', { token })).data, { user_id })
      for (const user_id of NEAR_IDS) {
        await operate('kickout', { user_id })
        await operate('disable', { user_id, seconds: 60 })
        tokens.delete(user_id)
        for (const [other, token] of tokens) {
          t.same((await operate('get-login-id', { token })).data, { user_id: other }, `${other} stays`)
          t.same((await operate('is-disable', { user_id: other })).data, { is_disable: false })
        }
      }
      for (const user_id of NEAR_IDS) await operate('untie-disable', { user_id })
    })

    t.test(`${side}: invalid seconds are refused, and change nothing`, async t => {
      const user = someone()
      const { token } = (await operate('login', { user_id: user })).data
      for (const seconds of BAD_SECONDS) {
        t.match(await operate('disable', { user_id: user, seconds }), refusal('seconds'), String(seconds))
        t.match(await operate('renew-timeout', { token, seconds }), refusal('seconds'), String(seconds))
      }
      for (const seconds of RAW_SECONDS) {
        t.match(await operate('disable', `{"user_id":"${user}","seconds":${seconds}}`), refusal('seconds'), seconds)
        t.match(
          await operate('renew-timeout', `{"token":"${token}","seconds":${seconds}}`),
          refusal('seconds'),
          seconds,
        )
      }
      t.same((await operate('is-disable', { user_id: user })).data, { is_disable: false })
      t.same((await operate('is-login', { token })).data, { is_login: true })
    })

    t.test(`${side}: extra that cannot be stored is refused, and the login fails`, async t => {
      const user = someone()
      for (const extra of BAD_EXTRAS) {
        t.match(await operate('login', `{"user_id":"${user}","extra":${extra}}`), refusal('extra'), extra.slice(0, 40))
      }
      const type = side === 'business' ? 'BUSINESS' : 'CONSUMER'
      t.same(await fixture.store.sessions.tokens(type, user), [])
    })

    t.test(`${side}: extra is data with any names`, async t => {
      const user = someone()
      const written = `{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}},"toJSON":1,"a":1,"a":2}`
      const { token } = (await operate('login', `{"user_id":"${user}","extra":${written}}`)).data
      t.equal(({} as { admin?: unknown }).admin, undefined, 'nothing else has it')
      const record = await fixture.store.sessions.find(side === 'business' ? 'BUSINESS' : 'CONSUMER', token)
      t.equal(JSON.stringify(record?.extra), written.replace('"a":1,', ''), 'of equal names the last counts')
      if (fixture.profile === 1) return
      const extraOf = async (name: string) => (await operate('get-extra', { token, name })).data.value
      t.equal(await extraOf('a'), 2)
      t.same(await extraOf('__proto__'), { admin: true })
      for (const name of ['toString', 'hasOwnProperty', 'valueOf', 'admin', ''])
        t.equal(await extraOf(name), null, name)
    })
  }

  t.test('the operations require the secret, and are not on the public port', async t => {
    const path = '/operations/v1/business/login'
    const body = { user_id: someone() }
    for (const token of [
      undefined,
      '',
      'x',
      `${fixture.settings.internal.secret}x`,
      fixture.settings.internal.secret.slice(1),
    ]) {
      const answer = await call(fixture.internal, { method: 'POST', path, body, ...(token !== undefined && { token }) })
      t.equal(answer.status, 401)
      t.equal(answer.json().data, null)
    }
    const outside = await fixture.call({ method: 'POST', path, body, token: fixture.settings.internal.secret })
    t.equal(outside.status, 404)
  })
})

import t from 'tap'
import { codeAt } from '../second-factor/factor-fixture.ts'
import { ADMIN, openFixture } from '../support/gateway-fixture.ts'

/* Everything that can stand in the place of a code. None of it is accepted or a fault of the gateway, or stores anything. */

const BASE = '/api/v1/b/account/second-factor'

const fixture = await openFixture(t, { config: { login: { lockout: { disable: '1ms', failures: 100_000 } } } })
const token = await fixture.signIn()
const { password: current_password } = await fixture.credentials()
const post = async (name: string, body: unknown) => (await fixture.post(`${BASE}/${name}`, body, token)).json()
const { secret } = (await post('setup', { current_password })).data
const [recoveryCode] = (await post('confirm', { code: codeAt(secret, fixture.now()) })).data.recovery_codes
const right = codeAt(secret, fixture.now(), 1)
const inFullWidth = right.replace(/\d/g, digit => String.fromCharCode(digit.charCodeAt(0) + 0xfee0))

const CODES: readonly unknown[] = [
  '',
  ' ',
  null,
  Number(right),
  [right],
  [recoveryCode],
  { code: right },
  true,
  `${right}0`,
  `0${right}`,
  right.slice(0, 5),
  `+${right}`,
  `${right}.0`,
  `0x${right}`,
  `${right}\u0000`,
  `-${right}`,
  inFullWidth,
  `${right},${codeAt(secret, fixture.now(), 2)}`,
  `${recoveryCode}-`.repeat(2),
  recoveryCode.slice(0, -1),
  `${recoveryCode}0`,
  recoveryCode.replaceAll('-', '–'),
  `${recoveryCode}\u0000`,
  '*',
  '%',
  "' OR '1'='1",
  '__proto__',
  '../../x',
  '0'.repeat(64),
  '0'.repeat(65),
  '\ud800',
  'ſ'.repeat(16),
]

const INVALID =
  /^(?:Wrong code|code: .+|Account disabled, try again in \d+ min|No second factor is set up|The set-up has expired.*)$/

for (const [index, code] of CODES.entries()) {
  t.test(`as a code, ${JSON.stringify(code)?.slice(0, 60)} is refused (${index})`, async t => {
    for (const name of ['setup', 'confirm', 'recovery-codes', 'remove']) {
      const answer = await post(name, { current_password, code })
      t.match(answer, { success: false, code: /^40[03]$/, message: INVALID }, name)
      t.match(answer.data, answer.message.startsWith('Account disabled') ? { disable_time: Number } : null)
    }
  })
}

t.test('fields beside those that are described change nothing', async t => {
  const more = { account_id: '2', user_id: '2', secret, sealed: 'x', type: 'CONSUMER', recovery_codes: [recoveryCode] }
  t.match(await post('remove', { ...more, current_password, code: '000000' }), { success: false })
  const body = `{"current_password":"${current_password}","code":"000000","__proto__":{"code":"${right}"},"code ":"${right}"}`
  t.match((await fixture.post(`${BASE}/remove`, body, token)).json(), { success: false })
  const twice = `{"current_password":"${current_password}","code":"${right}","code":"000000"}`
  t.match((await fixture.post(`${BASE}/remove`, twice, token)).json(), { success: false })
})

t.test('no user reaches the second factor of another user, or without a session of its side', async t => {
  const stranger = await fixture.gateway.sides.business.login(undefined, '2', { username: ADMIN.username })
  const consumer = await fixture.gateway.sides.consumer.login(undefined, '1', { username: ADMIN.username })
  for (const name of ['setup', 'recovery-codes', 'remove']) {
    const body = { current_password, code: recoveryCode }
    t.match((await fixture.post(`${BASE}/${name}`, body, stranger)).json(), {
      code: 400,
      message: 'Wrong username or password',
    })
    for (const other of [consumer, undefined, 'x'])
      t.match((await fixture.post(`${BASE}/${name}`, body, other)).json(), { code: 401 })
  }
  t.match((await fixture.post(`${BASE}/confirm`, { code: right }, stranger)).json(), { code: 400 })
})

t.test('after all of this, the code that was right is still worth once', async t => {
  // The last try may have locked the step, for a day at most.
  await fixture.elapse(86_400_000)
  const answer = await post('recovery-codes', { current_password, code: recoveryCode })
  t.match(answer, { code: 200 })
  t.match(await post('recovery-codes', { current_password, code: recoveryCode }), { code: 400, message: 'Wrong code' })
})

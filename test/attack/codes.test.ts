import t from 'tap'
import { codeAt, wrongCode } from '../second-factor/factor-fixture.ts'
import { ADMIN, openFixture } from '../support/gateway-fixture.ts'

/*
 * Everything that can stand in the place of a code. None of it is accepted, is a fault of the gateway, or stores anything. Each is
 * checked while the step is not locked: a right code afterwards ends the count of the wrong ones.
 */

interface Known {
  /** The code of the authenticator app, and the one after it. */
  right: string
  next: string
  recoveryCode: string
}

const BASE = '/api/v1/b/account/second-factor'
/** How long a code of the app is the present one. */
const STEP = 30_000

const fixture = await openFixture(t)
const token = await fixture.signIn()
const { password: current_password } = await fixture.credentials()
const post = async (name: string, body: unknown) => (await fixture.post(`${BASE}/${name}`, body, token)).json()
const { secret } = (await post('setup', { current_password })).data
let [recoveryCode] = (await post('confirm', { code: codeAt(secret, fixture.now()) })).data.recovery_codes

/** What a client with the second factor knows from now on: the code of a step that was not used. */
async function know(): Promise<Known> {
  await fixture.elapse(STEP)
  const now = fixture.now()
  return { right: codeAt(secret, now), next: codeAt(secret, now, 1), recoveryCode }
}

const CODES: readonly ((known: Known) => unknown)[] = [
  () => '',
  () => ' ',
  () => null,
  ({ right }) => Number(right),
  ({ right }) => [right],
  ({ recoveryCode }) => [recoveryCode],
  ({ right }) => ({ code: right }),
  () => true,
  ({ right }) => `${right}0`,
  ({ right }) => `0${right}`,
  ({ right }) => right.slice(0, 5),
  ({ right }) => `+${right}`,
  ({ right }) => `${right}.0`,
  ({ right }) => `0x${right}`,
  ({ right }) => `${right}\u0000`,
  ({ right }) => `-${right}`,
  ({ right, next }) => `${right},${next}`,
  ({ recoveryCode }) => `${recoveryCode}-`.repeat(2),
  ({ recoveryCode }) => recoveryCode.slice(0, -1),
  ({ recoveryCode }) => `${recoveryCode}0`,
  ({ recoveryCode }) => recoveryCode.replaceAll('-', '–'),
  ({ recoveryCode }) => `${recoveryCode}\u0000`,
  () => '*',
  () => '%',
  () => "' OR '1'='1",
  () => '__proto__',
  () => '../../x',
  () => '0'.repeat(64),
  () => '0'.repeat(65),
  () => '\ud800',
  () => 'ſ'.repeat(16),
]
/** For the names of the tests. */
const EXAMPLE: Known = { right: '123456', next: '234567', recoveryCode: '7K2M-9QXD-0F4T-VW8A' }

const INVALID = /^(?:Wrong code|code: .+|No second factor is set up|The set-up has expired.*)$/

for (const [index, codeOf] of CODES.entries()) {
  t.test(`as a code, ${JSON.stringify(codeOf(EXAMPLE)).slice(0, 60)} is refused (${index})`, async t => {
    const known = await know()
    const code = codeOf(known)
    for (const name of ['setup', 'confirm', 'recovery-codes', 'remove'])
      t.match(
        await post(name, { current_password, code }),
        { success: false, code: /^40[03]$/, message: INVALID, data: null },
        name,
      )
    const answer = await post('recovery-codes', { current_password, code: known.right })
    t.match(answer, { code: 200 }, 'the right code is still worth once')
    recoveryCode = answer.data.recovery_codes[0]
  })
}

t.test('fields beside those that are described change nothing', async t => {
  const { right } = await know()
  const wrong = wrongCode(secret, fixture.now())
  const more = { account_id: '2', user_id: '2', secret, sealed: 'x', type: 'CONSUMER', recovery_codes: [recoveryCode] }
  t.match(await post('remove', { ...more, current_password, code: wrong }), { success: false })
  const body = `{"current_password":"${current_password}","code":"${wrong}","__proto__":{"code":"${right}"},"code ":"${right}"}`
  t.match((await fixture.post(`${BASE}/remove`, body, token)).json(), { success: false })
  const twice = `{"current_password":"${current_password}","code":"${right}","code":"${wrong}"}`
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
  const { right } = await know()
  t.match((await fixture.post(`${BASE}/confirm`, { code: right }, stranger)).json(), { code: 400 })
})

t.test('after all of this, the recovery code that was right is still worth once', async t => {
  const answer = await post('recovery-codes', { current_password, code: recoveryCode })
  t.match(answer, { code: 200 })
  t.match(await post('recovery-codes', { current_password, code: recoveryCode }), { code: 400, message: 'Wrong code' })
})

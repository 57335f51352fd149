import t from 'tap'
import { codeAt, wrongCodes } from '../second-factor/factor-fixture.ts'
import { ADMIN, openFixture } from '../support/gateway-fixture.ts'

/*
 * A client that wants what it did to disappear from the journal, behind as many other entries as it can cause: the journal has
 * a greatest number of entries, and then the oldest are removed.
 */

const LIMIT = 4
const FLOOD = 25

const fixture = await openFixture(t, { config: { login: { rate_limit: { login: LIMIT, window: '600s' } } } })
const { business } = fixture.gateway.sides
const chief = await business.login(undefined, '9', { roles: ['SUPER_ADMIN'] })

async function failuresOf(query: Record<string, string>): Promise<string[]> {
  const asked = new URLSearchParams({ size: '100', ...query })
  const { data } = (await fixture.get(`/api/v1/sys/journal/page?${asked}`, chief)).json()
  return data.records.map(({ reason }: { reason: string }) => reason)
}

t.test('a client without a session cannot fill the journal with logins that are refused unchecked', async t => {
  const body = { captcha_id: 'x', captcha_value: 'x', username: 'x', password: 'x' }
  const codes: number[] = []
  for (let i = 0; i < FLOOD; i++) codes.push((await fixture.post('/api/v1/public/b/login', body)).json().code)
  t.same(codes, [...Array(LIMIT).fill(400), ...Array(FLOOD - LIMIT).fill(429)])
  t.same(await failuresOf({ event: 'login-failed' }), Array(LIMIT).fill('CAPTCHA_GONE'))
  const metrics = await (await fetch(`${fixture.internal}/metrics`)).text()
  t.match(
    metrics,
    `dualgate_logins_total{side="BUSINESS",result="TOO_MANY_ATTEMPTS"} ${FLOOD - LIMIT}`,
    'they are counted',
  )
  await fixture.elapse(600_000)
})

t.test('a user cannot fill the journal with wrong codes for a second factor', async t => {
  const token = await business.login(undefined, '1', { username: ADMIN.username })
  const { password: current_password } = await fixture.credentials()
  const post = async (name: string, body: object) =>
    (await fixture.post(`/api/v1/b/account/second-factor/${name}`, body, token)).json()
  const { secret } = (await post('setup', { current_password })).data
  const codes: number[] = []
  for (const code of wrongCodes(secret, fixture.now(), FLOOD)) codes.push((await post('confirm', { code })).code)
  t.same(codes, [...Array(LIMIT).fill(400), ...Array(FLOOD - LIMIT).fill(429)])
  t.same(await failuresOf({ event: 'second-factor-failed', login_id: '1' }), Array(LIMIT).fill('WRONG_CODE'))
  t.match(await post('confirm', { code: codeAt(secret, fixture.now()) }), { code: 429 })
})

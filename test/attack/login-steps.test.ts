import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import bcrypt from 'bcrypt'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log/log.ts'
import { createGateway } from '../../src/gateway/gateway.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import type { Store } from '../../src/store/store.ts'
import { codeAt, wrongCodes } from '../second-factor/factor-fixture.ts'
import { call } from '../support/client.ts'
import { openFixture } from '../support/gateway-fixture.ts'
import { encrypt, loginWork } from '../support/login-work.ts'
import { withoutRedis } from '../support/redis-server.ts'
import { startSupervised } from '../support/supervised.ts'
import { PATIENCE } from '../support/until.ts'

/*
 * An attacker who has learned a password, and has only the second factor left to guess: with as many requests at once as the
 * gateways take, over connections that meet every worker and every gateway of the store.
 */

const LOGIN = '/api/v1/public/b/login'
const PASSWORD = 'learned by an attacker'
const AT_ONCE = 64

/** Nothing but the steps limits the attacker. */
const UNLIMITED = { rate_limit: 'off', lockout: { address_failures: 10_000 } }

const accountsFile = (): string => {
  const password = bcrypt.hashSync(PASSWORD, 4)
  return stringify({ accounts: ['ann', 'ben'].map(name => ({ id: name, username: name, password })) })
}

/** Where the requests go, in turn, and the store in which the test reads the answers of captchas. */
interface Target {
  urls: readonly string[]
  store: Store
}

async function attack(t: Test, { urls, store }: Target): Promise<void> {
  const post = async (path: string, body: object, turn = 0) =>
    (await call(urls[turn % urls.length]!, { method: 'POST', path: LOGIN + path, body })).json()
  const key = (await call(urls[0]!, { path: '/api/v1/public/b/sm2/public-key' })).json().data

  /** What a login with the right password demands. */
  async function demanded(username: string): Promise<{ ticket: string; required: string }> {
    const { captcha_id } = (await call(urls[0]!, { path: '/api/v1/public/b/captcha' })).json().data
    const captcha_value = await store.captchas.take('BUSINESS', captcha_id)
    await store.captchas.put('BUSINESS', captcha_id, captcha_value!, Date.now() + 60_000)
    const password = encrypt(PASSWORD, key)
    return (await post('', { captcha_id, captcha_value, username, password })).data
  }

  /** Sets a second factor up, as its owner did long before, and answers its secret. */
  async function enrolled(username: string): Promise<string> {
    const { ticket } = await demanded(username)
    const { secret } = (await post('/second-factor/setup', { ticket })).data
    t.equal((await post('/second-factor', { ticket, code: codeAt(secret, Date.now()) })).code, 200)
    return secret
  }

  /** A code that was not used yet. It is accepted for a minute: logins take longer on a busy machine. */
  const nextCode = (secret: string): string => codeAt(secret, Date.now(), 1)

  const enter = (tickets: readonly string[], codes: readonly string[]) =>
    Promise.all(codes.map((code, i) => post('/second-factor', { ticket: tickets[i % tickets.length], code }, i)))

  await t.test(`of ${AT_ONCE} guesses at once on one ticket no more than five are checked`, async t => {
    const secret = await enrolled('ann')
    const { ticket, required } = await demanded('ann')
    t.equal(required, 'second-factor')
    const answers = await enter([ticket], wrongCodes(secret, Date.now(), AT_ONCE))
    const wrong = answers.filter(({ message }) => message === 'Wrong code')
    t.ok(wrong.length <= 5, `${wrong.length} were checked`)
    for (const answer of answers) t.match(answer, { success: false, code: /^40[03]$/ })
    const late = await post('/second-factor', { ticket, code: nextCode(secret) })
    t.match(late, { code: 400, data: { required: 'login' } })
  })

  await t.test(`${AT_ONCE} uses of one right code at once, on four tickets, give one token`, async t => {
    const secret = await enrolled('ben')
    const tickets: string[] = []
    for (let i = 0; i < 4; i++) tickets.push((await demanded('ben')).ticket)
    const answers = await enter(tickets, Array(AT_ONCE).fill(nextCode(secret)))
    t.equal(answers.filter(({ success }) => success).length, 1)
    // One of the set-up, one of this code.
    t.equal((await store.sessions.tokens('BUSINESS', 'ben')).length, 2)
  })
}

t.test('against two workers of one gateway', async t => {
  const gateway = await startSupervised(t, {
    files: {
      'config/accounts.yaml': accountsFile(),
      'config/gateway.yaml': stringify({
        data: 'data',
        upstreams: 'upstreams.yaml',
        login: { ...UNLIMITED, second_factor: { for: 'all' } },
      }),
    },
  })
  const store = await openEmbeddedStore(join(gateway.folder, 'data'), systemClock, PATIENCE)
  t.teardown(() => store.close())
  await attack(t, { urls: [gateway.url], store })
})

t.test('against two gateways on one Redis', { skip: withoutRedis }, async t => {
  const config = { login: { ...UNLIMITED, second_factor: { for: 'all' } } }
  const fixture = await openFixture(t, { store: 'redis', config })
  writeFileSync(join(fixture.folder, 'accounts.yaml'), accountsFile())
  const second = await createGateway(fixture.settings, {
    log: createLog('fatal'),
    clock: systemClock,
    helpers: loginWork,
  })
  const { public: url } = await second.listen()
  t.teardown(() => second.close())
  await attack(t, { urls: [fixture.url, url], store: fixture.store })
})

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import bcrypt from 'bcrypt'
import t from 'tap'
import { stringify } from 'yaml'
import { versionOf } from '../../src/account/version.ts'
import { codeAt } from '../second-factor/factor-fixture.ts'
import { call } from '../support/client.ts'
import { encrypt } from '../support/login-work.ts'
import { withoutRedis } from '../support/redis-server.ts'
import { startSupervised } from '../support/supervised.ts'
import { until } from '../support/until.ts'

/* One second factor and two worker processes. */

const PASSWORD = 'correct horse 4'
const passwordHash = bcrypt.hashSync(PASSWORD, 4)
const ENTRY = { id: '7', username: 'ann', password: passwordHash, roles: ['operator'] }
/** So many connections meet both workers. */
const CONNECTIONS = 12

for (const store of ['embedded', 'redis'] as const) {
  const skip = store === 'redis' && withoutRedis
  t.test(`of 64 uses of one code at once one succeeds, and its session survives: ${store} store`, { skip }, async t => {
    const accounts = stringify({ accounts: [ENTRY] })
    const gateway = await startSupervised(t, {
      store,
      files: { 'config/accounts.yaml': accounts },
      environment: { STORE__TIMEOUT: '10s', LOGIN__RATE_LIMIT: 'off', LOGIN__LOCKOUT__ADDRESS_FAILURES: '1000' },
    })
    const extra = { username: 'ann', account_version: versionOf({ passwordHash, extra: ENTRY }) }
    const begin = async (): Promise<string> =>
      (await gateway.operate('business', 'login', { user_id: '7', extra })).data.token
    const liveOn = async (token: string): Promise<number> => {
      const asked = Array.from({ length: CONNECTIONS }, () => call(gateway.url, { path: '/api/v1/b/x', token }))
      return (await Promise.all(asked)).filter(({ text }) => !text.includes('"code":401')).length
    }
    const [own, other] = [await begin(), await begin()]
    // Only a worker that has read the file before says that it was read again.
    const ownAccount = { path: '/api/v1/b/account', token: own }
    for (const { status } of await Promise.all(
      Array.from({ length: CONNECTIONS }, () => call(gateway.url, ownAccount)),
    ))
      t.equal(status, 200)
    const key = (await call(gateway.url, { path: '/api/v1/public/b/sm2/public-key' })).json().data
    const current_password = encrypt(PASSWORD, key)
    const post = async (name: string, body: object) => {
      const path = `/api/v1/b/account/second-factor/${name}`
      return (await call(gateway.url, { method: 'POST', path, token: own, body })).json()
    }

    const { secret } = (await post('setup', { current_password })).data
    const confirmed = await Promise.all(
      Array.from({ length: 64 }, () => post('confirm', { code: codeAt(secret, Date.now()) })),
    )
    t.equal(confirmed.filter(({ success }) => success).length, 1)
    t.equal(await liveOn(own), CONNECTIONS)
    t.equal(await liveOn(other), CONNECTIONS)

    t.ok(await until(() => gateway.logged('the accounts were read again').length === 2), 'both workers know it')
    writeFileSync(join(gateway.folder, 'config/accounts.yaml'), accounts)
    t.ok(await until(async () => (await liveOn(own)) === 0), 'a factor that is lost ends the sessions that carry it')
    t.equal(await liveOn(other), CONNECTIONS, 'a session from before the factor does not')
  })
}

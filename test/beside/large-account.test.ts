import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { hashPassword } from '../../src/account/password.ts'
import { ADMIN, openFixture } from '../support/gateway-fixture.ts'

const AVATAR = `data:image/png;base64,${'A'.repeat(600_000)}`

t.test('an account with a large picture signs in; its column is left out, and the log names it once', async t => {
  const account = { id: '1', username: ADMIN.username, password: await hashPassword(ADMIN.password), status: 'ACTIVE' }
  const answer = JSON.stringify({ ...account, avatar: AVATAR, nickname: 'Ada', roles: ['SUPER_ADMIN'] })
  const server = createServer((_, response) => response.end(answer))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const fixture = await openFixture(t, {
    config: { accounts: { kind: 'http', url, secret: 'a secret of the accounts', timeout: '30s' } },
  })

  const token = await fixture.signIn()
  const record = await fixture.gateway.sides.business.getLoginIdByToken(token)
  t.equal(record, '1')
  const { records } = (await fixture.get('/api/v1/sys/session/page', token)).json().data
  t.match(records, [{ nickname: 'Ada', avatar: null }])
  const lines = fixture.log.map(line => JSON.parse(line)).filter(line => line.columns !== undefined)
  t.match(lines, [{ login_id: '1', columns: ['avatar'], source: 'http' }])
  t.equal(lines.length, 1)
  t.notOk(
    fixture.log.some(line => line.includes('AAAAAAAA')),
    'never the value',
  )
})

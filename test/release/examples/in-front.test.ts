import t from 'tap'
import { IDENTITY_SPELLINGS } from '../../../src/base/header-names.ts'
import { call } from '../../support/client.ts'
import { startFixture } from '../../support/gateway-fixture.ts'
import { until } from '../../support/until.ts'
import { type Arrived, startUpstream } from '../../support/upstream.ts'
import { closingOf, openEnd, refusalOf, startSocketUpstream } from '../../support/websocket-sockets.ts'
import { firstPartOf, IN_FRONT } from './proxies.ts'

/* Real proxies before the gateway, with the examples of config/examples. The client has another address than the proxy. */

const CLIENT = '127.0.0.2'

for (const { name, skip, start } of IN_FRONT) {
  t.test(`a gateway behind ${name}`, { skip }, async t => {
    const backend = await startUpstream()
    const live = await startSocketUpstream(t)
    const fixture = await startFixture({
      config: { trusted_proxies: ['127.0.0.1'] },
      upstreams: [
        { name: 'live', match: '/api/v1/c/live', target: live.url, websocket: {} },
        { name: 'backend', match: '/api/v1', target: backend.url },
      ],
    })
    t.teardown(() => Promise.all([fixture.close(), backend.close()]))
    const url = await start(t, { gateway: fixture.url })
    const login = async () => (await fixture.operate('consumer', 'login', { user_id: '42' })).data.token as string
    const token = await login()

    /** What a request of the client leads to, and what arrives at the backend. */
    const ask = async (path: string, headers: Record<string, string> = {}, by?: string) => {
      const before = backend.requests.length
      const answer = await call(url, { path, headers, localAddress: CLIENT, ...(by !== undefined && { token: by }) })
      return { answer, arrived: backend.requests.slice(before)[0] }
    }
    const identityIn = ({ headers }: Arrived) => [headers['x-login-id'], headers['x-login-type']]

    t.test('forwards a request with a live session, with its identity and the path as it was sent', async t => {
      const { answer, arrived } = await ask('/api/v1/c/orders/a%20b?q=%2f&&r', {}, token)
      t.equal(answer.status, 200)
      t.equal(arrived?.url, '/api/v1/c/orders/a%20b?q=%2f&&r')
      t.same(identityIn(arrived!), ['42', 'CONSUMER'])
      t.equal(arrived?.headers.authorization, undefined)
    })

    t.test('refuses a request without a session of the side', async t => {
      for (const [path, by] of [
        ['/api/v1/c/orders', undefined],
        ['/api/v1/c/orders', `${token}x`],
        ['/api/v1/orders', token],
      ] as const) {
        const { answer, arrived } = await ask(path, {}, by)
        t.match(answer.json(), { code: 401, success: false }, path)
        t.equal(arrived, undefined, path)
      }
    })

    t.test('forwards no ambiguous path', async t => {
      for (const path of ['/api/v1/c/%2e%2e/sys/u', '/api/v1/c/..;/x', '/api/v1/public/b/..%2fx']) {
        const { answer, arrived } = await ask(path, {}, token)
        t.ok(answer.status >= 400, path)
        t.equal(arrived, undefined, path)
      }
    })

    t.test('forwards no forged identity, however it is spelled', async t => {
      for (const spelling of IDENTITY_SPELLINGS) {
        const forged = { [spelling]: 'forged' }
        for (const [path, by, identity] of [
          ['/api/v1/c/x', token, ['42', 'CONSUMER']],
          ['/api/v1/public/b/x', undefined, [undefined, undefined]],
        ] as const) {
          const { arrived } = await ask(path, forged, by)
          t.same(identityIn(arrived!), identity, `${spelling} at ${path}`)
          t.notOk(arrived!.rawHeaders.includes('forged'), `${spelling} at ${path}`)
        }
      }
    })

    t.test('knows the address of the client, which the client cannot choose', async t => {
      for (const headers of [{}, { 'x-forwarded-for': '203.0.113.9' }, { 'x-real-ip': '203.0.113.9' }]) {
        const { arrived } = await ask('/api/v1/c/x', headers as Record<string, string>, token)
        t.same([arrived?.headers['x-forwarded-for'], arrived?.headers['x-real-ip']], [CLIENT, undefined])
      }
    })

    t.test('believes no host that the client names in X-Forwarded-Host', async t => {
      const { arrived } = await ask('/api/v1/c/x', { 'x-forwarded-host': 'forged.example' }, token)
      t.equal(arrived?.headers['x-forwarded-host'], new URL(url).host)
    })

    t.test('streams events while the backend still writes them, and ends the stream if the client leaves', async t => {
      backend.answer = (_request, response) => {
        response.setHeader('content-type', 'text/event-stream')
        response.write('data: first\n\n')
      }
      t.equal(await firstPartOf(`${url}/api/v1/c/events`, { authorization: `Bearer ${token}` }), 'data: first\n\n')
      t.ok(await until(() => backend.open === 0))
    })

    t.test('opens WebSockets, and closes them with the session', async t => {
      t.equal(await refusalOf(t, url), 401)
      const mine = await login()
      const end = await openEnd(t, url, { token: mine })
      end.send('hello')
      t.match(live.handshakes.at(-1)?.headers, { 'x-login-id': '42', 'x-login-type': 'CONSUMER' })
      await fixture.operate('consumer', 'kickout-token', { user_id: '42', token: mine })
      t.equal((await closingOf(end))?.code, 4401)
    })
  })
}

import t from 'tap'
import { createLog } from '../../src/base/log/log.ts'
import { business, createGateway } from '../../src/package/library.ts'
import { call } from '../support/client.ts'
import { openFixture, someone } from '../support/gateway-fixture.ts'
import { loginWork } from '../support/login-work.ts'
import { freePort, isListening } from '../support/ports.ts'
import { until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'

/* Gateways that another program embeds, which begins and ends them as it likes. */

t.test('a program embeds gateways', async t => {
  const fixture = await openFixture(t)
  /** Another one on the same store, at ports that no other server gets when it has ended. */
  const create = async () => {
    const { listen, internal } = fixture.settings
    const settings = {
      ...fixture.settings,
      listen: { ...listen, port: await freePort() },
      internal: { ...internal, port: await freePort() },
    }
    return createGateway(settings, { log: createLog('silent'), helpers: loginWork })
  }

  for (const [when, pass] of [
    ['at once', () => undefined],
    ['a turn later', () => new Promise(setImmediate)],
  ] as const)
    t.test(`a gateway that is closed while it begins to listen, ${when}, serves no more`, async t => {
      const gateway = await create()
      const listening = gateway.listen().catch(() => null)
      await pass()
      await gateway.close()
      const urls = await listening
      for (const url of Object.values(urls ?? {}))
        t.notOk(await isListening(Number(new URL(url).port)), `nothing accepts connections at ${url}`)
      await t.rejects(gateway.listen(), { message: /closed/ })
    })

  t.test('a gateway that is closed begins no health checks when it is to listen', async t => {
    const target = await startUpstream()
    t.teardown(() => target.close())
    const health = { path: '/checked' }
    const checked = await openFixture(t, { upstreams: [{ name: 'checked', match: '/c', target: target.url, health }] })
    await until(() => target.requests.length > 0)
    await checked.gateway.close()
    target.requests.length = 0
    await t.rejects(checked.gateway.listen(), { message: /closed/ })
    // A check would have connected before.
    await call(target.url, { path: '/last' })
    t.same(
      target.requests.map(({ url }) => url),
      ['/last'],
    )
  })

  t.test('the functions of the B side are those of the latest gateway that runs', async t => {
    const user = someone()
    const token = await business.login(undefined, user)
    const second = await create()
    t.equal(await business.getLoginIdByToken(token), user)
    await second.close()
    t.equal(await business.getLoginIdByToken(token), user, 'the first one still runs')
    await second.close()
    t.equal(await business.getLoginIdByToken(token), user, 'a gateway closes once')
  })
})

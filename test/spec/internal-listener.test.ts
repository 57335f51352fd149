import t from 'tap'
import { call } from '../support/client.ts'
import { withEveryStore } from '../support/gateway-fixture.ts'

withEveryStore(t, async (t, fixture) => {
  const path = '/operations/v1/business/get-login-type'

  t.test('the operations need the shared secret', async t => {
    const { secret } = fixture.settings.internal
    const other = (character: string | undefined): string => (character === 'x' ? 'y' : 'x')
    for (const token of [
      undefined,
      '',
      'wrong',
      `${secret}x`,
      secret.slice(0, -1),
      // Of the right length.
      'x'.repeat(secret.length),
      other(secret[0]) + secret.slice(1),
      secret.slice(0, -1) + other(secret.at(-1)),
    ]) {
      const answer = await call(fixture.internal, {
        method: 'POST',
        path,
        body: {},
        ...(token !== undefined && { token }),
      })
      t.equal(answer.status, 401)
      t.match(answer.json(), { code: 401, success: false, message: /internal\.secret/ })
    }
    t.equal(
      (await call(fixture.internal, { method: 'POST', path, body: {}, token: fixture.settings.internal.secret }))
        .status,
      200,
    )
  })

  t.test('a session token is not accepted as the secret of the internal listener', async t => {
    const token = await fixture.signIn()
    t.equal((await call(fixture.internal, { method: 'POST', path, body: {}, token })).status, 401)
  })

  t.test('nothing of the internal listener answers on the public port', async t => {
    for (const own of [path, '/livez', '/readyz', '/metrics']) {
      const answer = await fixture.call({
        method: 'POST',
        path: own,
        body: {},
        token: fixture.settings.internal.secret,
      })
      t.equal(answer.status, 404, own)
      t.equal((await fixture.get(own)).status, 404, own)
    }
  })

  t.test('a target in absolute form is read for the authority of Host, and refused for any other', async t => {
    const { host } = new URL(fixture.internal)
    const ask = async (path: string): Promise<number> => (await call(fixture.internal, { path })).status
    t.equal(await ask(`http://${host}/livez`), 200)
    t.equal(await ask(`http://${host}/verify/api/v1/public/b/x`), 200)
    t.equal(await ask(`http://${host}/verify/api/v1/c/x`), 401)
    for (const foreign of ['http://evil.example', `https://${host}`, `http://u@${host}`]) {
      t.equal(await ask(`${foreign}/livez`), 400, foreign)
      t.equal(await ask(`${foreign}/verify/api/v1/public/b/x`), 403, foreign)
    }
  })

  t.test('nothing of the public port answers on the internal one', async t => {
    t.equal((await call(fixture.internal, { path: '/api/v1/public/b/captcha' })).status, 404)
  })

  t.test('/livez and /readyz report that the process and the store answer', async t => {
    t.same((await call(fixture.internal, { path: '/livez' })).json(), { status: 'ok' })
    t.match((await call(fixture.internal, { path: '/readyz' })).json(), { status: 'ok', store: 'ok' })
  })
})

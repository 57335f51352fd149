import t from 'tap'
import { call } from '../support/client.ts'
import { openFixture, someone } from '../support/gateway-fixture.ts'

t.test('permissions of upstreams', async t => {
  const target = 'builtin:echo'
  const fixture = await openFixture(t, {
    upstreams: [
      { name: 'one', match: '/api/v1/one', target, permission: 'shop:order:view' },
      { name: 'all', match: '/api/v1/all', target, permission: ['shop:order:view', 'shop:order:edit'] },
      { name: 'any', match: '/api/v1/any', target, permission: { any: ['shop:order:view', 'shop:order:edit'] } },
      { name: 'public', match: '/api/v1/public/b/guarded', target, permission: 'shop:order:view' },
      { name: 'consumers', match: '/api/v1/c/vip', target, permission: 'shop:vip' },
    ],
  })
  const holding = (...permissions: string[]) =>
    fixture.gateway.sides.business.login(undefined, someone(), { permissions })

  const rows: [path: string, permissions: string[], missing: string | null][] = [
    ['/api/v1/one/x', [], "['shop:order:view']"],
    ['/api/v1/one/x', ['shop:order:view'], null],
    ['/api/v1/one/x', ['shop:**'], null],
    ['/api/v1/one/x', ['shop:*'], "['shop:order:view']"],
    ['/api/v1/all/x', ['shop:order:view'], "['shop:order:edit']"],
    ['/api/v1/all/x', ['shop:order:view', 'shop:order:edit'], null],
    ['/api/v1/any/x', ['shop:order:edit'], null],
    ['/api/v1/any/x', ['other:**'], "['shop:order:view', 'shop:order:edit']"],
    ['/api/v1/other', [], null],
  ]
  for (const [path, permissions, missing] of rows) {
    t.test(
      `${path} ${missing === null ? 'is forwarded' : 'is refused'} for a session with ${permissions.join(' ') || 'nothing'}`,
      async t => {
        const answer = await fixture.get(path, await holding(...permissions))
        if (missing === null) return t.equal(answer.json().code, undefined)
        t.equal(answer.status, 403)
        t.match(answer.json(), { code: 403, message: `Missing permission: ${missing}` })
      },
    )
  }

  t.test('another spelling of a path does not pass its permission, neither here nor at /verify', async t => {
    const token = await holding()
    for (const path of ['/api/v1/One/x', '/api/v1/one./x', '/api/v1/one%20/x']) {
      t.equal((await fixture.get(path, token)).json().code, 404, path)
      t.equal((await call(fixture.internal, { path: `/verify${path}`, token })).status, 403, path)
    }
  })

  t.test('without a session no permission is granted, on a public path neither', async t => {
    t.equal((await fixture.get('/api/v1/public/b/guarded')).json().code, 401)
    t.equal((await fixture.get('/api/v1/one/x')).json().code, 401)
  })

  t.test('the permissions of a C session come from its own record', async t => {
    const vip = await fixture.gateway.sides.consumer.login(undefined, someone(), { permissions: ['shop:vip'] })
    const plain = await fixture.gateway.sides.consumer.login(undefined, someone())
    t.equal((await fixture.get('/api/v1/c/vip/x', vip)).json().code, undefined)
    t.equal((await fixture.get('/api/v1/c/vip/x', plain)).status, 403)
  })
})

import { fastify } from 'fastify'
import t from 'tap'
import { createPermissions } from '../../src/account/permissions.ts'
import { createEnvelopes, createErrorHandler } from '../../src/http/server/envelope.ts'
import { createGuards } from '../../src/http/server/guards.ts'
import { decorateRequests } from '../../src/http/server/request.ts'
import type { Extra } from '../../src/session/record.ts'
import type { LoginType } from '../../src/session/sides.ts'
import type { Session } from '../../src/side/side.ts'

const guards = createGuards(createPermissions({ operator: ['sys:session:page'] }))

interface Visitor {
  type: LoginType
  extra?: Extra
}

const sessionOf = ({ type, extra = {} }: Visitor): Session => ({
  token: 'a.b.c' as Session['token'],
  claims: { jti: 'j', iat: 1 } as Session['claims'],
  record: { user_id: '1', type, created_at: '', extra },
})

/** A server with guarded routes, and what it answers to a visitor whose session the gate found. */
async function ask(path: string, visitor: Visitor | null) {
  const app = fastify()
  decorateRequests(app)
  app.setErrorHandler(createErrorHandler(createEnvelopes('zh-CN', 'native')))
  app.addHook('onRequest', async request => {
    request.session = visitor === null ? null : sessionOf(visitor)
  })
  const page = ['sys:session:page']
  const both = ['sys:session:page', 'sys:session:exit']
  const answer = async () => ({ served: true })
  app.get('/b', { onRequest: guards.requireLogin('BUSINESS') }, answer)
  app.get('/c', { preHandler: guards.requireLogin('CONSUMER') }, answer)
  app.get('/b/page', { onRequest: guards.requirePermission('BUSINESS', page) }, answer)
  app.get('/c/page', { preHandler: guards.requirePermission('CONSUMER', page) }, answer)
  app.get('/b/all', { onRequest: guards.requirePermission('BUSINESS', both, { mode: 'all' }) }, answer)
  app.get('/b/any', { onRequest: guards.requirePermission('BUSINESS', both, { mode: 'any' }) }, answer)
  const response = await app.inject(path)
  await app.close()
  return { status: response.statusCode, body: response.json() }
}

const everything: Extra = { roles: ['SUPER_ADMIN'], permissions: ['*', '**', 'sys:session:page', 'sys:session:exit'] }

const VISITS: [path: string, visitor: Visitor | null, status: number][] = [
  ['/b', null, 401],
  ['/c', null, 401],
  ['/b/page', null, 401],
  ['/b/any', null, 401],
  ['/b', { type: 'BUSINESS' }, 200],
  ['/c', { type: 'CONSUMER' }, 200],
  ['/b/page', { type: 'BUSINESS' }, 403],
  ['/b/page', { type: 'BUSINESS', extra: { permissions: ['sys:*:page'] } }, 200],
  ['/b/page', { type: 'BUSINESS', extra: { roles: ['operator'] } }, 200],
  ['/c/page', { type: 'CONSUMER', extra: { roles: ['operator'] } }, 200],
  ['/b/all', { type: 'BUSINESS', extra: { roles: ['operator'] } }, 403],
  ['/b/any', { type: 'BUSINESS', extra: { roles: ['operator'] } }, 200],
  ['/b/any', { type: 'BUSINESS', extra: { roles: ['guest'] } }, 403],
  ['/b/all', { type: 'BUSINESS', extra: everything }, 200],
  // Each side for itself, whatever its session holds.
  ['/b', { type: 'CONSUMER', extra: everything }, 401],
  ['/b/page', { type: 'CONSUMER', extra: everything }, 401],
  ['/b/all', { type: 'CONSUMER', extra: everything }, 401],
  ['/b/any', { type: 'CONSUMER', extra: everything }, 401],
  ['/c', { type: 'BUSINESS', extra: everything }, 401],
  ['/c/page', { type: 'BUSINESS', extra: everything }, 401],
]

t.test('a guard accepts a session of its side with the permission', async t => {
  for (const [path, visitor, status] of VISITS) {
    t.equal((await ask(path, visitor)).status, status, `${path} for ${JSON.stringify(visitor)}`)
  }
})

t.test('a refusal names the permissions that are missing, in the form of the clients in use', async t => {
  const none: Visitor = { type: 'BUSINESS' }
  const operator: Visitor = { type: 'BUSINESS', extra: { roles: ['operator'] } }
  const message = async (path: string, visitor: Visitor) => (await ask(path, visitor)).body.message
  t.equal(await message('/b/page', none), "缺少权限: ['sys:session:page']")
  t.equal(await message('/b/all', none), "缺少权限: ['sys:session:page', 'sys:session:exit']")
  t.equal(await message('/b/all', operator), "缺少权限: ['sys:session:exit']")
  t.equal(await message('/b/any', none), "缺少权限: ['sys:session:page', 'sys:session:exit']")
})

t.test('a guard on a server without a gate refuses every request', async t => {
  const app = fastify()
  app.get('/', { onRequest: guards.requireLogin('BUSINESS') }, async () => 'served')
  t.not((await app.inject('/')).statusCode, 200)
  await app.close()
})

t.test('a guard without a permission, or with a pattern, is an error', async t => {
  for (const codes of [
    [],
    [''],
    ['sys:*'],
    ['**'],
    ['sys:session:page', 'sys session'],
    ["sys:'"],
    ['sys:'],
    ['sys::page'],
  ]) {
    t.throws(() => guards.requirePermission('BUSINESS', codes), TypeError, JSON.stringify(codes))
  }
})

import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import bcrypt from 'bcrypt'
import t, { type Test } from 'tap'
import { parse, stringify } from 'yaml'
import { createAccountRights } from '../../src/account/rights.ts'
import { Unavailable } from '../../src/base/refusal.ts'
import type { SessionRecord } from '../../src/session/record.ts'
import { call } from '../support/client.ts'
import { createTestClock } from '../support/clock.ts'
import { ADMIN, type Fixture, openFixture } from '../support/gateway-fixture.ts'
import { makeOwnKey } from '../support/keys.ts'
import { withoutRedis } from '../support/redis-server.ts'
import { eventually, otherProgram } from './other-program.ts'

/* `permissions.source: accounts`: the permissions of users stand in their accounts, whichever program made their sessions. */

const PAGE = '/api/v1/sys/session/page'
const SECRET = 'a secret of the accounts'
const HASH = bcrypt.hashSync('correct horse 3', 4)
const ACCOUNTS = { permissions: { source: 'accounts', remember: '1s' } }

/** Changes the account `admin`, whose login id is 1, as an operator edits the file. */
function setRoles({ folder }: Fixture, roles: string[]): void {
  const file = join(folder, 'accounts.yaml')
  const document = parse(readFileSync(file, 'utf8'))
  document.accounts[0].roles = roles
  writeFileSync(file, stringify(document))
}

async function statusOf(fixture: Fixture, token: string, path = PAGE): Promise<number> {
  return (await fixture.get(path, token)).json().code
}

t.test(
  'a session of another program can use the session pages, with the rights of its account',
  { skip: withoutRedis },
  async t => {
    const fixture = await openFixture(t, { store: 'redis', config: ACCOUNTS })
    const other = otherProgram(fixture.redis!, fixture.settings.jwt.secret_key)
    t.equal(await statusOf(fixture, await other.signIn('1')), 200)
    t.equal(await statusOf(fixture, await other.signIn('2')), 403, 'no account has this login id')
    const current = (await fixture.get('/api/v1/sys/session/current', await other.signIn('1'))).json().data
    t.ok(current.permissions.includes('sys:session:page'))
  },
)

t.test('a record with rights of its own has only those of its account', { skip: withoutRedis }, async t => {
  const fixture = await openFixture(t, { store: 'redis', config: ACCOUNTS })
  const other = otherProgram(fixture.redis!, fixture.settings.jwt.secret_key)
  const extra = { roles: ['SUPER_ADMIN'], permissions: ['**'] }
  t.equal(await statusOf(fixture, await other.signIn('2', { extra })), 403)
})

t.test('rights that a backend grants and withdraws count without a new login', async t => {
  const account = { id: '1', username: 'admin', password: HASH, status: 'ACTIVE', roles: ['operator'] }
  const { url, close } = await startBackend(response => response.end(JSON.stringify(account)))
  t.teardown(close)
  const fixture = await openFixture(t, {
    config: { ...ACCOUNTS, accounts: { kind: 'http', url, secret: SECRET, timeout: '30s' } },
    upstreams: [
      { name: 'guarded', match: '/api/v1/b/guarded', target: 'builtin:echo', permission: 'sys:session:page' },
    ],
  })
  const token = await fixture.gateway.sides.business.login(undefined, '1')
  t.equal(await statusOf(fixture, token), 200)
  t.equal((await fixture.get('/api/v1/b/guarded', token)).status, 200, 'an upstream with a permission')
  account.roles = []
  t.equal(await eventually(() => statusOf(fixture, token), 403), 403)
  t.equal((await fixture.get('/api/v1/b/guarded', token)).status, 403)
  const verify = await call(fixture.internal, {
    path: '/verify',
    token,
    headers: { 'x-original-uri': '/api/v1/b/guarded', 'x-original-method': 'GET' },
  })
  t.equal(verify.status, 403, 'a proxy that asks is answered alike')
  account.roles = ['operator']
  t.equal(await eventually(() => statusOf(fixture, token), 200), 200)
})

t.test('a key has the rights that a source answers by login id alone, as a session has', async t => {
  const account = { id: '1', ...ADMIN, password: bcrypt.hashSync(ADMIN.password, 4), status: 'ACTIVE' }
  let roles = ['operator']
  const { url, close } = await startBackend((response, asked) =>
    response.end(JSON.stringify({ ...account, ...('id' in asked && { roles }) })),
  )
  t.teardown(close)
  const guarded = '/api/v1/b/guarded'
  const fixture = await openFixture(t, {
    config: { ...ACCOUNTS, accounts: { kind: 'http', url, secret: SECRET, timeout: '30s' } },
    upstreams: [{ name: 'guarded', match: guarded, target: 'builtin:echo', permission: 'sys:session:page' }],
  })
  const token = await fixture.signIn()
  t.match((await fixture.get('/api/v1/b/account', token)).json().data.permissions, ['sys:session:page'])
  const all = await makeOwnKey(fixture, token)
  const one = await makeOwnKey(fixture, token, { permissions: ['sys:session:page'] })
  const none = await makeOwnKey(fixture, token, { permissions: [] })
  t.equal((await fixture.get(guarded, all.key)).status, 200)
  t.equal((await fixture.get(guarded, one.key)).status, 200)
  t.equal((await fixture.get(guarded, none.key)).status, 403)
  roles = []
  for (const { key } of [all, one])
    t.equal(await eventually(async () => (await fixture.get(guarded, key)).status, 403), 403, 'a withdrawn right')
})

t.test('a session of any program ends when the rights of its account in the file change', async t => {
  const fixture = await openFixture(t, { config: ACCOUNTS })
  const tokens = [await fixture.signIn(), await fixture.gateway.sides.business.login(undefined, '1')]
  for (const token of tokens) t.equal(await statusOf(fixture, token), 200)
  setRoles(fixture, [])
  for (const token of tokens) t.equal(await eventually(() => statusOf(fixture, token), 401), 401)
  const next = await fixture.signIn()
  t.equal(await eventually(() => statusOf(fixture, next), 403), 403, 'the next session has the rights of now')
})

t.test('with `permissions: FILE` alone, the rights are those of the record, as before', async t => {
  const fixture = await openFixture(t, { config: { permissions: 'permissions.yaml' } })
  setRoles(fixture, [])
  const token = await fixture.gateway.sides.business.login(undefined, '1', { roles: ['operator'] })
  t.equal(await statusOf(fixture, token), 200)
})

t.test('an account source that fails is 503, never 403 and never a pass', async t => {
  const { url, close } = await startBackend(response => response.writeHead(500).end())
  const fixture = await openFixture(t, {
    config: {
      permissions: { source: 'accounts' },
      accounts: { kind: 'http', url, secret: SECRET, timeout: '30s' },
    },
  })
  const { business } = fixture.gateway.sides
  const token = await business.login(undefined, '1', { roles: ['SUPER_ADMIN'] })
  await close()
  for (const path of [PAGE, '/api/v1/sys/session/current', '/api/v1/sys/session/tokens?user_id=1']) {
    const answer = await fixture.get(path, token)
    t.same([answer.status, answer.json().code], [503, 503], path)
  }
})

async function startBackend(answer: (response: ServerResponse, asked: object) => void) {
  const server = createServer(async (request, response) => answer(response, (await json(request)) as object))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return { url, close: () => new Promise(resolve => server.close(resolve)) }
}

t.test(
  'rights are cached for their time, simultaneous requests share one query, and failures are not cached',
  async t => {
    const clock = createTestClock(1000)
    let asked = 0
    let rights: { roles: string[]; permissions: string[] } | null = { roles: ['a'], permissions: [] }
    let fails = false
    const source = {
      async findRights() {
        asked++
        if (fails) throw new Unavailable('the accounts')
        return rights
      },
    }
    const holderOf = createAccountRights({ sources: { BUSINESS: source, CONSUMER: null }, clock, remember: 5000 })
    const record: SessionRecord = { user_id: '1', type: 'BUSINESS', created_at: '', extra: { roles: ['b'] } }
    const rolesOf = async (t: Test, expected: unknown) => t.same((await holderOf(record)).extra.roles, expected)

    await Promise.all([rolesOf(t, ['a']), rolesOf(t, ['a'])])
    t.equal(asked, 1)
    rights = null
    clock.time += 4999
    t.notOk(holderOf(record) instanceof Promise, 'at hand')
    clock.time += 1
    await rolesOf(t, undefined)
    t.equal(asked, 2)
    fails = true
    clock.time += 5000
    await t.rejects(Promise.resolve(holderOf(record)), Unavailable)
    fails = false
    rights = { roles: ['c'], permissions: [] }
    await rolesOf(t, ['c'])
    rights = null
    clock.setBack = 3_600_000
    clock.time += 4999
    await rolesOf(t, ['c'])
    clock.time += 1
    await rolesOf(t, undefined)
    const consumer = { ...record, type: 'CONSUMER' as const }
    t.equal(holderOf(consumer), consumer, 'the record tells the rights of a side without accounts')
  },
)

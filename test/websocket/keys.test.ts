import { type IncomingMessage, request } from 'node:http'
import t, { type Test } from 'tap'
import { type Fixture, openFixture } from '../support/gateway-fixture.ts'
import { type MadeKey, makeOwnKey } from '../support/keys.ts'
import { withoutRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'
import { closingOf, openEnd, refusalOf, startSocketUpstream } from '../support/websocket-sockets.ts'

/* WebSockets and streams of programs: they end with the key that began them, for whatever reason it ends. */

const LIVE = '/api/v1/b/live'
const EVENTS = '/api/v1/b/events'

async function openKeyFixture(t: Test, store: 'embedded' | 'redis') {
  const sockets = await startSocketUpstream(t)
  const backend = await startUpstream({
    answer: (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: first\n\n')
    },
  })
  t.teardown(() => backend.close())
  const fixture = await openFixture(t, {
    store,
    upstreams: [
      { name: 'live', match: LIVE, target: sockets.url, websocket: {} },
      { name: 'events', match: EVENTS, target: backend.url, end_with_session: 'on' },
    ],
  })
  return { fixture, admin: await fixture.signIn() }
}

/** A response in progress: resolves with a function that tells whether it was broken off. */
function listen(t: Test, fixture: Fixture, token: string): Promise<() => boolean> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` }
    const asked = request(fixture.url + EVENTS, { headers, agent: false }, (response: IncomingMessage) => {
      let isBroken = false
      response.on('error', () => undefined)
      response.on('close', () => {
        isBroken = !response.complete
      })
      response.once('data', () => resolve(() => isBroken))
    })
    t.teardown(() => asked.destroy())
    asked.on('error', reject).end()
  })
}

async function accessToken(fixture: Fixture, { id, key }: MadeKey): Promise<string> {
  const body = `grant_type=client_credentials&client_id=${id}&client_secret=${key}`
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return (await fixture.call({ method: 'POST', path: '/api/v1/public/b/token', body, headers })).json().access_token
}

const SESSION_ENDED = { code: 4401, reason: 'session ended' }

/** What ends the connections of a key, which belongs to the account with the id 1. */
const ENDS: Readonly<Record<string, (fixture: Fixture, made: MadeKey, admin: string) => Promise<unknown>>> = {
  'its revocation': (fixture, { id }, admin) => fixture.post('/api/v1/b/account/keys/revoke', { id }, admin),
  'its end': fixture => fixture.elapse(2 * 86_400_000),
  'a disabled login id': fixture => fixture.gateway.sides.business.disable('1', 60),
}

for (const store of ['embedded', 'redis'] as const) {
  const skip = store === 'redis' && withoutRedis
  for (const [end, happen] of Object.entries(ENDS)) {
    t.test(`${end} closes WebSockets and streams by key, ${store} store`, { skip }, async t => {
      const { fixture, admin } = await openKeyFixture(t, store)
      const made = await makeOwnKey(fixture, admin, { days: 1 })
      const kept = await makeOwnKey(fixture, admin)
      const token = await accessToken(fixture, made)
      const sockets = [made.key, token].map(token => openEnd(t, fixture.url, { path: LIVE, token }))
      const [byKey, byToken] = await Promise.all(sockets)
      const bystander = await openEnd(t, fixture.url, { path: LIVE, token: kept.key })
      const isBroken = await listen(t, fixture, made.key)
      await happen(fixture, made, admin)
      t.same(await closingOf(byKey!), SESSION_ENDED)
      t.same(await closingOf(byToken!), SESSION_ENDED, 'by access token')
      await until(isBroken)
      if (end === 'its revocation') t.equal(bystander.closed, null, 'another key of the same account')
      t.not(await refusalOf(t, fixture.url, { path: LIVE, token: made.key }), 101)
    })
  }
}

t.test('a key is not read from the query of a handshake', async t => {
  const { fixture, admin } = await openKeyFixture(t, 'embedded')
  const { key } = await makeOwnKey(fixture, admin)
  t.not(await refusalOf(t, fixture.url, { path: `${LIVE}?token=${key}` }), 101)
  await openEnd(t, fixture.url, { path: LIVE, token: key })
})

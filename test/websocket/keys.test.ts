import t, { type Test } from 'tap'
import { type Fixture, openFixture } from '../support/gateway-fixture.ts'
import { grantFor, type MadeKey, makeOwnKey } from '../support/keys.ts'
import { withoutRedis } from '../support/redis-server.ts'
import { listen } from '../support/streams.ts'
import { until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'
import { closingOf, openEnd, refusalOf, startSocketUpstream } from '../support/websocket-sockets.ts'

/* WebSockets and streams of programs: they end with the key that began them, for whatever reason it ends. */

const LIVE = '/api/v1/b/live'
const EVENTS = '/api/v1/b/events'
/** Of upstreams without `end_with_session`. */
const [FEED, EXPORT] = ['/api/v1/b/feed', '/api/v1/b/export']

/** A backend whose answers do not end: event streams, and one download. */
async function startStreams(t: Test): Promise<string> {
  const backend = await startUpstream({
    answer: ({ url }, response) => {
      response.writeHead(200, {
        'content-type': url!.startsWith(EXPORT) ? 'text/csv' : 'Text/Event-Stream;charset=utf-8',
      })
      response.write('data: first\n\n')
    },
  })
  t.teardown(() => backend.close())
  return backend.url
}

async function openKeyFixture(t: Test, store: 'embedded' | 'redis') {
  const sockets = await startSocketUpstream(t)
  const target = await startStreams(t)
  const fixture = await openFixture(t, {
    store,
    upstreams: [
      { name: 'live', match: LIVE, target: sockets.url, websocket: {} },
      { name: 'events', match: EVENTS, target, end_with_session: 'on' },
      { name: 'feed', match: FEED, target },
      { name: 'export', match: EXPORT, target },
    ],
  })
  return { fixture, admin: await fixture.signIn() }
}

const accessToken = async (fixture: Fixture, made: MadeKey): Promise<string> =>
  (await fixture.call(grantFor(made))).json().access_token

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
      const another = await makeOwnKey(fixture, admin)
      const token = await accessToken(fixture, made)
      const sockets = [made.key, token].map(token => openEnd(t, fixture.url, { path: LIVE, token }))
      const [byKey, byToken] = await Promise.all(sockets)
      const bystander = await openEnd(t, fixture.url, { path: LIVE, token: another.key })
      const isBroken = await listen(t, fixture.url + EVENTS, made.key)
      const feeds = [await listen(t, fixture.url + FEED, made.key), await listen(t, fixture.url + FEED, token)]
      const kept = [await listen(t, fixture.url + EXPORT, made.key), await listen(t, fixture.url + FEED, admin)]
      await happen(fixture, made, admin)
      t.same(await closingOf(byKey!), SESSION_ENDED)
      t.same(await closingOf(byToken!), SESSION_ENDED, 'by access token')
      await until(isBroken)
      t.ok(await until(() => feeds.every(isBroken => isBroken())), 'event streams without end_with_session, too')
      for (const isBroken of kept) t.notOk(isBroken(), 'no download, and no event stream of a session')
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

t.test('Redis need not announce changes for an event stream to end with its key', { skip: withoutRedis }, async t => {
  const fixture = await openFixture(t, {
    store: 'redis',
    config: { session_cache: { business: 'off', consumer: 'off' } },
    upstreams: [{ name: 'feed', match: FEED, target: await startStreams(t) }],
  })
  const admin = await fixture.signIn()
  const { id, key } = await makeOwnKey(fixture, admin)
  const isBroken = await listen(t, fixture.url + FEED, key)
  await fixture.post('/api/v1/b/account/keys/revoke', { id }, admin)
  t.ok(await until(isBroken))
  t.match(fixture.log.join('\n'), 'response ended with its session')
})

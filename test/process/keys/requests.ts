import type { Test } from 'tap'
import { type Key, makeKey, partsOf } from '../../../src/token/key-form.ts'
import { grantFor, keyChecksum } from '../../support/keys.ts'
import { redisCommand } from '../../support/redis-server.ts'
import { listen } from '../../support/streams.ts'
import { type End, openEnd } from '../../support/websocket-sockets.ts'
import { endsEverywhere, servedSoon } from './ends.ts'
import {
  codeOf,
  connected,
  ECHO,
  EVENTS,
  FEED,
  GUARDED,
  KEYS,
  type KeyPlace,
  LIVE,
  tokenFor,
  WRONG_KEYS,
} from './place.ts'
import { comesSoon } from './soon.ts'

/* What a key opens, and what it does not, at every worker of every gateway. */

const PASSING = '/api/v1/b/passing'

const all = ({ workers }: KeyPlace, code: number): number[] => workers.map(() => code)

/** A key with the id of another one, and another prefix or secret. */
function forged(key: string, { prefix = key.slice(0, 4), secret = partsOf(key as Key).secret }): string {
  const text = `${prefix}${partsOf(key as Key).id}_${secret}`
  return text + keyChecksum(text)
}

export function testRequests(t: Test, place: KeyPlace): void {
  t.test('the access token of one worker has the rights of its key at every other one', async t => {
    const { id } = await place.nextUser()
    const made = await place.addKey(id, { permissions: ['orders:write'], paths: [ECHO, GUARDED] })
    for (const worker of place.workers) {
      const token = await tokenFor(worker, made)
      t.same(await place.codes(token), all(place, 200))
      t.same(await place.codes(token, GUARDED), all(place, 403))
      t.same(await place.codes(token, PASSING), all(place, 403))
    }
  })

  t.test('each worker has the rights that the account has now, and the limits of the key', async t => {
    const { id } = await place.nextUser()
    const whole = await place.addKey(id)
    const [none, near, far] = [
      await place.addKey(id, { permissions: [] }),
      await place.addKey(id, { paths: [ECHO] }),
      await place.addKey(id, { addresses: ['192.0.2.0/24'] }),
    ]
    for (const [key, path, code] of [
      [whole.key, GUARDED, 200],
      [none.key, GUARDED, 403],
      [none.key, ECHO, 200],
      [near.key, ECHO, 200],
      [near.key, GUARDED, 403],
      [near.key, `${ECHO}x`, 403],
      [far.key, ECHO, 403],
    ] as const)
      t.same(await place.codes(key, path), all(place, code), path)
    const withdraw = () => place.post('sys/account/edit', { id, permissions: [] })
    await endsEverywhere(t, place, [whole.key], withdraw, 403, GUARDED)
    t.same(await place.codes(whole.key), all(place, 200))
    await place.post('sys/account/edit', { id, permissions: ['orders:*'] })
    await servedSoon(t, place, whole.key, GUARDED)
    t.same(await place.codes(none.key, GUARDED), all(place, 403))
  })

  t.test('no worker serves to a key, or to its token, what is for sessions', async t => {
    const made = await place.addKey('chief')
    const token = await tokenFor(place.next(), made)
    for (const [method, path] of [
      ['POST', `${KEYS}/add`],
      ['POST', `${KEYS}/revoke`],
      ['POST', '/api/v1/b/account/password'],
      ['GET', '/api/v1/b/session/tokens'],
      ['GET', '/api/v1/sys/key/page'],
      ['POST', '/api/v1/sys/account/remove'],
    ] as const)
      for (const credential of [made.key, token])
        for (const answer of await place.everywhere({
          method,
          path,
          token: credential,
          ...(method === 'POST' && { body: {} }),
        }))
          t.match(answer.json(), { code: 403, message: /key/ }, path)
    t.same(await place.codes(made.key), all(place, 200))
  })

  t.test('a key counts in its header alone at every worker, before a cookie, and reaches no backend', async t => {
    const user = await place.nextUser()
    const { id, key } = await place.addKey(user.id)
    const cookie = (value: string) => ({ cookie: `__Host-dualgate-b=${value}` })
    const codes = async (call: Parameters<KeyPlace['everywhere']>[0]) => (await place.everywhere(call)).map(codeOf)
    t.same(await codes({ path: `${ECHO}?token=${key}` }), all(place, 401))
    t.same(await codes({ path: ECHO, headers: cookie(key) }), all(place, 401))
    t.same(await codes({ path: ECHO, headers: cookie(user.token) }), all(place, 200))
    const wrong = makeKey('CONSUMER').key
    t.same(await codes({ path: ECHO, headers: cookie(user.token), token: wrong }), all(place, 401))
    for (const path of [ECHO, PASSING])
      for (const answer of await place.everywhere({ path, token: key, headers: cookie(user.token) })) {
        t.notMatch(answer.text, key)
        t.match(answer.json().headers, { 'x-login-id': user.id, 'x-login-type': 'BUSINESS', 'x-login-key': id })
      }
  })

  t.test('a key opens its own side at every worker, whatever its prefix says', async t => {
    const { output } = await place.command('key', 'add', 'shop', '--consumer')
    const [consumer = ''] = output.match(/dgc_\w+/) ?? []
    const { key: business } = await place.addKey((await place.nextUser()).id)
    const other = '/api/v1/c/orders'
    t.same([await place.codes(business), await place.codes(consumer, other)], [all(place, 200), all(place, 200)])
    t.same([await place.codes(consumer), await place.codes(business, other)], [all(place, 401), all(place, 401)])
    const own = await connected(t, place, '127.0.0.75')
    for (const [key, path] of [
      [forged(business, { prefix: 'dgc_' }), other],
      [forged(consumer, { prefix: 'dgb_' }), ECHO],
    ] as const)
      for (const worker of own) t.equal(codeOf(await worker.call({ path, token: key })), 401)
  })

  t.test('wrong keys are counted over all workers, and only remembered keys pass beyond the limit', async t => {
    const { id } = await place.nextUser()
    const [known, unused] = [await place.addKey(id), await place.addKey(id)]
    const workers = await connected(t, place, '127.0.0.77')
    const ask = async (token: string, turn: number) =>
      (await workers[turn % workers.length]!.call({ path: ECHO, token })).json()
    const nonsense = `${known.key.slice(0, -1)}${known.key.endsWith('0') ? '1' : '0'}`
    for (const [turn] of workers.entries()) t.equal((await ask(known.key, turn)).code ?? 200, 200)
    for (let turn = 0; turn < 2 * WRONG_KEYS; turn++) t.match(await ask(nonsense, turn), { code: 401 })
    const wrong = forged(known.key, { secret: partsOf(makeKey('BUSINESS').key).secret })
    const refused: object[] = []
    for (let turn = 0; turn < WRONG_KEYS; turn++) {
      const { trace_id: _, ...answer } = await ask(
        turn % 2 === 0 ? wrong : makeKey('BUSINESS').key,
        Math.floor(turn / 2),
      )
      refused.push(answer)
    }
    for (const answer of refused) t.same(answer, { ...refused[0], code: 401 }, 'a wrong secret reads as an unknown id')
    for (const [turn, worker] of workers.entries()) {
      t.match(await ask(unused.key, turn), { code: 429 })
      t.equal((await ask(known.key, turn)).code ?? 200, 200)
      t.equal((await worker.call(grantFor(unused))).status, 429)
    }
    t.same(await place.codes(unused.key), all(place, 200), 'from another address')
  })

  t.test('the log of every worker names a key by its id alone', async t => {
    const { id, key } = await place.addKey((await place.nextUser()).id)
    await place.codes(key)
    for (const { gateway, pid } of place.workers)
      await comesSoon(t, 'it is in the log', () =>
        gateway.logged('request').some(line => line.key === id && line.pid === pid),
      )
    for (const { output } of place.gateways) t.notMatch(output(), key)
  })

  t.test(
    'a remembered key costs Redis no question',
    { skip: place.store === 'embedded' && 'there the bench measures it' },
    async t => {
      const { key } = await place.addKey((await place.nextUser()).id)
      for (let i = 0; i < 2; i++) t.same(await place.codes(key), all(place, 200))
      const before = await readsOf(place)
      for (let i = 0; i < 20; i++) await place.codes(key)
      // Other reads than those for a key are few.
      const asked = (await readsOf(place)) - before
      const requests = 20 * place.workers.length
      t.ok(asked < requests / 2, `${asked} reads for ${requests} requests`)
    },
  )

  testLive(t, place)
}

/** How often keys of Redis were read, one or several at once, or their ends. */
async function readsOf({ gateways }: KeyPlace): Promise<number> {
  const port = Number(new URL(gateways[0]!.environment.STORE__REDIS__URL!).port)
  const stats = await redisCommand(port, 'INFO', 'commandstats')
  const calls = [...stats.matchAll(/^cmdstat_(?:get|mget|pttl):calls=(\d+)/gm)]
  return calls.reduce((sum, [, count]) => sum + Number(count), 0)
}

/** WebSockets and streams. */
function testLive(t: Test, place: KeyPlace): void {
  for (const [what, happen] of [
    ['its revocation', ({ post }: KeyPlace, user_id: string, id: string) => post('sys/key/revoke', { user_id, id })],
    [
      'a disabled login id',
      ({ gateways }: KeyPlace, user_id: string) =>
        gateways.at(-1)!.operate('business', 'disable', { user_id, seconds: 600 }),
    ],
  ] as const) {
    t.test(`${what} closes what a key has open at every worker`, async t => {
      const { id } = await place.nextUser()
      const [made, kept] = [await place.addKey(id), await place.addKey((await place.nextUser()).id)]
      const token = await tokenFor(place.next(), made)
      const [ends, bystanders, streams]: [End[], End[], (() => boolean)[]] = [[], [], []]
      // Each on a connection of its own: the workers get them in turn.
      for (const { url } of place.gateways)
        for (let i = 0; i < 4; i++) {
          ends.push(await openEnd(t, url, { path: LIVE, token: i % 4 < 2 ? made.key : token }))
          bystanders.push(await openEnd(t, url, { path: LIVE, token: kept.key }))
          for (const path of [EVENTS, FEED])
            streams.push(await listen(t, url + path, made.key), await listen(t, url + path, token))
        }
      await happen(place, id, made.id)
      const isOver = async () =>
        (await place.codes(made.key)).every(code => code !== 200) &&
        ends.every(({ closed }) => closed !== null) &&
        streams.every(isBroken => isBroken())
      await comesSoon(t, 'it is refused, and nothing of it is open', isOver)
      for (const { closed } of ends) t.same(closed, { code: 4401, reason: 'session ended' })
      for (const end of bystanders) t.equal(end.closed, null)
    })
  }
}

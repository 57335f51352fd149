import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { MadeKey } from '../../../src/key/keys.ts'
import { type Key, partsOf } from '../../../src/token/key-form.ts'
import { call } from '../../support/client.ts'
import { redisCommand } from '../../support/redis-server.ts'
import { isServedUntil } from './ends.ts'
import { codeOf, ECHO, KEYS, type KeyPlace, MOST, OVERLAP, type User } from './place.ts'
import { comesSoon } from './soon.ts'

/* Keys that are made, listed and replaced at several workers of several gateways. */

/** More than there are places, at each gateway. */
const AT_ONCE = 6

/** ARGV[1] text: the keys that have it in their name or their value. */
const FIND_TEXT = `
local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local kind = redis.call('TYPE', key).ok
  local value = kind == 'string' and redis.call('GET', key) or kind == 'zset' and table.concat(redis.call('ZRANGE', key, 0, -1))
    or kind == 'hash' and table.concat(redis.call('HGETALL', key)) or kind == 'set' and table.concat(redis.call('SMEMBERS', key)) or ''
  if string.find(key .. value, ARGV[1], 1, true) then table.insert(found, key) end
end
return found`

/** Where the store has a text. */
async function storedIn({ store, gateways }: KeyPlace, text: string): Promise<string[]> {
  const [{ environment, folder }] = gateways as [KeyPlace['gateways'][number]]
  if (store === 'redis') {
    const port = Number(new URL(environment.STORE__REDIS__URL!).port)
    return (await redisCommand(port, 'EVAL', FIND_TEXT, '0', text)).split('\n').filter(key => key !== '')
  }
  const data = join(folder, 'data')
  return readdirSync(data)
    .filter(file => file.endsWith('.mdb'))
    .filter(file => readFileSync(join(data, file)).includes(text))
}

/** Several requests of one user at once, on connections of their own to every gateway: some reach each worker. */
const atOnce = async ({ gateways }: KeyPlace, { token }: User, path: string, body: object): Promise<any[]> =>
  Promise.all(
    Array.from({ length: AT_ONCE * gateways.length }, async (_, i) =>
      (await call(gateways[i % gateways.length]!.url, { method: 'POST', path, body, token })).json(),
    ),
  )

export function testMaking(t: Test, place: KeyPlace): void {
  const listedAt = async (token: string): Promise<any[][]> =>
    (await place.everywhere({ path: KEYS, token })).map(answer => answer.json().data)
  const proof = { current_password: place.password }

  t.test(
    'additions at once, at every gateway, make as many keys as a user may have, and each opens everywhere',
    async t => {
      const user = await place.nextUser()
      const body = { ...proof, name: 'many', user_id: 'chief' }
      const answers = await atOnce(place, user, `${KEYS}/add`, body)
      const made = answers.filter(({ code }) => code === 200).map(({ data }) => data)
      t.ok(made.length > 0 && made.length <= MOST, `${made.length} keys`)
      let last = 200
      while (last === 200) {
        const { code, data, message } = (
          await place.next().call({ method: 'POST', path: `${KEYS}/add`, body, token: user.token })
        ).json()
        if (code === 200) made.push(data)
        else t.match({ code, message }, { code: 400, message: new RegExp(`${MOST}`) })
        last = code
      }
      t.equal(made.length, MOST)
      for (const listed of await listedAt(user.token))
        t.same(
          listed.map(({ id, user_id }) => `${user_id} ${id}`).sort(),
          made.map(({ id }) => `${user.id} ${id}`).sort(),
        )
      for (const { key } of made) t.same(new Set(await place.codes(key)), new Set([200]))
    },
  )

  t.test('no worker, and no file or server, has the secret of a key', async t => {
    const user = await place.nextUser()
    const { id, key } = await place.post('b/account/keys/add', { ...proof, name: 'job' }, user.token)
    t.same(new Set(await place.codes(key)), new Set([200]))
    const { secret } = partsOf(key as Key)
    const pages = [
      ...(await place.everywhere({ path: KEYS, token: user.token })),
      ...(await place.everywhere({ path: `/api/v1/sys/key/page?user_id=${user.id}`, token: place.chief })),
    ]
    for (const { text } of pages) {
      t.match(text, id)
      t.notMatch(text, secret)
    }
    t.not((await storedIn(place, id)).length, 0)
    t.same(await storedIn(place, secret), [])
  })

  t.test('the keys of a user are no matter of another one, at any worker', async t => {
    const [user, stranger] = [await place.nextUser(), await place.nextUser()]
    const { id, key } = await place.addKey(user.id)
    for (const listed of await listedAt(stranger.token)) t.same(listed, [])
    for (const worker of place.workers)
      for (const name of ['revoke', 'rotate']) {
        const body = { ...(name === 'rotate' && proof), id, user_id: user.id }
        const answer = await worker.call({ method: 'POST', path: `${KEYS}/${name}`, body, token: stranger.token })
        t.not(codeOf(answer), 200, name)
      }
    t.same(new Set(await place.codes(key)), new Set([200]))
  })

  t.test('a key is replaced once, by whichever gateway, and lives on for the overlap everywhere', async t => {
    const user = await place.nextUser()
    const old = await place.addKey(user.id, { permissions: ['orders:write'] })
    const others: MadeKey[] = []
    while (others.length < MOST - 1) others.push(await place.addKey(user.id))
    t.same(new Set(await place.codes(old.key)), new Set([200]))
    const asked = Date.now()
    const answers = await atOnce(place, user, `${KEYS}/rotate`, { ...proof, id: old.id })
    const answered = Date.now()
    const made = answers.filter(({ code }) => code === 200)
    t.equal(made.length, 1, 'of several at once')
    const next = made[0].data
    await isServedUntil(t, place.workers, old.key, [asked + OVERLAP, answered + OVERLAP])
    t.same(new Set(await place.codes(old.key)), new Set([401]))
    t.same(new Set(await place.codes(next.key)), new Set([200]))
    for (const listed of await listedAt(user.token)) {
      t.same(listed.map(({ id }) => id).sort(), [next.id, ...others.map(({ id }) => id)].sort())
      t.same(listed.find(({ id }) => id === next.id).permissions, ['orders:write'])
    }
  })

  t.test('every worker shows when a key was used at another one, and none shows its user as online', async t => {
    const user = await place.nextUser()
    const { key } = await place.addKey(user.id)
    for (const [listed] of await listedAt(user.token)) t.equal(listed.last_used_at, null)
    t.equal(codeOf(await place.next().call({ path: ECHO, token: key })), 200)
    await comesSoon(t, 'each worker shows the use', async () =>
      (await listedAt(user.token)).every(([listed]) => listed.last_used_at !== null),
    )
    const counted = { path: '/api/v1/b/session/tokens', token: user.token }
    for (const answer of await place.everywhere(counted))
      t.equal(answer.json().data.length, 1, 'the session of the login')
  })
}

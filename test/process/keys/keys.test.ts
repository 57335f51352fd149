import t from 'tap'
import { call } from '../../support/client.ts'
import { withoutRedis } from '../../support/redis-server.ts'
import type { Supervised } from '../../support/supervised.ts'
import { until } from '../../support/until.ts'
import { testEnds } from './ends.ts'
import { testMaking } from './making.ts'
import { codeOf, ECHO, openKeyPlace } from './place.ts'
import { testRequests } from './requests.ts'
import { comesSoon } from './soon.ts'

/*
 * The laws of keys where several processes matter: one gateway of two workers on the embedded store, and two such gateways on one
 * Redis. The gateways are started once, and each test has users and keys of its own.
 */

/** Connections of their own: some reach each of two workers. */
const SEVERAL = Array.from({ length: 12 })

for (const store of ['embedded', 'redis'] as const) {
  const skip = store === 'redis' && withoutRedis
  t.test(
    `keys with ${store === 'redis' ? 'two gateways of two workers' : 'two workers'}, ${store} store`,
    { skip },
    async t => {
      const place = await openKeyPlace(t, store)
      testMaking(t, place)
      testRequests(t, place)
      testEnds(t, place)

      t.test('every worker was asked on its own connection, to the last question', async t => {
        for (const { pid, answeredBy } of place.workers) t.equal(await answeredBy(), pid)
      })

      t.test('a key outlives every worker of a gateway, and those that replace them know its end at once', async t => {
        const { id } = await place.nextUser()
        const added = await place.command('key', 'add', id, '--name', 'job')
        t.equal(added.code, 0, added.errors)
        const [key = ''] = added.output.match(/dgb_\w+/) ?? []
        t.same(new Set(await place.codes(key)), new Set([200]))
        const [gateway] = place.gateways as [Supervised]
        const codes = async () => {
          const answers = await Promise.all(SEVERAL.map(() => call(gateway.url, { path: ECHO, token: key })))
          return [...new Set(answers.map(codeOf))].join()
        }
        for (const worker of gateway.workers()) process.kill(worker, 'SIGKILL')
        // Both are to accept it before it ends: to one that has not, it is a wrong key, and those are counted.
        await until(() => gateway.logged('a new worker replaced it').length === 2)
        await until(() =>
          codes().then(
            found => found === '200',
            () => false,
          ),
        )
        const revoked = await place.command('key', 'revoke', id, key.slice(4, 16))
        t.equal(revoked.code, 0, revoked.errors)
        await comesSoon(t, 'each new worker refuses it', async () => (await codes()) === '401')
        t.notMatch((await place.command('key', 'list')).output, key.slice(4, 16))
      })
    },
  )
}

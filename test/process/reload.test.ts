import t from 'tap'
import { call } from '../support/client.ts'
import { withoutRedis } from '../support/redis-server.ts'
import { startSupervised } from '../support/supervised.ts'
import { startLoad } from './load.ts'

/* The configuration changes while clients go on; none of them notices. */

for (const store of ['embedded', 'redis'] as const) {
  const skip = store === 'redis' && withoutRedis
  t.test(`no request fails in reloads under load, a faulty one among them, ${store} store`, { skip }, async t => {
    const gateway = await startSupervised(t, { store })
    const options = { token: gateway.token, path: '/api/v1/c/x', clients: 24 }
    const questions = startLoad(t, gateway.url, { ...options, rate: 200 })
    const uploads = startLoad(t, gateway.url, { ...options, clients: 8, rate: 30, body: 'x'.repeat(100_000) })

    for (const answer of ['second', 'third', 'faulty', 'fourth']) {
      const before = gateway.workers()
      if (answer === 'faulty') gateway.write('config/upstreams.yaml', 'upstreams: [{ name: 7 }]\n')
      else gateway.writeUpstream(answer)
      const { code, output, errors } = await gateway.reload()
      if (answer === 'faulty') {
        t.equal(code, 1)
        t.match(errors, /upstreams\.yaml/)
        const started = gateway.workers().filter(worker => !before.includes(worker))
        t.same(started, [], 'the workers of a faulty configuration are not even started')
        continue
      }
      t.equal(code, 0, errors)
      t.equal(output, 'reloaded\n')
      t.match((await call(gateway.url, options)).text, `/${answer}/`, 'what is asked afterwards gets the new answer')
    }

    const outcomes = [await questions.stop(), await uploads.stop()]
    t.same(
      outcomes.flatMap(({ failures }) => failures),
      [],
    )
    for (const { answered } of outcomes) t.ok(answered > 20, `${answered} requests were answered`)
    t.equal(await gateway.end('SIGTERM'), 0)
  })
}

import t from 'tap'
import { openStage } from '../attack/stage.ts'
import { withoutNginx } from '../nginx.ts'
import { startNginx } from './nginx.ts'
import { runFuzz } from './run.ts'
import { wireWitness } from './wire-witness.ts'

/* A short run; `npm run fuzz` is the long one. A violation says how to replay it. */

const REQUESTS = 5000

for (const profile of [1, 2] as const) {
  t.test(`profile ${profile}: what is generated arrives where every reader lets its sender, or is refused`, async t => {
    const { world, upstream, tokens } = await openStage(t, { profile })
    const witness = wireWitness(upstream)
    const result = await runFuzz({ url: world.url, tokens, witness, profile, requests: REQUESTS })
    t.equal(result.violation, null)
    t.ok(result.sent >= REQUESTS)
    t.ok(result.forwarded > REQUESTS / 20 && result.refused > REQUESTS / 20, 'both happen often')
  })
}

t.test('nginx behind the gateway reads every path as the gateway did', { skip: withoutNginx }, async t => {
  const witness = await startNginx()
  t.teardown(() => witness.stop())
  const { world, tokens } = await openStage(t, {
    config: { upstreams: [{ name: 'nginx', match: '/api', target: witness.url }] },
  })
  const result = await runFuzz({ url: world.url, tokens, witness, profile: 1, requests: REQUESTS })
  t.equal(result.violation, null)
  t.ok(result.forwarded > REQUESTS / 20)
})

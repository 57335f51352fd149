import t, { type Test } from 'tap'
import { withoutRedisServer } from '../support/redis-server.ts'
import { embedded } from './embedded-setup.ts'
import { singleRedis } from './redis-setups.ts'
import { type ChaosReport, runChaos } from './run.ts'

/*
 * A short run of what `npm run chaos` does for long. The machine may stall: how long a recovery takes is not checked,
 * nor how long a worker caches, nor how much a busy machine gets done. The run checks that no request is accepted or refused
 * wrongly.
 */

// Each has a gateway and a store of its own, and mostly waits.
t.jobs = 2

const allowance = { patience: Number.POSITIVE_INFINITY, heartbeat: 30_000 }

function judge(t: Test, { requests, operations, faults, violations }: ChaosReport): void {
  t.same(violations, [])
  t.ok(requests > 10 && operations > 10, `${requests} requests and ${operations} operations`)
  t.ok(faults.length > 0)
}

t.test('a killed gateway loses no session and revives none', async t => {
  judge(t, await runChaos(embedded, { rounds: 1, only: 'killed', allowance }))
})

t.test('a paused Redis causes neither access nor 401', { skip: withoutRedisServer }, async t => {
  judge(t, await runChaos(singleRedis, { rounds: 1, only: 'Redis stands still', allowance }))
})

import t, { type Test } from 'tap'
import { withoutRedis } from '../support/redis-server.ts'
import { fuzzKeys } from './keys.ts'
import type { SequenceResult } from './model.ts'

/* A short run; `npm run fuzz` is the long one. */

const SEQUENCES = 8

function judge(t: Test, { seen, violation }: SequenceResult): void {
  t.equal(violation, null)
  const outcomes = ['made', 'too many', 'rotate: true', 'revoke: true', 'token', 'use: 200', 'use: 401', 'use: 403']
  for (const outcome of outcomes) t.ok(seen.get(outcome), outcome)
}

t.test('embedded: whatever happens to keys and their users, requests pass as a model says', async t => {
  judge(t, await fuzzKeys('embedded')({ sequences: SEQUENCES }))
})

t.test(
  'Redis: whatever happens to keys and their users, requests pass as a model says',
  { skip: withoutRedis },
  async t => {
    judge(t, await fuzzKeys('redis')({ sequences: SEQUENCES }))
  },
)

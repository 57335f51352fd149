import t, { type Test } from 'tap'
import { withoutRedis } from '../support/redis-server.ts'
import { fuzzEmbeddedJournal, fuzzRedisJournal } from './journal-stores.ts'
import type { SequenceResult } from './model.ts'

/* A short run; `npm run fuzz` is the long one. */

const SEQUENCES = 8

function judge(t: Test, { seen, violation }: SequenceResult): void {
  t.equal(violation, null)
  const outcomes = ['append', 'trim', 'trim of nothing', 'one page', 'several pages', 'rush']
  for (const outcome of outcomes) t.ok(seen.get(outcome), outcome)
}

t.test('embedded: after any sequence of entries and removals the pages are those of a list', async t => {
  judge(t, await fuzzEmbeddedJournal({ sequences: SEQUENCES }))
})

t.test(
  'Redis: after any sequence of entries and removals the pages are those of a list',
  { skip: withoutRedis },
  async t => {
    judge(t, await fuzzRedisJournal({ sequences: SEQUENCES }))
  },
)

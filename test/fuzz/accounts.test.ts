import t from 'tap'
import { fuzzAccounts } from './accounts.ts'

/* A short run; `npm run fuzz` is the long one. */

t.test('changes by administrators, the command line and an editor lose nothing and break no law', async t => {
  const { seen, violation } = await fuzzAccounts({ sequences: 3 })
  t.equal(violation, null)
  for (const outcome of ['page: 200', 'administrator: edit: 200', 'session: lives', 'session: ended at once'])
    t.ok(seen.get(outcome), outcome)
})

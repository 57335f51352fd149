import t from 'tap'
import { fuzzAccounts } from './accounts.ts'

/* A short run; `npm run fuzz` is the long one. */

t.test('changes by administrators, the command line and an editor lose nothing and break no law', async t => {
  const { seen, violation } = await fuzzAccounts({ sequences: 3 })
  t.equal(violation, null)
  t.ok(seen.get('session: lives'))
})

import t from 'tap'
import { fuzzAccounts } from './accounts.ts'

/* A short run, of the same sequences every time; `npm run fuzz` is the long one, of others. */

const SEED = 20_260_131

t.test('changes by administrators, the command line and an editor lose nothing and break no law', async t => {
  const { seen, violation } = await fuzzAccounts({ sequences: 3, seed: SEED })
  t.equal(violation, null)
  t.ok(seen.get('session: lives'))
})

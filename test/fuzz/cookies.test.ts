import t from 'tap'
import { fuzzCookies } from './cookies.ts'

/* A short run; `npm run fuzz` is the long one. */

t.test('a request with cookies passes as the user whom the laws name, or is refused', async t => {
  const { seen, violation } = await fuzzCookies({ sequences: 25 })
  t.equal(violation, null)
  for (const outcome of [
    'passes as worker',
    'passes as customer',
    'passes as no user',
    'refused with 401',
    'refused with 403',
  ])
    t.ok(seen.get(outcome), outcome)
})

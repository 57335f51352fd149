import t from 'tap'
import { fuzzCookies } from './cookies.ts'
import { fuzzNavigations } from './navigations.ts'

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

t.test('a person without a session is led to the sign-in, and a program gets 401', async t => {
  const { seen, violation } = await fuzzNavigations({ sequences: 25 })
  t.equal(violation, null)
  t.same([...seen.keys()].toSorted(), ['envelope', 'page', 'sign-in', 'upstream'])
})

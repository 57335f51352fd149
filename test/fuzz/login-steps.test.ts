import t from 'tap'
import { fuzzLoginSteps } from './login-steps.ts'

/* A short run; `npm run fuzz` is the long one. */

t.test('a login comes to a token, a step or a refusal exactly where the model of a login does', async t => {
  const { seen, violation } = await fuzzLoginSteps({ sequences: 6 })
  t.equal(violation, null)
  for (const outcome of ['login: second-factor-setup', 'login: password', 'code: token', 'new password: token']) {
    t.ok(seen.get(outcome), outcome)
  }
})

import t from 'tap'
import { openAttackFixture } from '../support/attack-fixture.ts'
import { withoutNginx } from '../support/nginx.ts'
import { withoutStrictParser } from '../support/strict-parser.ts'
import { EXCEPTIONS, PAGES } from './exceptions.ts'
import { startNginx } from './nginx.ts'
import type { Rules } from './readers.ts'
import { runFuzz } from './run.ts'
import { wireWitness } from './wire-witness.ts'

/* A short run; `npm run fuzz` is the long one. A violation says how to replay it. */

const REQUESTS = 5000

const skip = withoutStrictParser || withoutNginx

for (const [what, rules] of Object.entries({
  'profile 1': { profile: 1, exceptions: [] },
  'profile 2': { profile: 2, exceptions: [] },
  'profile 1 with exceptions': { profile: 1, exceptions: EXCEPTIONS },
  'profile 1 with pages': { profile: 1, exceptions: [], pages: PAGES },
} satisfies Record<string, Rules>)) {
  const name = `${what}: a generated request arrives where every parser reads it, or is refused`
  t.test(name, { skip: withoutStrictParser }, async t => {
    const { profile, exceptions, pages = [] }: Rules = rules
    const config = { gate: { exceptions: [...exceptions], pages: [...pages] } }
    const match = pages.length === 0 ? '/api' : '/'
    const { fixture, upstream, tokens } = await openAttackFixture(t, { profile, config }, match)
    const witness = wireWitness(upstream)
    const result = await runFuzz({ url: fixture.url, tokens, witness, rules, requests: REQUESTS })
    t.equal(result.violation, null)
    t.ok(result.sent >= REQUESTS)
    t.ok(result.forwarded > REQUESTS / 20 && result.refused > REQUESTS / 20, 'both happen often')
  })
}

t.test('nginx behind the gateway reads every path as the gateway did', { skip }, async t => {
  const witness = await startNginx()
  t.teardown(() => witness.stop())
  const { fixture, tokens } = await openAttackFixture(t, {
    config: { upstreams: [{ name: 'nginx', match: '/api', target: witness.url }] },
  })
  const result = await runFuzz({
    url: fixture.url,
    tokens,
    witness,
    rules: { profile: 1, exceptions: [] },
    requests: REQUESTS,
  })
  t.equal(result.violation, null)
  t.ok(result.forwarded > REQUESTS / 20)
})

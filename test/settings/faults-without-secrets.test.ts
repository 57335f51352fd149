import t from 'tap'
import { faultsOf } from './folder.ts'

/* What the faults of the settings must not show. */

const SECRET = 'hunter2hunter2'
const LEAKS: Record<string, string> = {
  'jwt secret': `profile: 2\njwt: { secret_key: ${SECRET} }\n`,
  'jwt secret as a list': `profile: 2\njwt: { secret_key: [${SECRET}] }\n`,
  'sm2 key': `login: { sm2: { private_key: ${SECRET} } }\n`,
  'internal secret': `internal: { secret: ${SECRET.slice(0, 12)} }\n`,
  'redis url': `store: { kind: redis, redis: { url: "http://u:${SECRET}@h" } }\n`,
  'redis url in the wrong place': `store: "redis://u:${SECRET}@h"\n`,
  'broken yaml': `internal: { secret: "${SECRET}\n`,
  alias: `internal:\n  secret: *${SECRET}\n`,
  tag: `internal:\n  secret: !${SECRET}\n`,
  'reserved character': `internal:\n  secret: @${SECRET}\n`,
  'two colons': `internal:\n  secret: ${SECRET}: x\n`,
}

for (const [title, yaml] of Object.entries(LEAKS)) {
  t.test(`no fault shows a secret: ${title}`, async t => {
    const found = faultsOf(t, yaml)
    t.not(found.length, 0)
    t.notMatch(found.join('\n'), /hunter2/)
  })
}

t.test('no fault shows a secret from the environment', async t => {
  const environment = {
    INTERNAL__SECRET: 'hunter2',
    STORE__REDIS__URL: 'hunter2',
    STORE: '{hunter2: [',
  }
  const found = faultsOf(t, '', environment)
  t.not(found.length, 0)
  t.notMatch(found.join('\n'), /hunter2/)
})

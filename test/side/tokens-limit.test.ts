import t from 'tap'
import { createTimestampFormat } from '../../src/base/timestamp.ts'
import { createTokensLimit } from '../../src/side/tokens-limit.ts'
import { createAges } from '../../src/store/age.ts'
import type { SessionStore, StoredToken } from '../../src/store/store.ts'
import type { Jwt } from '../../src/token/jwt.ts'
import { createTestClock } from '../support/clock.ts'

t.test('a token that is stored during a long walk over all tokens is the newest', async t => {
  const clock = createTestClock(Date.UTC(2025, 0, 31, 12))
  const timestamps = createTimestampFormat('UTC')
  const stored = (token: string): StoredToken => {
    const created_at = timestamps.write(clock.now())
    return { token, record: { user_id: 'u', type: 'CONSUMER', created_at, extra: {} }, expiresAt: Infinity }
  }
  const ended: string[] = []
  const store: Pick<SessionStore, 'batches' | 'count' | 'removeSome'> = {
    async *batches() {
      yield [stored('old')]
      clock.time += 6000
      yield [stored('new')]
    },
    count: async () => 2,
    async removeSome(_type, _userId, tokens) {
      ended.push(...tokens)
      return [...tokens]
    },
  }
  const entered = createTokensLimit({
    type: 'CONSUMER',
    jwt: { read: () => null } as unknown as Jwt,
    store: store as SessionStore,
    ages: createAges(timestamps),
    clock,
    policy: { max_tokens_per_user: 1, per_device: false },
    confirmed: async () => undefined,
    noteOf: () => undefined,
  })
  await entered('u', {})
  t.same(ended, ['old'])
})

import { type Fixture, startFixture } from '../support/gateway-fixture.ts'
import { ADDRESSES, MOST, PATHS } from './keys-model.ts'
import { keyStep, Player, type Step } from './keys-player.ts'
import { checkSequences, type See, type SequenceOptions } from './model.ts'

/*
 * Keys, through everything that happens to them and to their users: after each step every request by key passes as the user and with
 * the key that a model names, or is refused, and users see the keys that it has.
 */

const ADD = { kind: 'add', user: 0, days: 3, paths: null, addresses: null } as const
const USE = { kind: 'use', key: 0, path: PATHS[0], address: ADDRESSES[0], as: 'header' } as const

/** Sees each outcome at least once. */
const FIRST: readonly Step[] = [
  ...Array.from({ length: MOST + 1 }, () => ADD),
  ...[USE, { ...USE, path: '/api/v1/sys/session/page' as const }, { ...USE, as: 'query' as const }],
  { kind: 'token', key: 0 },
  { ...USE, as: 'access token' },
  { kind: 'rotate', user: 0, key: 0 },
  { kind: 'revoke', user: 0, key: 1 },
  { ...USE, key: 1 },
  { kind: 'list', user: 0 },
]

/** Keys on one of the stores. */
export const fuzzKeys = (store: Fixture['kind']) => async (options: SequenceOptions) => {
  const fixture = await startFixture({
    store,
    config: {
      keys: { business: { max_per_user: MOST } },
      account_administration: true,
      // Ended keys are wrong ones.
      login: { lockout: { failures: 1_000_000, address_failures: 1_000_000 } },
      browser: { business: 'on' },
    },
    upstreams: [{ name: 'site', match: '/api/v1', target: 'builtin:echo' }],
  })
  try {
    const length = { minLength: 40, maxLength: 120 }
    const play = async (steps: readonly Step[], see: See): Promise<void> => {
      const player = new Player(fixture, see)
      await player.begin()
      for (const one of steps) await player.take(one)
      await player.end()
    }
    return await checkSequences(keyStep, length, options, play, [[...FIRST]])
  } finally {
    await fixture.close()
  }
}

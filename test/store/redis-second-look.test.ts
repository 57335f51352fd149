import t from 'tap'
import type { RedisCommands } from '../../src/store/redis/commands/redis-commands.ts'
import { RedisSessions } from '../../src/store/redis/sessions/sessions.ts'
import { freshToken, MINUTE, record } from './contract-fixture.ts'
import { keys } from './interleavings/acts.ts'
import { ModelRedis } from './interleavings/model-redis.ts'

/*
 * A login in Redis checks twice whether its user was kicked out or disabled: before it writes, and after. Here something
 * comes in between.
 */

const USER = '1'

/** Sessions of which a login stops before one of its commands, until `meanwhile` is done. */
function stoppedBefore(command: keyof RedisCommands, meanwhile: (others: RedisSessions) => Promise<unknown>) {
  const redis = new ModelRedis()
  const others = new RedisSessions(commandsOf(redis), keys, redis.clock)
  const stopping = commandsOf(redis, async name => {
    if (name === command) await meanwhile(others)
  })
  return { redis, others, sessions: new RedisSessions(stopping, keys, redis.clock) }
}

function commandsOf(redis: ModelRedis, before: (name: string) => Promise<void> = async () => undefined): RedisCommands {
  const commands = Object.entries(redis.commands).map(([name, run]) => [
    name,
    async (...args: unknown[]) => {
      await before(name)
      return (run as (...args: unknown[]) => unknown)(...args)
    },
  ])
  return Object.fromEntries(commands) as RedisCommands
}

for (const command of ['create', 'addMember'] as const) {
  t.test(`a login whose user is disabled before its ${command} is refused, and leaves no session`, async t => {
    const { redis, others, sessions } = stoppedBefore(command, others =>
      others.disable('BUSINESS', USER, redis.now + MINUTE),
    )
    const token = freshToken()
    const admission = await sessions.add('BUSINESS', token, record('BUSINESS', USER), redis.now + MINUTE)
    t.same(admission, { admitted: false, disabledUntil: redis.now + MINUTE })
    t.equal(await others.find('BUSINESS', token), null)
    t.equal(await others.count('BUSINESS', USER), 0)
  })

  t.test(`a login whose user is kicked out before its ${command} is refused, and leaves no session`, async t => {
    const { redis, others, sessions } = stoppedBefore(command, others => others.removeAll('BUSINESS', USER))
    const token = freshToken()
    const admission = await sessions.add('BUSINESS', token, record('BUSINESS', USER), redis.now + MINUTE)
    t.same(admission, { admitted: false, disabledUntil: null })
    t.equal(await others.find('BUSINESS', token), null)
    t.equal(await others.count('BUSINESS', USER), 0)
  })
}

t.test('a login of another user is not refused for it', async t => {
  const { redis, sessions } = stoppedBefore('create', others => others.removeAll('BUSINESS', '2'))
  const admission = await sessions.add('BUSINESS', freshToken(), record('BUSINESS', USER), redis.now + MINUTE)
  t.same(admission, { admitted: true })
})

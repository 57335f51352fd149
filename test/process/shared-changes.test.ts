import t from 'tap'
import { ChaosGateway } from '../chaos/gateway.ts'
import { type Answer, call } from '../support/client.ts'
import { startRedis, withoutRedisServer } from '../support/redis-server.ts'
import { until } from '../support/until.ts'

t.test(
  'changes that workers acknowledged are kept when they die together with Redis',
  { skip: withoutRedisServer },
  async t => {
    const redis = await startRedis()
    t.teardown(() => redis.stop())
    const gateway = await ChaosGateway.start({ store: { kind: 'redis', timeout: '30s', redis: { url: redis.url } } })
    t.teardown(() => gateway.remove())
    const { url, internal, secret } = gateway.where
    const operate = (operation: string, body: unknown): Promise<Answer> =>
      call(internal, { method: 'POST', path: `/operations/v1/business/${operation}`, token: secret, body })
    /** The code of the first answer after the outage. */
    const codeAfter = (question: () => Promise<Answer>): Promise<number> =>
      until(async () => {
        const answer = await question().catch(() => null)
        return answer !== null && answer.status !== 503 && answer.json().code
      })
    const { token } = (await operate('login', { user_id: 'ended' })).json().data
    // Redis comes back with what it had here, the journal included.
    await redis.cli('SAVE')
    t.equal((await operate('kickout', { user_id: 'ended' })).json().code, 200)
    t.equal((await operate('disable', { user_id: 'bad', seconds: 600 })).json().code, 200)
    await redis.kill()
    for (const pid of gateway.workers()) process.kill(pid, 'SIGKILL')
    await redis.restart()

    t.equal(await codeAfter(() => call(url, { path: '/api/v1/b/x', token })), 401, 'a token that was ended')
    t.equal(await codeAfter(() => operate('login', { user_id: 'bad' })), 403, 'a login id that was disabled')
  },
)

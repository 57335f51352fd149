import t from 'tap'
import { ask } from '../chaos/ask.ts'
import { ChaosGateway } from '../chaos/gateway.ts'
import { startRedis, withoutRedisServer } from '../support/redis-server.ts'

t.test(
  'changes that workers acknowledged are kept when they die together with Redis',
  { skip: withoutRedisServer },
  async t => {
    const redis = await startRedis()
    t.teardown(() => redis.stop())
    const gateway = await ChaosGateway.start({ store: { kind: 'redis', timeout: '30s', redis: { url: redis.url } } })
    t.teardown(() => gateway.remove())
    const { url, internal, secret } = gateway.where
    const operate = async (operation: string, body: unknown) =>
      (await ask(internal, `/operations/v1/business/${operation}`, { token: secret, body })).body
    const answered = async <T>(question: () => Promise<T>, isAnswer: (answer: T) => boolean): Promise<T> => {
      for (;;) {
        const answer = await question().catch(() => null)
        if (answer !== null && isAnswer(answer)) return answer
        await new Promise(resolve => setTimeout(resolve, 20))
      }
    }
    const { token } = (await operate('login', { user_id: 'ended' })).data
    // Redis comes back with what it had here, the journal included.
    await redis.cli('SAVE')
    t.equal((await operate('kickout', { user_id: 'ended' })).code, 200)
    t.equal((await operate('disable', { user_id: 'bad', seconds: 600 })).code, 200)
    await redis.kill()
    for (const pid of gateway.workers()) process.kill(pid, 'SIGKILL')
    await redis.restart()

    const request = await answered(
      () => ask(url, '/api/v1/b/x', { token }),
      ({ status }) => status !== 503,
    )
    t.equal(request.body.code, 401, 'a token that was ended')
    const login = await answered(
      () => operate('login', { user_id: 'bad' }),
      ({ code }) => code < 500,
    )
    t.equal(login.code, 403, 'a login id that was disabled')
  },
)

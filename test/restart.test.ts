import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { call } from './support/client.ts'
import { type GatewayProcess, newcomerFolder, startGateway } from './support/process.ts'

/* The embedded store and the life of its process. */

const ROUNDS = 100

function clientOf(gateway: GatewayProcess) {
  const secret = readFileSync(join(gateway.folder, 'data/internal.secret'), 'utf8').trim()
  const operate = async (operation: string, body: unknown) =>
    (
      await call(gateway.internal, {
        method: 'POST',
        path: `/operations/v1/consumer/${operation}`,
        token: secret,
        body,
      })
    ).json()
  return {
    login: async (user: string): Promise<string> => (await operate('login', { user_id: user })).data.token,
    logout: async (token: string): Promise<boolean> => (await operate('logout', { token })).success,
    isServed: async (token: string): Promise<boolean> => {
      const answer = await call(gateway.url, { path: '/api/v1/c/x', token })
      if (answer.status !== 200) throw new Error(`unexpected: ${answer.text}`)
      return answer.json().code !== 401
    },
  }
}

t.test('SIGTERM lets the request under way finish, and ends with 0', async t => {
  const { folder, remove } = newcomerFolder()
  t.teardown(remove)
  const gateway = await startGateway(folder)
  const token = await clientOf(gateway).login('u1')
  const upload = call(gateway.url, { method: 'POST', path: '/api/v1/c/x', token, body: 'x'.repeat(1_000_000) })
  const [code] = await Promise.all([gateway.end('SIGTERM'), upload.catch(() => null)])
  t.equal(code, 0)
})

t.test('a restart keeps the sessions that live and the ones that ended', async t => {
  const { folder, remove } = newcomerFolder()
  t.teardown(remove)
  const first = await startGateway(folder)
  const before = clientOf(first)
  const alive = await before.login('u1')
  const dead = await before.login('u2')
  await before.logout(dead)
  await first.end('SIGTERM')
  const second = await startGateway(folder)
  t.teardown(() => second.end('SIGKILL'))
  const after = clientOf(second)
  t.ok(await after.isServed(alive))
  t.notOk(await after.isServed(dead))
  t.notMatch(second.output(), /password/i, 'the first account is made once')
})

t.test(
  `kill -9 at ${ROUNDS} random timestamps: acknowledged logins live, acknowledged logouts stay dead`,
  { timeout: 600_000 },
  async t => {
    const { folder, remove } = newcomerFolder()
    t.teardown(remove)
    const alive = new Set<string>()
    const dead = new Set<string>()
    let wrong = 0

    for (let round = 0; round < ROUNDS; round++) {
      const gateway = await startGateway(folder, { LOG__LEVEL: 'warn', WORKERS: '1' })
      const client = clientOf(gateway)
      const sample = [...alive].slice(-5)
      for (const token of sample) if (!(await client.isServed(token))) wrong++
      for (const token of [...dead].slice(-5)) if (await client.isServed(token)) wrong++

      const killed = new Promise(resolve => setTimeout(resolve, 5 + Math.random() * 120)).then(() =>
        gateway.end('SIGKILL'),
      )
      const work = async (worker: number) => {
        for (let i = 0; ; i++) {
          const token = await client.login(`u${worker}`)
          alive.add(token)
          if (i % 2 === 0) continue
          // Between the question and its answer the token is neither.
          alive.delete(token)
          if (await client.logout(token)) dead.add(token)
        }
      }
      await Promise.allSettled([killed, work(1), work(2), work(3)])
    }

    const gateway = await startGateway(folder)
    t.teardown(() => gateway.end('SIGKILL'))
    const client = clientOf(gateway)
    for (const token of alive) if (!(await client.isServed(token))) wrong++
    for (const token of dead) if (await client.isServed(token)) wrong++
    t.ok(alive.size > ROUNDS && dead.size > ROUNDS, `${alive.size} logins and ${dead.size} logouts were acknowledged`)
    t.equal(wrong, 0)
  },
)

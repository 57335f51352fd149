import t from 'tap'
import { call } from './support/client.ts'
import { type GatewayProcess, newcomerFolder, startGateway } from './support/process.ts'
import { random } from './support/random.ts'

/* The embedded store and the life of its process. */

/** Kills of a whole gateway; `npm run chaos -- --only killed --rounds 100` goes on for long. */
const ROUNDS = 10

function clientOf(gateway: GatewayProcess) {
  return {
    login: async (user: string): Promise<string> =>
      (await gateway.operate('consumer', 'login', { user_id: user })).data.token,
    logout: async (token: string): Promise<boolean> => (await gateway.operate('consumer', 'logout', { token })).success,
    isServed: async (token: string): Promise<boolean> => {
      const answer = await call(gateway.url, { path: '/api/v1/c/x', token })
      if (answer.status !== 200) throw new Error(`unexpected: ${answer.text}`)
      return answer.json().code !== 401
    },
  }
}

t.test('SIGTERM lets a request in progress finish, and a restart keeps the sessions', async t => {
  const { folder, remove } = newcomerFolder()
  t.teardown(remove)
  const first = await startGateway(folder)
  t.teardown(() => first.end('SIGKILL'))
  const before = clientOf(first)
  const alive = await before.login('u1')
  const dead = await before.login('u2')
  t.ok(await before.logout(dead))
  const upload = call(first.url, { method: 'POST', path: '/api/v1/c/x', token: alive, body: 'x'.repeat(1_000_000) })
  const [code] = await Promise.all([first.end('SIGTERM'), upload.catch(() => null)])
  t.equal(code, 0)

  const second = await startGateway(folder)
  t.teardown(() => second.end('SIGKILL'))
  const after = clientOf(second)
  t.ok(await after.isServed(alive))
  t.notOk(await after.isServed(dead))
  t.notMatch(second.output(), /password/i, 'the first account is made once')
})

t.test(`kill -9 at ${ROUNDS} random timestamps: acknowledged logins live, acknowledged logouts stay dead`, async t => {
  const { folder, remove } = newcomerFolder()
  t.teardown(remove)
  const alive = new Set<string>()
  const dead = new Set<string>()
  const everyTokenIsRight = async (client: ReturnType<typeof clientOf>): Promise<void> => {
    for (const token of alive) if (!(await client.isServed(token))) t.fail('an acknowledged login is lost')
    for (const token of dead) if (await client.isServed(token)) t.fail('an acknowledged logout is undone')
  }

  for (let round = 0; round <= ROUNDS; round++) {
    const gateway = await startGateway(folder, { LOG__LEVEL: 'warn', WORKERS: '1' })
    t.teardown(() => gateway.end('SIGKILL'))
    const client = clientOf(gateway)
    await everyTokenIsRight(client)
    if (round < ROUNDS) await killAtWork(gateway, client, alive, dead)
  }
  t.ok(alive.size > ROUNDS && dead.size > ROUNDS, `${alive.size} logins and ${dead.size} logouts were acknowledged`)
})

/** Three users log in and out until the gateway is killed, some time after the first logouts were acknowledged. */
async function killAtWork(
  gateway: GatewayProcess,
  client: ReturnType<typeof clientOf>,
  alive: Set<string>,
  dead: Set<string>,
): Promise<void> {
  const enough = dead.size + 2 + random() * 10
  let isOver = false
  const work = async (user: number) => {
    for (let i = 0; ; i++) {
      const token = await client.login(`u${user}`)
      alive.add(token)
      if (i % 2 === 0) continue
      // Between the request and its answer the token is neither.
      alive.delete(token)
      if (await client.logout(token)) dead.add(token)
      if (dead.size < enough || isOver) continue
      isOver = true
      setTimeout(() => void gateway.end('SIGKILL'), random() * 10)
    }
  }
  await Promise.allSettled([work(1), work(2), work(3)])
  await gateway.end('SIGKILL')
}

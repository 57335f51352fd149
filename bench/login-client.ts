import { Client } from 'undici'
import type { RedisPlace } from './redis.ts'
import { encryptFor, signIn } from './sign-in.ts'
import { quantile } from './statistics.ts'
import { openBeside } from './stored.ts'

/*
 * Signs users in as fast as a gateway allows, a fixed number at a time: captcha, then login. It prints a line when it begins,
 * and goes on until its input ends: its own start would delay what is measured beside it.
 */
export interface LoginLoad {
  url: string
  /** The store of the gateway: Redis, or the folder of the embedded one. */
  redis?: RedisPlace | undefined
  data: string
  accounts: readonly string[]
  password: string
  together: number
}

export interface LoginResult {
  /** Logins per second. */
  rate: number
  /** Of the login without its captcha, in milliseconds. */
  p50: number
  p99: number
  refused: number
}

/** Milliseconds after which a client tries again that a busy gateway has refused. */
const REFUSED_PAUSE = 100

const asked = JSON.parse(process.argv[2]!) as LoginLoad
const store = await openBeside(asked.redis, asked.data, 20_000)
const latencies: number[] = []
let refused = 0
let next = 0

const first = new Client(asked.url)
const password = await encryptFor(first, asked.password)
await first.close()
let over = false
process.stdin.once('end', () => {
  over = true
})
process.stdin.resume()
console.log('begins')
const began = performance.now()

await Promise.all(
  Array.from({ length: asked.together }, async () => {
    const client = new Client(asked.url)
    while (!over) {
      const username = asked.accounts[next++ % asked.accounts.length]!
      const { token, elapsed } = await signIn(client, store.captchas, username, password)
      if (token !== null) {
        latencies.push(elapsed)
        continue
      }
      refused++
      await new Promise(resolve => setTimeout(resolve, REFUSED_PAUSE))
    }
    await client.close()
  }),
)
const seconds = (performance.now() - began) / 1000
await store.close()
const sorted = latencies.sort((a, b) => a - b)
const result: LoginResult = {
  rate: sorted.length / seconds,
  p50: quantile(sorted, 0.5),
  p99: quantile(sorted, 0.99),
  refused,
}
console.log(JSON.stringify(result))

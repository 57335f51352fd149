import smCrypto from 'sm-crypto'
import { Client } from 'undici'
import { systemClock } from '../src/clock.ts'
import { openEmbeddedStore } from '../src/store/embedded/embedded.ts'
import { quantile } from './statistics.ts'

/*
 * Signs users in as fast as a gateway lets it, so many at a time: captcha, then login. Nobody reads the pictures here:
 * the answer in the gateway's own store is replaced by one that is known.
 */
export interface LoginLoad {
  url: string
  /** Folder of the gateway's embedded store. */
  data: string
  accounts: readonly string[]
  password: string
  together: number
  seconds: number
}

export interface LoginResult {
  /** Logins per second. */
  rate: number
  /** Of the login without its captcha, in milliseconds. */
  p50: number
  p99: number
  refused: number
}

const asked = JSON.parse(process.argv[2]!) as LoginLoad
const store = await openEmbeddedStore(asked.data, systemClock, 20_000)
const latencies: number[] = []
let refused = 0
let next = 0

async function data(client: Client, method: 'GET' | 'POST', path: string, body?: object): Promise<unknown> {
  const sent = body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const response = await client.request({ method, path: `/api/v1/public/b${path}`, ...sent })
  return ((await response.body.json()) as { data: unknown }).data
}

async function signIn(client: Client, password: string): Promise<void> {
  const { captcha_id } = (await data(client, 'GET', '/captcha')) as { captcha_id: string }
  await store.captchas.put('BUSINESS', captcha_id, 'abcd', Date.now() + 60_000)
  const username = asked.accounts[next++ % asked.accounts.length]
  const began = performance.now()
  const answer = await data(client, 'POST', '/login', { captcha_id, captcha_value: 'abcd', username, password })
  latencies.push(performance.now() - began)
  if (answer === null) refused++
}

const first = new Client(asked.url)
const key = (await data(first, 'GET', '/sm2/public-key')) as string
await first.close()
// A ciphertext is as good as another; making one costs more than reading one.
const password = smCrypto.sm2.doEncrypt(asked.password, key, 1)
const began = performance.now()
const until = began + asked.seconds * 1000

await Promise.all(
  Array.from({ length: asked.together }, async () => {
    const client = new Client(asked.url)
    while (performance.now() < until) await signIn(client, password)
    await client.close()
  }),
)
const seconds = (performance.now() - began) / 1000
await store.close()
const sorted = latencies.sort((a, b) => a - b)
const result: LoginResult = {
  rate: (sorted.length - refused) / seconds,
  p50: quantile(sorted, 0.5),
  p99: quantile(sorted, 0.99),
  refused,
}
console.log(JSON.stringify(result))

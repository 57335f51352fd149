import type { OpenIdProvider } from '../test/support/openid-provider.ts'
import { type BenchGateway, startGateway } from './gateway.ts'
import { onScene, type Scene } from './process.ts'
import { providerSettings, sendLogouts, signInAt, startProvider } from './provider-sessions.ts'
import { startRedis } from './redis.ts'
import { fixed, note, printTable, quantile, whole } from './statistics.ts'
import { startUpstream } from './upstream.ts'
import { openWebSockets } from './websockets.ts'

/** WebSockets of the user at each gateway; two workers share them. */
const SOCKETS = 10

/** How soon a logout at the provider has closed the last WebSocket of its user, on one gateway and on two. */
export async function endsByProvider(rounds: number): Promise<void> {
  const rows: string[][] = []
  for (const store of ['embedded', 'redis'] as const) {
    await onScene(async scene => {
      const redis = store === 'redis' ? await startRedis(scene, 'redis-provider-ends') : null
      if (store === 'redis' && redis === null) return note('redis-server is missing: Redis is left out')
      rows.push(await measure(scene, redis?.url, rounds))
    })
  }
  printTable(['store, gateways', 'logouts', 'to the last closed WebSocket, median', 'worst'], rows)
}

async function measure(scene: Scene, redis: string | undefined, rounds: number): Promise<string[]> {
  const openid = await startProvider(scene, 'BUSINESS')
  const gateways = await startGateways(scene, redis, openid)
  await sendLogouts(openid, 'BUSINESS', gateways[0]!)
  const elapsed: number[] = []
  for (let i = 0; i < rounds; i++) {
    const token = await signInAt(openid, 'BUSINESS', gateways[0]!, 'ada')
    const opened = await Promise.all(
      gateways.map(gateway => openWebSockets(gateway, [token], SOCKETS, '/api/v1/b/live')),
    )
    const began = performance.now()
    await openid.logout('ada')
    const ends = await Promise.all(opened.flat().map(({ ended }) => ended))
    elapsed.push(Math.max(...ends) - began)
    openid.forget('ada')
  }
  const sorted = elapsed.toSorted((a, b) => a - b)
  const title = `${redis === undefined ? 'embedded' : 'redis'}, ${gateways.length}`
  return [title, whole(rounds), ...[0.5, 1].map(share => `${fixed(quantile(sorted, share), 0)} ms`)]
}

/** One gateway of two workers on the embedded store; two of them on Redis. */
async function startGateways(scene: Scene, redis: string | undefined, openid: OpenIdProvider): Promise<BenchGateway[]> {
  const target = await startUpstream(scene, true)
  const settings = {
    workers: 2,
    ...providerSettings('BUSINESS', openid),
    upstreams: [{ name: 'live', match: '/api/v1', target, websocket: { max_per_user: 10 * SOCKETS } }],
  }
  const names = redis === undefined ? ['one'] : ['one', 'two']
  return Promise.all(names.map(name => startGateway(scene, `provider-${name}`, { redis, core: null, settings })))
}

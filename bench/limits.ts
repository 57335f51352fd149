import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { parseArgs } from 'node:util'
import { Pool } from 'undici'
import { systemClock } from '../src/base/clock.ts'
import { openEmbeddedStore } from '../src/store/embedded/embedded.ts'
import type { Store } from '../src/store/store.ts'
import { type BenchGateway, startGateway } from './gateway.ts'
import { anonymousBytes, onScene, type Scene } from './process.ts'
import { fixed, note, printTable, whole } from './statistics.ts'
import { startUpstream } from './upstream.ts'

export const LIMITS_HELP = `limits    memory that hostile clients cost, and how soon the gateway disconnects them
            --sockets 2000 --requests 5000 --captchas 1000 --logins 200`

const MIB = 2 ** 20
const TIMES = 3
const SAMPLE_INTERVAL = 20
/** Requests and handshakes in progress at the same time. */
const TOGETHER = 50
/** Shorter than the default limits, so that each siege can be repeated. */
const TIME_LIMIT = '5s'

/** Something that clients do to a gateway; resolves when it is over. */
interface Siege {
  what: string
  count: number
  lay(count: number): Promise<void>
}

interface Besieged {
  gateway: BenchGateway
  store: Pick<Store, 'captchas'>
  pool: Pool
}

export async function limits(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: {
      sockets: { type: 'string', default: '2000' },
      requests: { type: 'string', default: '5000' },
      captchas: { type: 'string', default: '1000' },
      logins: { type: 'string', default: '200' },
    },
  })
  const [sockets, requests, captchas, logins] = [
    Number(values.sockets),
    Number(values.requests),
    Number(values.captchas),
    Number(values.logins),
  ]
  await onScene(async scene => {
    const besieged = await open(scene)
    const sieges = [
      ...slowClients(besieged.gateway, sockets),
      ...largeRequests(besieged, requests),
      ...rememberedByName(besieged, captchas, logins),
    ]
    const rows: string[][] = []
    for (const siege of sieges) rows.push(await endure(besieged.gateway, siege))
    console.log(`Time limits of ${TIME_LIMIT}; increase of memory in MiB for each row:\n`)
    printTable(['what, three times', 'count', 'seconds', 'most', 'after the first', 'after the third'], rows)
  })
}

async function open(scene: Scene): Promise<Besieged> {
  const gateway = await startGateway(scene, 'gateway', {
    upstream: await startUpstream(scene, true),
    listen: { timeouts: { headers: TIME_LIMIT, body: TIME_LIMIT, keep_alive: TIME_LIMIT } },
    // Every request may name another address, so that limits per address do not end a siege.
    settings: { trusted_proxies: ['127.0.0.1'] },
  })
  const store = await openEmbeddedStore(gateway.data, systemClock, 20_000)
  const pool = new Pool(gateway.url, { connections: TOGETHER })
  scene.keep({
    async end() {
      await pool.close()
      await store.close()
    },
  })
  return { gateway, store, pool }
}

/** Lays a siege several times: a leak grows more after the last time than after the first. */
async function endure({ pid }: BenchGateway, { what, count, lay }: Siege): Promise<string[]> {
  const before = anonymousBytes(pid)
  let most = before
  const sampling = setInterval(() => {
    most = Math.max(most, anonymousBytes(pid))
  }, SAMPLE_INTERVAL)
  const elapsed: number[] = []
  const after: number[] = []
  for (let i = 0; i < TIMES; i++) {
    note(`${whole(count)} ${what}, ${i + 1} of ${TIMES}`)
    const began = performance.now()
    await lay(count)
    elapsed.push((performance.now() - began) / 1000)
    await rest()
    after.push(anonymousBytes(pid))
  }
  clearInterval(sampling)
  const more = (bytes: number): string => fixed((bytes - before) / MIB, 1)
  return [what, whole(count), fixed(Math.max(...elapsed), 1), more(most), more(after[0]!), more(after.at(-1)!)]
}

const HEAD = 'POST /api/v1/public/c/x HTTP/1.1\r\nHost: a\r\n'

/** Clients that open a connection and send slowly or nothing. */
function slowClients(gateway: BenchGateway, count: number): Siege[] {
  const silent = (what: string, words: string, drip = ''): Siege => ({
    what,
    count,
    lay: count => untilLetGo(gateway, count, words, drip),
  })
  return [
    silent('clients that send nothing', ''),
    silent('clients that send the head byte by byte', `${HEAD}X-Slow: `, 'x'),
    silent('clients that stop within a body', `${HEAD}Content-Length: 100\r\n\r\nx`),
    silent('clients that stop within a chunk', `${HEAD}Transfer-Encoding: chunked\r\n\r\nff\r\nx`),
    silent(
      'clients that send one request, then idle',
      'GET /api/v1/public/b/sm2/public-key HTTP/1.1\r\nHost: a\r\n\r\n',
    ),
  ]
}

/** Opens connections, sends something on each, continues byte by byte, and waits until the gateway has closed all. */
async function untilLetGo({ url }: BenchGateway, count: number, words: string, drip: string): Promise<void> {
  const { hostname, port } = new URL(url)
  const sockets: Socket[] = []
  const closed: Promise<unknown>[] = []
  const one = async (): Promise<void> => {
    const socket = connect(Number(port), hostname).on('error', () => undefined)
    closed.push(new Promise(resolve => socket.once('close', resolve)))
    await once(socket, 'connect')
    socket.resume().write(words)
    sockets.push(socket)
  }
  const dripping = setInterval(() => {
    if (drip !== '') for (const socket of sockets) if (socket.writable) socket.write(drip)
  }, 1000)
  for (let i = 0; i < count; i += TOGETHER) {
    await Promise.all(Array.from({ length: Math.min(TOGETHER, count - i) }, one))
  }
  await Promise.all(closed)
  clearInterval(dripping)
}

const DEEP = `{"username":${'['.repeat(4000)}${']'.repeat(4000)}}`

/** Requests at the size limits and above. */
function largeRequests(besieged: Besieged, count: number): Siege[] {
  const login = { method: 'POST', path: '/api/v1/public/b/login' } as const
  const json = { 'content-type': 'application/json' }
  const each = (what: string, codes: number[], request: (i: number) => Asked): Siege => ({
    what,
    count,
    lay: count => askAll(besieged, count, codes, request),
  })
  return [
    each('heads of 14 KiB with unique field names', [401], i => ({
      method: 'GET',
      path: '/api/v1/c/x',
      headers: Object.fromEntries(Array.from({ length: 140 }, (_, j) => [`x-${i}-${j}`, 'x'.repeat(80)])),
    })),
    each('heads of 20 KiB', [431], () => ({
      method: 'GET',
      path: '/api/v1/c/x',
      headers: { 'x-large': 'x'.repeat(20_000) },
    })),
    each('bodies of JSON 4000 levels deep', [400], () => ({ ...login, headers: json, body: DEEP })),
    each('bodies of 64 KiB, limit 8 KiB', [413], () => ({
      ...login,
      headers: json,
      body: `{"password":"${'x'.repeat(65_536)}"}`,
    })),
    each('invalid tokens of 2 KiB', [401], i => ({
      method: 'GET',
      path: '/api/v1/c/x',
      headers: { authorization: `Bearer eyJhbGciOiJIUzI1NiJ9.${forgedPayload(i)}.AAAA` },
    })),
  ]
}

const forgedPayload = (i: number): string =>
  Buffer.from(`{"jti":"${i}-${'x'.repeat(1500)}","iat":1}`).toString('base64url')

/** State that the gateway keeps for a while, each time for another address and name. */
function rememberedByName(besieged: Besieged, captchas: number, logins: number): Siege[] {
  return [
    {
      what: 'captchas without an answer',
      count: captchas,
      lay: count => askAll(besieged, count, [200], () => ({ method: 'GET', path: '/api/v1/public/b/captcha' })),
    },
    {
      what: 'failed logins, five for each name',
      count: logins,
      lay: count => failLogins(besieged, count),
    },
  ]
}

/** Every name fails five times and is locked. */
async function failLogins(besieged: Besieged, count: number): Promise<void> {
  const { pool, store } = besieged
  const siege = nextAddress()
  await inTurns(count, async i => {
    const { captcha_id } = (await ask(pool, { method: 'GET', path: '/api/v1/public/b/captcha' })).data
    await store.captchas.put('BUSINESS', captcha_id, 'abcd', systemClock.now() + 60_000)
    const body = { captcha_id, captcha_value: 'abcd', username: `${siege}-${Math.floor(i / 5)}`, password: 'zz' }
    const { code } = await ask(pool, {
      method: 'POST',
      path: '/api/v1/public/b/login',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    // A name may be locked by faster failures, and the threads may be busy.
    if (![400, 403, 503].includes(code)) throw new Error(`a failed login: ${code}`)
  })
}

interface Asked {
  method: 'GET' | 'POST'
  path: string
  headers?: Record<string, string>
  body?: string
}

async function askAll(
  { pool }: Besieged,
  count: number,
  codes: readonly number[],
  request: (i: number) => Asked,
): Promise<void> {
  await inTurns(count, async i => {
    const { code } = await ask(pool, request(i))
    if (!codes.includes(code)) throw new Error(`answered with ${code}`)
  })
}

let addresses = 0
/** Another one each time. */
const nextAddress = (): string => {
  addresses++
  return `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`
}

async function ask(pool: Pool, { headers = {}, ...asked }: Asked): Promise<{ code: number; data: any }> {
  const response = await pool.request({ ...asked, headers: { ...headers, 'x-forwarded-for': nextAddress() } })
  return (await response.body.json()) as { code: number; data: any }
}

async function inTurns(count: number, act: (i: number) => Promise<void>): Promise<void> {
  let next = 0
  const line = async (): Promise<void> => {
    while (next < count) await act(next++)
  }
  await Promise.all(Array.from({ length: TOGETHER }, line))
}

/** Three seconds without requests, so that garbage is collected before the measurement. */
const rest = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 3000))

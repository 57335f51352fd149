import { basename, join, resolve } from 'node:path'
import { freePort } from '../test/support/ports.ts'
import { type BenchGateway, type GatewayOptions, knows, logIn, SECRETS, startGateway } from './gateway.ts'
import { gatewayWithKeys } from './keys.ts'
import { GATEWAY_CORE, programNamed } from './machine.ts'
import { type Scene, type Started, start } from './process.ts'
import { type BenchRedis, startRedis } from './redis.ts'
import * as nginx from './rivals/nginx.ts'

/** A proxy in front of the upstream, or the upstream itself. */
export interface Contender {
  key: string
  title: string
  url: string
  /** Base of the path: below it are `orders` and `size/<KiB>`. */
  base: string
  /** Sent in turn; empty if no token is needed. */
  tokens: readonly string[]
  /** What stands before a token in its header field; without it, the token is sent as bearer. */
  credential?: string | undefined
  /** Its processes on the gateways' core. */
  processes: readonly Started[]
}

const CONSUMER = '/api/v1/c'
const PUBLIC = '/api/v1/public/c'
/** Number of sessions whose tokens the requests use in turn. */
const SESSIONS = 1000

interface Placed {
  url: string
  processes: readonly Started[]
}

const placed = (gateway: BenchGateway): Placed => ({ url: gateway.url, processes: [gateway] })

/** Servers and sessions that remain for the whole run. */
export class Ground {
  readonly upstream: string
  readonly #scene: Scene
  #redis: Promise<BenchRedis> | null = null
  #redisTokens: Promise<string[]> | null = null

  constructor(scene: Scene, upstream: string) {
    this.#scene = scene
    this.upstream = upstream
  }

  redis(): Promise<BenchRedis> {
    this.#redis ??= startRedis(this.#scene).then(redis => redis!)
    return this.#redis
  }

  /** Sessions in Redis, the same for all contenders with Redis. */
  redisTokens(): Promise<string[]> {
    this.#redisTokens ??= this.#mint()
    return this.#redisTokens
  }

  async #mint(): Promise<string[]> {
    const gateway = await startGateway(this.#scene, 'mint', { redis: (await this.redis()).url })
    const tokens = await logIn(gateway, SESSIONS)
    await gateway.end()
    return tokens
  }
}

/** What the contenders of one start share. */
class Start {
  readonly ground: Ground
  readonly scene: Scene
  readonly #checkout: string | undefined
  #embedded: ReturnType<Start['embeddedWithTokens']> | null = null

  /** `checkout`: that of the gateways, unless it is this one. */
  constructor(ground: Ground, scene: Scene, checkout?: string) {
    this.ground = ground
    this.scene = scene
    this.#checkout = checkout
  }

  gateway(name: string, options: GatewayOptions): Promise<BenchGateway> {
    const { upstream } = this.ground
    if (this.#checkout === undefined) return startGateway(this.scene, name, { upstream, ...options })
    const main = join(this.#checkout, 'dist/main.js')
    return startGateway(this.scene, `${name}-beside`, { upstream, main, ...options })
  }

  /** One gateway with the embedded store, for requests that need a session and for those that do not. */
  embeddedWithTokens(): Promise<Placed & { tokens: readonly string[] }> {
    this.#embedded ??= this.embedded('embedded')
    return this.#embedded
  }

  /** The sessions exist before it starts, as those in Redis. */
  async embedded(name: string, options: GatewayOptions = {}): Promise<Placed & { tokens: readonly string[] }> {
    const data = join(this.scene.folder, `${name}-sessions`)
    const first = await this.gateway(`${name}-mint`, { ...options, data })
    const tokens = await logIn(first, SESSIONS)
    await first.end()
    return { ...placed(await this.gateway(name, { ...options, data })), tokens }
  }

  /** A gateway whose clients are programs with as many keys as there are sessions. */
  async embeddedWithKeys(): Promise<Placed & { tokens: readonly string[] }> {
    const { keys: tokens, ...options } = await gatewayWithKeys(this.scene, SESSIONS)
    return { ...placed(await this.gateway('key', options)), tokens }
  }

  /** A gateway with the sessions that Redis has. */
  async onRedis(name: string, cache: 'off' | 'tracking'): Promise<Placed & { tokens: readonly string[] }> {
    const settings = knows('session_cache') ? { session_cache: { business: cache, consumer: cache } } : {}
    const redis = (await this.ground.redis()).url
    return { ...placed(await this.gateway(name, { redis, settings })), tokens: await this.ground.redisTokens() }
  }

  /** A Node program of rivals/ on the gateways' core. */
  async rival(file: string, words: readonly string[]): Promise<Placed> {
    const port = await freePort()
    const program = join(import.meta.dirname, 'rivals', file)
    const command = [process.execPath, '--import', 'tsx', program, String(port), ...words]
    const options = { core: GATEWAY_CORE, command, folder: this.scene.folder, cwd: import.meta.dirname, port }
    const started = this.scene.keep(await start(file, { ...options, environment: { NODE_ENV: 'production' } }))
    return { url: `http://127.0.0.1:${port}`, processes: [started] }
  }

  async nginx(name: string, write: (port: number) => nginx.NginxParts): Promise<Placed> {
    const port = await freePort()
    const command = nginx.nginxCommand(programNamed('nginx')!, nginx.nginxConfig(this.scene.folder, name, write(port)))
    const options = { core: GATEWAY_CORE, command, folder: this.scene.folder, port }
    const started = this.scene.keep(await start(name, { ...options, environment: nginx.luaEnvironment() }))
    return { url: `http://127.0.0.1:${port}`, processes: [started] }
  }
}

interface Entry {
  title: string
  base?: string
  credential?: string
  /** Whether this machine has what it needs; otherwise it is skipped. */
  needs?: () => boolean
  raise(start: Start): Promise<Placed & { tokens?: readonly string[] }>
}

const hasRedis = (): boolean => programNamed('redis-server') !== null
const hasNginx = (): boolean => programNamed('nginx') !== null

/** Our own gateway, with each store. */
const OURS: Readonly<Record<string, Entry>> = {
  public: {
    title: '**dualgate**, public path, no auth',
    base: PUBLIC,
    // With tokens that are not checked, so that the requests are the same.
    raise: start => start.embeddedWithTokens(),
  },
  embedded: {
    title: '**dualgate**, embedded store',
    raise: start => start.embeddedWithTokens(),
  },
  cookie: {
    title: '**dualgate**, embedded store, session in a cookie',
    credential: 'Cookie: __Host-dualgate-c=',
    needs: () => knows('browser'),
    raise: start => start.embedded('cookie', { settings: { browser: { consumer: 'on' } } }),
  },
  key: {
    title: '**dualgate**, embedded store, by key',
    needs: () => knows('keys'),
    raise: start => start.embeddedWithKeys(),
  },
  assertion: {
    title: '**dualgate**, embedded store, with an assertion',
    needs: () => knows('identity'),
    raise: start => start.embedded('assertion', { identity: { assertion: {} } }),
  },
  logged: {
    title: '**dualgate**, embedded store, access log on',
    raise: start => start.embedded('logged', { accessLog: true }),
  },
  tracking: {
    title: '**dualgate**, Redis, tracking cache',
    needs: () => hasRedis() && knows('session_cache'),
    raise: start => start.onRedis('tracking', 'tracking'),
  },
  redis: {
    title: '**dualgate**, Redis queried every time',
    needs: hasRedis,
    raise: start => start.onRedis('redis-gateway', 'off'),
  },
}

/** In the order of the table. */
const ENTRIES: Readonly<Record<string, Entry>> = {
  direct: { title: 'the upstream itself', raise: async ({ ground }) => ({ url: ground.upstream, processes: [] }) },
  nginx: {
    title: 'nginx, no auth',
    needs: hasNginx,
    raise: start => start.nginx('nginx', port => nginx.plain(start.ground.upstream, port)),
  },
  bare: {
    title: '@fastify/http-proxy unmodified, no auth',
    raise: start => start.rival('bare.ts', [start.ground.upstream]),
  },
  usual: {
    title: 'the same + @fastify/jwt + @fastify/redis',
    needs: hasRedis,
    raise: async start => {
      const words = [start.ground.upstream, (await start.ground.redis()).url, SECRETS.jwt]
      return { ...(await start.rival('usual.ts', words)), tokens: await start.ground.redisTokens() }
    },
  },
  ...OURS,
  lua: {
    title: 'nginx + Lua: HMAC and Redis GET',
    needs: () => hasRedis() && hasNginx() && nginx.hasLua(),
    raise: async start => {
      const { port: redisPort } = await start.ground.redis()
      const lua = await start.nginx('lua', port => nginx.lua(start.ground.upstream, port, redisPort, SECRETS.jwt))
      return { ...lua, tokens: await start.ground.redisTokens() }
    },
  },
  'auth-request': {
    title: 'nginx auth_request + a Node service with Redis',
    needs: () => hasRedis() && hasNginx(),
    raise: async start => {
      const service = await start.rival('auth-service.ts', [(await start.ground.redis()).url, SECRETS.jwt])
      const { url, processes } = await start.nginx('auth-request', port =>
        nginx.authRequest(start.ground.upstream, port, service.url),
      )
      return { url, processes: [...processes, ...service.processes], tokens: await start.ground.redisTokens() }
    },
  },
}

export const CONTENDER_KEYS = Object.keys(ENTRIES)

export interface Selection {
  /** Without any, all of them. */
  only: readonly string[]
  /** Another checkout, whose gateways are measured beside ours. */
  beside?: string | undefined
}

/** Starts new processes of the requested contenders that can run on this machine. */
export async function raiseContenders(scene: Scene, ground: Ground, { only, beside }: Selection): Promise<Contender[]> {
  const own = new Start(ground, scene)
  const others = beside === undefined ? null : new Start(ground, scene, resolve(beside))
  const raised: Contender[] = []
  for (const [key, entry] of Object.entries(ENTRIES)) {
    if ((only.length > 0 && !only.includes(key)) || entry.needs?.() === false) continue
    raised.push(await raise(own, key, entry))
    if (others !== null && Object.hasOwn(OURS, key)) {
      const name = basename(resolve(beside!))
      raised.push(await raise(others, `${key}@${name}`, { ...entry, title: `${entry.title} (${name})` }))
    }
  }
  return raised
}

async function raise(start: Start, key: string, entry: Entry): Promise<Contender> {
  const { title, base = CONSUMER, credential, raise } = entry
  return { key, title, base, credential, tokens: [], ...(await raise(start)) }
}

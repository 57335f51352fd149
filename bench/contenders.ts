import { join } from 'node:path'
import { freePort } from '../test/support/ports.ts'
import { type BenchGateway, knows, logIn, SECRETS, startGateway } from './gateway.ts'
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

/** Servers and sessions that several contenders share. */
class Ground {
  readonly scene: Scene
  readonly upstream: string
  #redis: Promise<BenchRedis> | null = null
  #redisTokens: Promise<string[]> | null = null
  #embedded: ReturnType<Ground['embeddedWithTokens']> | null = null

  constructor(scene: Scene, upstream: string) {
    this.scene = scene
    this.upstream = upstream
  }

  redis(): Promise<BenchRedis> {
    this.#redis ??= startRedis(this.scene).then(redis => redis!)
    return this.#redis
  }

  /** Sessions in Redis, the same for all contenders with Redis. */
  redisTokens(): Promise<string[]> {
    this.#redisTokens ??= this.#mint()
    return this.#redisTokens
  }

  async #mint(): Promise<string[]> {
    const gateway = await startGateway(this.scene, 'mint', { redis: (await this.redis()).url })
    const tokens = await logIn(gateway, SESSIONS)
    await gateway.end()
    return tokens
  }

  /** One gateway with the embedded store, for requests that need a session and for those that do not. */
  embeddedWithTokens(): Promise<Placed & { tokens: readonly string[] }> {
    this.#embedded ??= this.#openEmbedded()
    return this.#embedded
  }

  async #openEmbedded(): Promise<Placed & { tokens: readonly string[] }> {
    const gateway = await startGateway(this.scene, 'embedded', { upstream: this.upstream })
    return { ...placed(gateway), tokens: await logIn(gateway, SESSIONS) }
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

  async onRedis(name: string, cache: 'off' | 'tracking'): Promise<Placed> {
    const settings = knows('session_cache') ? { session_cache: { business: cache, consumer: cache } } : {}
    const redis = (await this.redis()).url
    return placed(await startGateway(this.scene, name, { upstream: this.upstream, redis, settings }))
  }
}

interface Entry {
  title: string
  base?: string
  /** Whether this machine has what it needs; otherwise it is skipped. */
  needs?: () => boolean
  raise(ground: Ground): Promise<Placed & { tokens?: readonly string[] }>
}

const hasRedis = (): boolean => programNamed('redis-server') !== null
const hasNginx = (): boolean => programNamed('nginx') !== null

/** In the order of the table. */
const ENTRIES: Readonly<Record<string, Entry>> = {
  direct: { title: 'the upstream itself', raise: async ({ upstream }) => ({ url: upstream, processes: [] }) },
  nginx: {
    title: 'nginx, no auth',
    needs: hasNginx,
    raise: ground => ground.nginx('nginx', port => nginx.plain(ground.upstream, port)),
  },
  bare: {
    title: '@fastify/http-proxy unmodified, no auth',
    raise: ground => ground.rival('bare.ts', [ground.upstream]),
  },
  usual: {
    title: 'the same + @fastify/jwt + @fastify/redis',
    needs: hasRedis,
    raise: async ground => {
      const words = [ground.upstream, (await ground.redis()).url, SECRETS.jwt]
      return { ...(await ground.rival('usual.ts', words)), tokens: await ground.redisTokens() }
    },
  },
  public: {
    title: '**dualgate**, public path, no auth',
    base: PUBLIC,
    // With tokens that are not checked, so that the requests are the same.
    raise: ground => ground.embeddedWithTokens(),
  },
  embedded: {
    title: '**dualgate**, embedded store',
    raise: ground => ground.embeddedWithTokens(),
  },
  logged: {
    title: '**dualgate**, embedded store, access log on',
    raise: async ({ scene, upstream }) => {
      const gateway = await startGateway(scene, 'logged', { upstream, accessLog: true })
      return { ...placed(gateway), tokens: await logIn(gateway, SESSIONS) }
    },
  },
  tracking: {
    title: '**dualgate**, Redis, tracking cache',
    needs: () => hasRedis() && knows('session_cache'),
    raise: async ground => ({
      ...(await ground.onRedis('tracking', 'tracking')),
      tokens: await ground.redisTokens(),
    }),
  },
  redis: {
    title: '**dualgate**, Redis queried every time',
    needs: hasRedis,
    raise: async ground => ({
      ...(await ground.onRedis('redis-gateway', 'off')),
      tokens: await ground.redisTokens(),
    }),
  },
  lua: {
    title: 'nginx + Lua: HMAC and Redis GET',
    needs: () => hasRedis() && hasNginx() && nginx.hasLua(),
    raise: async ground => {
      const { port: redisPort } = await ground.redis()
      const lua = await ground.nginx('lua', port => nginx.lua(ground.upstream, port, redisPort, SECRETS.jwt))
      return { ...lua, tokens: await ground.redisTokens() }
    },
  },
  'auth-request': {
    title: 'nginx auth_request + a Node service with Redis',
    needs: () => hasRedis() && hasNginx(),
    raise: async ground => {
      const service = await ground.rival('auth-service.ts', [(await ground.redis()).url, SECRETS.jwt])
      const { url, processes } = await ground.nginx('auth-request', port =>
        nginx.authRequest(ground.upstream, port, service.url),
      )
      return { url, processes: [...processes, ...service.processes], tokens: await ground.redisTokens() }
    },
  },
}

export const CONTENDER_KEYS = Object.keys(ENTRIES)

/** Starts the requested contenders that can run on this machine; without a request, all of them. */
export async function raiseContenders(scene: Scene, upstream: string, only: readonly string[]): Promise<Contender[]> {
  const ground = new Ground(scene, upstream)
  const raised: Contender[] = []
  for (const [key, { title, base = CONSUMER, needs, raise }] of Object.entries(ENTRIES)) {
    if ((only.length > 0 && !only.includes(key)) || needs?.() === false) continue
    raised.push({ key, title, base, tokens: [], ...(await raise(ground)) })
  }
  return raised
}

import { join } from 'node:path'
import { freePort } from '../test/support/ports.ts'
import { type BenchGateway, type GatewayOptions, knows, logIn, SECRETS, startGateway } from './gateway.ts'
import { gatewayWithKeys } from './keys.ts'
import { GATEWAY_CORE, programNamed } from './machine.ts'
import { type Scene, type Started, start } from './process.ts'
import { providerSettings, signInAt, startProvider } from './provider-sessions.ts'
import { type BenchRedis, startRedis } from './redis.ts'
import * as nginx from './rivals/nginx.ts'
import { buildSpring } from './rivals/spring.ts'

/** Number of sessions whose tokens the requests use in turn. */
export const SESSIONS = 1000

/** Where a contender answers, and its processes on the gateways' core. */
export interface Placed {
  url: string
  processes: readonly Started[]
}

const placed = (gateway: BenchGateway): Placed => ({ url: gateway.url, processes: [gateway] })

interface ProviderSessions {
  options: GatewayOptions
  tokens: readonly string[]
}

/** Servers and sessions that remain for the whole run. */
export class Ground {
  readonly upstream: string
  readonly #scene: Scene
  #redis: Promise<BenchRedis> | null = null
  #redisTokens: Promise<string[]> | null = null
  #providerSessions: Promise<ProviderSessions> | null = null
  #springProgram: string | null = null

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

  /** The program of Spring Cloud Gateway, which is built once. */
  springProgram(): string {
    this.#springProgram ??= buildSpring(programNamed('mvn')!, this.#scene.folder)
    return this.#springProgram
  }

  /** A gateway whose sessions have begun at a provider, before it starts. */
  providerSessions(): Promise<ProviderSessions> {
    this.#providerSessions ??= this.#signIn()
    return this.#providerSessions
  }

  async #signIn(): Promise<ProviderSessions> {
    const names = Array.from({ length: SESSIONS }, (_, i) => `user${i}`)
    const users = Object.fromEntries(names.map(name => [name, { preferred_username: name }]))
    const openid = await startProvider(this.#scene, 'CONSUMER', users)
    const options = {
      data: join(this.#scene.folder, 'provider-sessions'),
      settings: providerSettings('CONSUMER', openid),
    }
    const gateway = await startGateway(this.#scene, 'provider-mint', options)
    const tokens: string[] = []
    for (const name of names) tokens.push(await signInAt(openid, 'CONSUMER', gateway, name))
    await gateway.end()
    return { options, tokens }
  }

  async #mint(): Promise<string[]> {
    const gateway = await startGateway(this.#scene, 'mint', { redis: (await this.redis()).url })
    const tokens = await logIn(gateway, SESSIONS)
    await gateway.end()
    return tokens
  }
}

/** What the contenders of one start share. */
export class Start {
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

  /** A gateway whose sessions have begun at a provider. */
  async embeddedWithProvider(): Promise<Placed & { tokens: readonly string[] }> {
    const { options, tokens } = await this.ground.providerSessions()
    return { ...placed(await this.gateway('provider', options)), tokens }
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
    const command = (program: string, port: number): string[] =>
      nginx.nginxCommand(program, nginx.nginxConfig(this.scene.folder, name, write(port)))
    return this.installed('nginx', { name, command, environment: nginx.luaEnvironment() })
  }

  /** The service that judges each request for a proxy: the sessions are those in Redis. */
  async authService(): Promise<Placed> {
    return this.rival('auth-service.ts', [(await this.ground.redis()).url, SECRETS.jwt])
  }

  /** A program of this machine on the gateways' core. */
  async installed(program: string, { name = program, environment = {}, ...rest }: Installed): Promise<Placed> {
    const { command, port = await freePort() } = rest
    const { folder } = this.scene
    const options = { core: GATEWAY_CORE, command: command(programNamed(program)!, port), folder, port, environment }
    return { url: `http://127.0.0.1:${port}`, processes: [this.scene.keep(await start(name, options))] }
  }
}

/** A proxy that asks a service about each request, and where its configuration goes. */
export interface AskingProxy {
  folder: string
  port: number
  upstream: string
  service: string
}

interface Installed {
  name?: string
  /** Without one, a free port is chosen. */
  port?: number
  command(program: string, port: number): readonly string[]
  environment?: Record<string, string>
}

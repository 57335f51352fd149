import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { generateIdentityKey } from '../src/settings/identity-key.ts'
import { SettingsSchema } from '../src/settings/schema/settings.ts'
import { generateSecret } from '../src/settings/secrets.ts'
import { generateSm2PrivateKey } from '../src/settings/sm2-key.ts'
import { freePort, isListening } from '../test/support/ports.ts'
import { GATEWAY_CORE } from './machine.ts'
import { type Scene, type Started, start } from './process.ts'
import { type RedisPlace, redisSettings } from './redis.ts'

/** The gateway's program. */
export const MAIN = resolve(import.meta.dirname, '../dist/main.js')

/** Timeout of the store: long, so that a busy machine makes a run longer but does not end it. */
const PATIENCE = '20s'

/** One set of secrets for all gateways and rivals of a run, so that they accept each other's tokens. */
export const SECRETS = { jwt: generateSecret(), internal: generateSecret(), sm2: generateSm2PrivateKey() }

/** A gateway that can be started: its configuration is written. */
interface PreparedGateway {
  url: string
  internal: string
  /** Where its configuration is. */
  folder: string
  /** Folder of its embedded store. */
  data: string
  /** Where Redis is, if its store is there. */
  redis: RedisPlace | undefined
  /** Its environment, also for commands on this gateway. */
  environment: Record<string, string>
  command: readonly string[]
}

export interface BenchGateway extends PreparedGateway, Started {}

export interface GatewayOptions {
  upstream?: string
  /** Where Redis is; without it the store is the embedded one. */
  redis?: RedisPlace | undefined
  accessLog?: boolean
  /** What the upstream gets about the client besides. */
  identity?: Record<string, unknown>
  /** Folder of an existing embedded store; without it a new one is created. */
  data?: string
  /** Further keys of `listen`. */
  listen?: Record<string, unknown>
  /** Any further keys of the configuration. */
  settings?: Record<string, unknown>
  /** The core of the process; `null`: all of them. */
  core?: number | null
  /** Another version of the program. */
  main?: string
  /** Options of Node, to profile with. */
  nodeOptions?: readonly string[]
  /** A program that runs Node, with its options. */
  under?: readonly string[]
}

/** Whether the present version has a setting. */
export const knows = (key: string): boolean => Object.hasOwn(SettingsSchema.properties, key)

/** Starts the gateway of dist/ on one core as operators do: one worker, a configuration file, secrets from the environment. */
export async function startGateway(scene: Scene, name: string, options: GatewayOptions = {}): Promise<BenchGateway> {
  const prepared = await prepareGateway(scene, name, options)
  const { command, folder: cwd, environment, url, internal } = prepared
  const { core = GATEWAY_CORE } = options
  const port = portOf(url)
  const started = await start(name, { core, command, folder: scene.folder, cwd, environment, port })
  // This listener opens last.
  while (!(await isListening(portOf(internal)))) await new Promise(resolve => setTimeout(resolve, 5))
  return scene.keep({ ...prepared, ...started })
}

/** Writes the configuration of a gateway, with free ports. */
export async function prepareGateway(
  scene: Scene,
  name: string,
  options: GatewayOptions = {},
): Promise<PreparedGateway> {
  const folder = join(scene.folder, name)
  mkdirSync(folder, { recursive: true })
  const [port, internalPort] = [await freePort(), await freePort()]
  const data = options.data ?? join(folder, 'data')
  writeFileSync(join(folder, 'permissions.yaml'), 'roles: {}\n')
  const settings = settingsOf(options, { port, internalPort, data })
  writeFileSync(join(folder, 'gateway.yaml'), JSON.stringify(settings, null, 2))
  const environment = {
    NODE_ENV: 'production',
    JWT__SECRET_KEY: SECRETS.jwt,
    LOGIN__SM2__PRIVATE_KEY: SECRETS.sm2,
    INTERNAL__SECRET: SECRETS.internal,
    ...(options.identity !== undefined && { IDENTITY__KEY_FILE: writeIdentityKey(folder) }),
  }
  const { nodeOptions = [], main = MAIN, under = [] } = options
  const command = [...under, process.execPath, ...nodeOptions, main, 'start', '--config', 'gateway.yaml']
  const [url, internal] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${internalPort}`]
  return { url, internal, folder, data, redis: options.redis, environment, command }
}

function writeIdentityKey(folder: string): string {
  const file = join(folder, 'identity.pem')
  writeFileSync(file, generateIdentityKey(), { mode: 0o600 })
  return file
}

export const portOf = (url: string): number => Number(new URL(url).port)

function settingsOf(
  { upstream, redis, accessLog = false, identity, listen = {}, settings = {} }: GatewayOptions,
  { port, internalPort, data }: { port: number; internalPort: number; data: string },
): Record<string, unknown> {
  return {
    listen: { host: '127.0.0.1', port, ...listen },
    internal: { host: '127.0.0.1', port: internalPort },
    ...(knows('workers') && { workers: 1 }),
    data,
    store: {
      ...(redis === undefined ? { kind: 'embedded' } : { kind: 'redis', redis: redisSettings(redis) }),
      timeout: PATIENCE,
    },
    upstreams: upstream === undefined ? [] : [{ name: 'upstream', match: '/api/v1', target: upstream, identity }],
    log: { level: 'info', access: accessLog },
    ...settings,
  }
}

/** Reloads a gateway's configuration; rejects if the gateway refuses it. */
export async function reload({ folder, environment }: BenchGateway): Promise<void> {
  const words = [MAIN, 'reload', '--config', 'gateway.yaml']
  await promisify(execFile)(process.execPath, words, { cwd: folder, env: environment })
}

/** One of the gateway's operations over its internal listener; answers `data`. */
export async function operate(
  gateway: Pick<BenchGateway, 'internal'>,
  operation: string,
  body: Record<string, unknown>,
): Promise<Record<string, string>> {
  const response = await fetch(`${gateway.internal}/operations/v1/${operation}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${SECRETS.internal}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answer = (await response.json()) as { success: boolean; data: Record<string, string>; message: string }
  if (!answer.success) throw new Error(`${operation}: ${answer.message}`)
  return answer.data
}

/** Creates a number of consumer sessions and returns their tokens. */
export async function logIn(gateway: Pick<BenchGateway, 'internal'>, users: number): Promise<string[]> {
  const tokens: string[] = []
  const one = async (i: number): Promise<string> =>
    (await operate(gateway, 'consumer/login', { user_id: `${1900000000 + i}`, extra: { nickname: `User ${i}` } }))
      .token!
  for (let i = 0; i < users; i += 50) {
    tokens.push(...(await Promise.all(Array.from({ length: Math.min(50, users - i) }, (_, j) => one(i + j)))))
  }
  return tokens
}

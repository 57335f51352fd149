import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { run } from './command-line.ts'
import type { StoreKind } from './gateway-fixture.ts'
import type { NamedPipe } from './named-pipe.ts'
import { type GatewayProcess, NPM_START, newcomerFolder, startGateway } from './process.ts'
import { type RedisServer, startRedis } from './redis-server.ts'
import { type Recorder, startUpstream } from './upstream.ts'

/** A gateway of two workers with a backend, in processes of their own, and what an operator does with it. */
export interface Supervised extends GatewayProcess {
  backend: Recorder
  /** What it was started with. */
  environment: Record<string, string>
  /** A token of the C side. */
  token: string
  /** Lines of the log with this message. */
  logged(message: string): Record<string, any>[]
  /** The processes of the workers. */
  workers(): number[]
  /** Has every path answered with this text. */
  writeUpstream(answer: string): void
  write(file: string, text: string): void
  /** `dualgate reload`. */
  reload(): Promise<{ code: number; output: string; errors: string }>
}

/** Of the store: a busy machine may take longer than the shipped second. */
const PATIENCE = '30s'

export interface SupervisedOptions {
  store?: StoreKind
  environment?: Record<string, string>
  /** Further lines of gateway.yaml. */
  files?: Record<string, string>
  /** Options of `dualgate start`. */
  words?: string[]
  /** Its standard output. */
  pipe?: NamedPipe
}

/** `t` is a test, or another program that runs what is left to do at its end. */
export async function startSupervised(t: Pick<Test, 'teardown'>, options: SupervisedOptions = {}): Promise<Supervised> {
  const { folder, remove } = newcomerFolder()
  t.teardown(remove)
  const redis: RedisServer | null = options.store === 'redis' ? await startRedis() : null
  t.teardown(() => redis?.stop())
  const backend = await startUpstream({
    answer: (request, response) => void response.end(`${request.headers['x-backend'] ?? ''}${request.url}`),
  })
  t.teardown(() => backend.close())
  const write = (file: string, text: string): void => writeFileSync(join(folder, file), text)
  // What was recorded of each request would fill the memory of a test under load.
  const forget = setInterval(() => backend.requests.splice(0), 200).unref()
  t.teardown(() => clearInterval(forget))
  const writeUpstream = (answer: string): void => write('config/upstreams.yaml', upstreamsOf(backend, answer))
  writeUpstream('first')
  for (const [file, text] of Object.entries(options.files ?? {})) write(file, text)
  const environment: Record<string, string> = {
    WORKERS: '2',
    LOG__ACCESS: 'off',
    LISTEN__PORT: '0',
    LISTEN__HOST: '127.0.0.1',
    INTERNAL__PORT: '0',
    STORE__TIMEOUT: PATIENCE,
    ...(redis !== null && { STORE__KIND: 'redis', STORE__REDIS__URL: redis.url }),
    ...options.environment,
  }
  const gateway = await startGateway(folder, environment, [...NPM_START, ...(options.words ?? [])], options.pipe)
  t.teardown(() => gateway.end('SIGKILL'))

  const token = (await gateway.operate('consumer', 'login', { user_id: 'u1' })).data.token as string

  return { ...operated(gateway, environment), backend, token, write, writeUpstream }
}

/** A file of upstreams in which the backend answers every path with this text. */
export const upstreamsOf = ({ url }: Recorder, answer: string): string =>
  `upstreams:\n  - { name: backend, match: /api, rewrite: /${answer}, target: "${url}" }\n`

/**
 * A further gateway on the Redis of another one, as on a second machine: the configuration, the secrets and the accounts file are
 * the same, and its data folder is its own.
 */
export async function startBeside(t: Pick<Test, 'teardown'>, first: Supervised): Promise<Supervised> {
  const secret = (file: string): string => readFileSync(join(first.folder, 'data', file), 'utf8').trim()
  const environment = {
    ...first.environment,
    LISTEN__PORT: '0',
    INTERNAL__PORT: '0',
    DATA: 'data-beside',
    JWT__SECRET_KEY: secret('jwt.secret'),
    INTERNAL__SECRET: secret('internal.secret'),
    LOGIN__SM2__PRIVATE_KEY: secret('sm2.key'),
  }
  const gateway = await startGateway(first.folder, environment)
  t.teardown(() => gateway.end('SIGKILL'))
  return { ...first, ...operated(gateway, environment) }
}

const operated = (gateway: GatewayProcess, environment: Record<string, string>) => ({
  ...gateway,
  environment,
  logged: (message: string): Record<string, any>[] =>
    gateway
      .output()
      .split('\n')
      .filter(line => line.startsWith('{'))
      .map(line => JSON.parse(line))
      .filter(line => line.msg === message),
  workers: (): number[] => childrenOf(gateway.child.pid!),
  reload: () => run(gateway.folder, ['reload'], { environment }),
})

/** The processes that a process started and that live, oldest first. */
export function childrenOf(parent: number): number[] {
  const found: number[] = []
  for (const name of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
    try {
      // proc(5): the state and the parent stand behind the name in parentheses.
      const [state, ppid] = readFileSync(`/proc/${name}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')
      if (Number(ppid) === parent && state !== 'Z') found.push(Number(name))
    } catch {
      // It ended meanwhile.
    }
  }
  return found.sort((a, b) => a - b)
}

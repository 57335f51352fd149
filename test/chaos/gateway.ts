import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { run } from '../support/command-line.ts'
import { freePort } from '../support/ports.ts'
import { type GatewayProcess, newcomerFolder, startGateway } from '../support/process.ts'
import { ROOT } from '../support/root.ts'
import type { Where } from './actors.ts'
import { writePeople } from './people-file.ts'

/** A backend that answers, refuses connections, or keeps clients waiting. */
export class Backend {
  readonly port: number
  #server: Server | null = null
  #stalls = false

  constructor(port: number) {
    this.port = port
  }

  async open(): Promise<void> {
    const server = createServer((_request, response) => {
      if (!this.#stalls) response.end('backend')
    })
    this.#server = server
    await new Promise<void>(resolve => server.listen(this.port, '127.0.0.1', resolve))
  }

  stall(stalls: boolean): void {
    this.#stalls = stalls
    // Waiting clients are disconnected, because they would get no answer.
    if (!stalls) this.#server?.closeAllConnections()
  }

  async close(): Promise<void> {
    const server = this.#server
    this.#server = null
    if (server === null) return
    const closed = new Promise(resolve => server.close(resolve))
    server.closeAllConnections()
    await closed
  }
}

/** The refusals that the present settings promise, and those that came. */
export interface Promises {
  /** `null` while the settings are those of the start, which promise none. */
  codes: ReadonlySet<number> | null
  seen: Set<number>
}

/** No environment: the ports are those of the file. */
const PORTS_OF_FILE = { LISTEN__PORT: '', INTERNAL__PORT: '', LISTEN__HOST: '' }

const SECRET = randomBytes(32).toString('hex')

/** The gateway as operators start it, with two workers, always at the same ports, so that it can come back. */
export class ChaosGateway {
  readonly backend: Backend
  readonly promises: Promises = { codes: null, seen: new Set() }
  readonly folder: string
  /** What is written without changes. */
  #settings: Record<string, unknown> = {}
  readonly #remove: () => void
  readonly #build: string
  #process: GatewayProcess | null = null
  /** What the processes before it printed. */
  #printed = ''

  private constructor(folder: string, remove: () => void, backend: Backend, build: string) {
    this.#build = build
    this.folder = folder
    this.#remove = remove
    this.backend = backend
  }

  /** `settings` are merged over what every run has; `build` is the folder of another build than this one. */
  static async start(settings: Record<string, unknown>, build = ROOT): Promise<ChaosGateway> {
    const { folder, remove } = newcomerFolder()
    const gateway = new ChaosGateway(folder, remove, new Backend(await freePort()), build)
    await gateway.backend.open()
    const written = {
      profile: 2,
      workers: 2,
      listen: { host: '127.0.0.1', port: await freePort() },
      internal: { port: await freePort(), secret: SECRET },
      data: 'data',
      log: { level: 'warn', access: false },
      own_sessions: { business: true, consumer: true },
      browser: { business: true, consumer: true, secure: false },
      sessions: { tell_end: '1h' },
      account_administration: true,
      session_administration: true,
      login: { rate_limit: 'off', lockout: { failures: 1000, address_failures: 1_000_000 } },
      ...settings,
    }
    gateway.#settings = written
    writePeople(folder)
    gateway.#write({})
    await gateway.boot()
    return gateway
  }

  /** The backend under two names, with a share each. */
  targets(weights: readonly [number, number]): object[] {
    return ['127.0.0.1', 'localhost'].map((host, i) => ({
      url: `http://${host}:${this.backend.port}`,
      weight: weights[i],
    }))
  }

  /** Writes the configuration, with these settings of the upstream. */
  #write(settings: Record<string, unknown>): void {
    const target = settings.targets === undefined ? { target: `http://127.0.0.1:${this.backend.port}` } : {}
    const upstream = {
      name: 'backend',
      match: '/api',
      ...target,
      timeouts: { connect: '1s', response: '1s' },
      ...settings,
    }
    const written = { ...this.#settings, upstreams: [upstream] }
    writeFileSync(join(this.folder, 'config/gateway.yaml'), JSON.stringify(written, null, 2))
  }

  /** Applies other settings of the upstream while the gateway runs. */
  async reload(settings: Record<string, unknown>): Promise<void> {
    this.#write(settings)
    const { code, errors } = await run(this.folder, ['reload'], { environment: PORTS_OF_FILE })
    if (code !== 0) throw new Error(`the reload failed: ${errors}`)
  }

  async boot(): Promise<void> {
    const words = [join(this.#build, 'dist/main.js'), 'start', '--config', 'config/gateway.yaml']
    const { output } = this
    this.#process = await startGateway(this.folder, PORTS_OF_FILE, words)
    this.#printed = output
  }

  get where(): Where {
    const { url, internal } = this.#process!
    return { url, internal, secret: SECRET }
  }

  /** Everything that it printed since the first start. */
  get output(): string {
    return this.#printed + (this.#process?.output() ?? '')
  }

  workers(): number[] {
    const { pid } = this.#process!.child
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
    return children === '' ? [] : children.split(' ').map(Number)
  }

  end(signal: NodeJS.Signals): Promise<number | null> {
    return this.#process!.end(signal)
  }

  async remove(): Promise<void> {
    await this.end('SIGKILL')
    await this.backend.close()
    this.#remove()
  }
}

import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { freePort } from '../support/ports.ts'
import { type GatewayProcess, newcomerFolder, startGateway } from '../support/process.ts'
import { ROOT } from '../support/root.ts'
import type { Where } from './actors.ts'

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

const SECRET = randomBytes(32).toString('hex')

/** The gateway as operators start it, with two workers, always at the same ports, so that it can come back. */
export class ChaosGateway {
  readonly backend: Backend
  readonly folder: string
  readonly #remove: () => void
  readonly #build: string
  #process: GatewayProcess | null = null

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
    const target = `http://127.0.0.1:${gateway.backend.port}`
    const written = {
      profile: 2,
      workers: 2,
      listen: { host: '127.0.0.1', port: await freePort() },
      internal: { port: await freePort(), secret: SECRET },
      data: 'data',
      log: { level: 'warn', access: false },
      own_sessions: { business: true, consumer: true },
      sessions: { tell_end: '1h' },
      upstreams: [{ name: 'backend', match: '/api', target, timeouts: { connect: '1s', response: '1s' } }],
      ...settings,
    }
    writeFileSync(join(folder, 'config/gateway.yaml'), JSON.stringify(written, null, 2))
    await gateway.boot()
    return gateway
  }

  async boot(): Promise<void> {
    // No environment: the ports are those of the file.
    const environment = { LISTEN__PORT: '', INTERNAL__PORT: '', LISTEN__HOST: '' }
    const words = [join(this.#build, 'dist/main.js'), 'start', '--config', 'config/gateway.yaml']
    this.#process = await startGateway(this.folder, environment, words)
  }

  get where(): Where {
    const { url, internal } = this.#process!
    return { url, internal, secret: SECRET }
  }

  get output(): string {
    return this.#process!.output()
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

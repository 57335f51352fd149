import { freePort } from '../test/support/ports.ts'
import { OTHER_CORE, programNamed } from './machine.ts'
import { type Scene, type Started, start } from './process.ts'

export interface BenchRedis extends Started {
  url: string
  port: number
}

/** Starts a Redis for the run, without persistence; `null` on a machine without Redis. */
export async function startRedis(scene: Scene, name = 'redis'): Promise<BenchRedis | null> {
  const program = programNamed('redis-server')
  if (program === null) return null
  const port = await freePort()
  const quiet = ['--save', '', '--appendonly', 'no', '--loglevel', 'warning']
  const command = [program, '--port', String(port), '--bind', '127.0.0.1', '--dir', scene.folder, ...quiet]
  const started = await start(name, { core: OTHER_CORE, command, folder: scene.folder, port })
  return scene.keep({ ...started, url: `redis://127.0.0.1:${port}`, port })
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathOf } from '../support/installed.ts'
import { runNginx, withoutNginx } from '../support/nginx.ts'
import { freePort } from '../support/ports.ts'
import { newcomerFolder, startGateway } from '../support/process.ts'
import { ROOT } from '../support/root.ts'

/*
 * Slow clients against one worker: slowhttptest holds 1100 connections, more than an upstream has, in each of its modes,
 * while a normal client from the same address asks again and again. What is reported is the part of its requests that
 * were answered within five seconds.
 */

const CONNECTIONS = 1100
/** How long each mode lasts, in seconds. */
const LASTS = 25
const ASK_EVERY = 100
const PATIENCE = 5000
const LARGE_BYTES = 2 ** 20

const SMALL_PATH = '/api/v1/public/c/small'
const LARGE_PATH = '/api/v1/public/c/large'

const MODES: readonly { name: string; words: string[]; path: string }[] = [
  { name: 'slow heads (-H)', words: ['-H', '-i', '5', '-t', 'GET'], path: SMALL_PATH },
  { name: 'slow bodies (-B)', words: ['-B', '-i', '5', '-s', '8192', '-x', '24'], path: SMALL_PATH },
  {
    name: 'slow large bodies (-B, 10 MB)',
    words: ['-B', '-i', '1', '-s', '10000000', '-x', '1024'],
    path: SMALL_PATH,
  },
  { name: 'ranges (-R)', words: ['-R', '-a', '5', '-b', '2000'], path: LARGE_PATH },
  { name: 'slow reading (-X)', words: ['-X', '-w', '512', '-y', '1024', '-n', '5', '-z', '32'], path: LARGE_PATH },
  {
    name: 'slow reading of three answers (-X -k 3)',
    words: ['-X', '-w', '512', '-y', '1024', '-n', '5', '-z', '32', '-k', '3'],
    path: LARGE_PATH,
  },
]

export interface Availability {
  mode: string
  asked: number
  answered: number
  /** The slowest answer, in milliseconds. */
  slowest: number
}

interface Server {
  url: string
  stop(): Promise<void>
}

export const withoutSlowhttptest = pathOf('slowhttptest') === undefined ? 'LEFT OUT: no slowhttptest on PATH' : false

/** `build` is the folder of a build of the gateway, or `nginx`. `only` is a part of the names of modes. */
export async function* measureSlowClients(build: string | undefined, only = ''): AsyncGenerator<Availability> {
  const backend = await startBackend()
  try {
    for (const { name, words, path } of MODES.filter(mode => mode.name.includes(only))) {
      const server = build === 'nginx' ? await startNginx(backend.url) : await startBuild(backend.url, build)
      try {
        yield { mode: name, ...(await measure(server.url, words, path)) }
      } finally {
        await server.stop()
      }
    }
  } finally {
    await backend.stop()
  }
}

/** A process of its own, fast enough that nothing waits for it: nginx, which reads a body whole before it answers. */
async function startBackend(): Promise<Server> {
  if (withoutNginx !== false) throw new Error(withoutNginx)
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-slow-clients-'))
  chmodSync(folder, 0o755)
  writeFileSync(join(folder, 'large'), Buffer.alloc(LARGE_BYTES, 'x'))
  const [port, inner] = [await freePort(), await freePort()]
  const answers = `server { listen 127.0.0.1:${inner} backlog=4096; location / { return 200 small; } }`
  const large = `location = ${LARGE_PATH} { alias ${folder}/large; }`
  const small = `location / { client_max_body_size 0; proxy_pass http://127.0.0.1:${inner}; }`
  const nginx = await runNginx(
    port,
    `${answers} server { listen 127.0.0.1:${port} backlog=4096; ${large} ${small} }`,
    8192,
  )
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      await nginx.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function startBuild(target: string, build = ROOT): Promise<Server> {
  const { folder, remove } = newcomerFolder()
  const written = {
    workers: 1,
    data: 'data',
    log: { level: 'error' },
    upstreams: [{ name: 'a', match: '/api', target }],
  }
  writeFileSync(join(folder, 'config/gateway.yaml'), JSON.stringify(written))
  const gateway = await startGateway(folder, {}, [
    join(build, 'dist/main.js'),
    'start',
    '--config',
    'config/gateway.yaml',
  ])
  return {
    url: gateway.url,
    async stop() {
      await gateway.end('SIGKILL')
      remove()
    },
  }
}

async function startNginx(target: string): Promise<Server> {
  if (withoutNginx !== false) throw new Error(withoutNginx)
  const port = await freePort()
  const location = `location / { proxy_pass ${target}; }`
  const nginx = await runNginx(port, `server { listen 127.0.0.1:${port}; ${location} }`, 8192)
  return { url: `http://127.0.0.1:${port}`, stop: nginx.stop }
}

async function measure(url: string, words: string[], path: string): Promise<Omit<Availability, 'mode'>> {
  const rate = ['-c', String(CONNECTIONS), '-r', '400', '-l', String(LASTS)]
  const attack = spawn('slowhttptest', [...words, ...rate, '-u', url + path], { stdio: 'ignore' })
  const asked: Promise<number | null>[] = []
  const timer = setInterval(() => asked.push(ask(url)), ASK_EVERY)
  const limit = setTimeout(() => attack.kill('SIGKILL'), 1000 * LASTS + 5000)
  await once(attack, 'exit')
  clearTimeout(limit)
  clearInterval(timer)
  const times = (await Promise.all(asked)).filter(time => time !== null)
  return { asked: asked.length, answered: times.length, slowest: Math.max(0, ...times) }
}

/** How long the answer took, in milliseconds; `null` for none. */
function ask(url: string): Promise<number | null> {
  const began = performance.now()
  return new Promise(resolve => {
    const request = httpRequest(url + SMALL_PATH, { agent: false, timeout: PATIENCE }, response => {
      response.resume().on('end', () => resolve(response.statusCode === 200 ? performance.now() - began : null))
      response.on('error', () => resolve(null))
    })
    request.on('error', () => resolve(null)).on('timeout', () => request.destroy())
    request.end()
  })
}

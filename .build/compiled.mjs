// The last part of `npm run build`: starts the gateway alone and with workers, so that what V8 compiles of it is kept beside
// the bundle (src/process/bundle.ts). A gateway that must not write there, as in the image, starts fast from the beginning.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'

const dist = join(dirname(import.meta.dirname), 'dist')
const cacheOf = entry => join(dist, 'bundle', `${entry}-${process.version}-${process.arch}.cache`)

const CONFIGURATION = `
listen: { host: 127.0.0.1, port: 0 }
internal: { port: 0 }
upstreams: [{ name: backend, match: /api, target: "http://127.0.0.1:9" }]
`

/** Milliseconds; a start takes one second, and another until its code is kept. */
const LIMIT = 60_000

async function keepCodeOf(entry, workers) {
  const cache = cacheOf(entry)
  if (existsSync(cache)) return
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-build-'))
  writeFileSync(join(folder, 'gateway.yaml'), CONFIGURATION)
  writeFileSync(join(folder, 'permissions.yaml'), 'roles: {}\n')
  const child = spawn(process.execPath, [join(dist, 'main.js'), 'start', '--config', 'gateway.yaml'], {
    cwd: folder,
    env: { PATH: process.env.PATH, WORKERS: workers },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT)
  const ended = once(child, 'exit')
  for await (const line of createInterface(child.stdout)) {
    const url = /answers at (http:[^,]+)/.exec(line)?.[1]
    if (url === undefined) continue
    await fetch(`${url}/api/v1/public/b/sm2/public-key`)
    await fetch(`${url}/api/v1/b/x`)
    while (!existsSync(cache) && child.exitCode === null) await new Promise(resolve => setTimeout(resolve, 50))
    child.kill('SIGTERM')
  }
  await ended
  clearTimeout(timer)
  rmSync(folder, { recursive: true })
  if (!existsSync(cache)) throw new Error(`a gateway with ${workers} workers did not start`)
  // A gateway writes it for itself. What ships is readable as the bundle is.
  chmodSync(cache, 0o644)
}

await keepCodeOf('cli', '1')
await keepCodeOf('primary', '2')
await keepCodeOf('serve', '2')

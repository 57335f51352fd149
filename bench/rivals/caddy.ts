import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AskingProxy } from '../stage.ts'

/** Connections are kept as by nginx; without it Caddy keeps 32 for each server. */
const KEPT = 'transport http {\n      keepalive_idle_conns_per_host 512\n    }'

/** Writes the configuration of a Caddy that asks a service for each request (its `forward_auth`); answers its command. */
export function caddyCommand(program: string, { folder, port, upstream, service }: AskingProxy): string[] {
  const prefix = join(folder, 'caddy')
  mkdirSync(prefix, { recursive: true })
  const file = join(prefix, 'Caddyfile')
  const text = `{
  admin off
  auto_https off
}
http://127.0.0.1:${port} {
  forward_auth ${new URL(service).host} {
    uri /
    copy_headers X-Login-Id
    ${KEPT}
  }
  reverse_proxy ${new URL(upstream).host} {
    header_up -Authorization
    ${KEPT}
  }
}
`
  writeFileSync(file, text)
  return [program, 'run', '--config', file, '--adapter', 'caddyfile']
}

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type InstalledServer, pathOf, runInstalled } from './installed.ts'

const NGINX = pathOf('nginx')

export const withoutNginx = NGINX === undefined ? 'LEFT OUT: no nginx on PATH' : false

const configOf = (folder: string, http: string, connections: number): string => `
daemon off;
worker_processes 1;
pid ${folder}/pid;
error_log /dev/null;
${process.getuid?.() === 0 ? 'user root;' : ''}
events { worker_connections ${connections}; }
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(kind => `${kind}_temp_path ${folder}/${kind};`).join(' ')}
  ${http}
}
`

/** Starts nginx with what stands in `http`, which has to listen on the port. */
export function runNginx(port: number, http: string, connections = 512): Promise<InstalledServer> {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-nginx-'))
  mkdirSync(join(folder, 'logs'))
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, configOf(folder, http, connections))
  return runInstalled(NGINX!, ['-p', folder, '-c', file], { port, folder })
}

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isListening } from './ports.ts'

/** Debian keeps it where only root looks for programs. */
const NGINX = ['nginx', '/usr/sbin/nginx'].find(program => {
  try {
    execFileSync(program, ['-v'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})

export const withoutNginx = NGINX === undefined ? 'LEFT OUT: no nginx on PATH' : false

export interface Nginx {
  stop(): Promise<void>
}

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

/** Starts nginx in a folder of its own with what stands in `http`, which has to listen on the port. */
export async function runNginx(port: number, http: string, connections = 512): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-nginx-'))
  mkdirSync(join(folder, 'logs'))
  writeFileSync(join(folder, 'nginx.conf'), configOf(folder, http, connections))
  const child = spawn(NGINX!, ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'ignore' })
  while (!(await isListening(port))) {
    if (child.exitCode !== null) throw new Error(`nginx ended with ${child.exitCode}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  return {
    async stop() {
      const exit = once(child, 'exit')
      child.kill('SIGTERM')
      await exit
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

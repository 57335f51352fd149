import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where Debian's nginx modules are; another root when the packages were only unpacked (`dpkg -x`). */
const ROOT = process.env.BENCH_LUA_ROOT ?? '/'
const MODULES = ['ndk_http_module.so', 'ngx_http_lua_module.so'].map(file => join(ROOT, 'usr/lib/nginx/modules', file))

export const hasLua = (): boolean => MODULES.every(file => existsSync(file))

/** Libraries of the modules that were only unpacked. */
export const luaEnvironment = (): Record<string, string> =>
  ROOT === '/'
    ? {}
    : { LD_LIBRARY_PATH: ['usr/lib', 'lib'].map(path => join(ROOT, path, 'x86_64-linux-gnu')).join(':') }

export interface NginxParts {
  /** The content of the server block. */
  server: string
  /** What stands before it, in `http`. */
  http?: string
  /** What stands before that. */
  main?: string
}

/** Writes a configuration of one worker in a folder of its own, without a log; answers where. */
export function nginxConfig(folder: string, name: string, { server, http = '', main = '' }: NginxParts): string {
  const prefix = join(folder, name)
  mkdirSync(prefix, { recursive: true })
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    kind => `${kind}_temp_path ${prefix}/${kind};`,
  )
  const file = join(prefix, 'nginx.conf')
  writeFileSync(
    file,
    `${main}
worker_processes 1;
worker_rlimit_nofile 20000;
daemon off;
pid ${prefix}/pid;
error_log ${prefix}/error.log warn;
${process.getuid?.() === 0 ? 'user root;' : ''}
events { worker_connections 16384; }
http {
  ${temporary.join('\n  ')}
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_timeout 120s;
  keepalive_requests 100000000;
  client_max_body_size 0;
  ${http}
  server {
    ${server}
  }
}
`,
  )
  return file
}

export const nginxCommand = (program: string, file: string): string[] => [program, '-c', file]

/** The pool of connections to the upstream, as large as nginx may need for the most clients. */
const upstreamPool = (upstream: string): string =>
  `upstream backend { server ${new URL(upstream).host}; keepalive 512; keepalive_requests 100000000; }`

/** Every gateway's server: connections are kept on both sides. */
const forwarding = (identity: string): string => `proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header X-Forwarded-For $remote_addr;
      ${identity}
      proxy_pass http://backend;`

/** nginx that only forwards. */
export const plain = (upstream: string, port: number): NginxParts => ({
  http: upstreamPool(upstream),
  server: `listen 127.0.0.1:${port} backlog=8192;
    location / {
      ${forwarding('')}
    }`,
})

/** nginx that calls a service for each request. */
export const authRequest = (upstream: string, port: number, service: string): NginxParts => ({
  http: `${upstreamPool(upstream)}
  upstream judge { server ${new URL(service).host}; keepalive 512; keepalive_requests 100000000; }`,
  server: `listen 127.0.0.1:${port} backlog=8192;
    location / {
      auth_request /judge;
      auth_request_set $login_id $upstream_http_x_login_id;
      ${forwarding('proxy_set_header X-Login-Id $login_id;\n      proxy_set_header Authorization "";')}
    }
    location = /judge {
      internal;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_pass_request_body off;
      proxy_set_header Content-Length "";
      proxy_pass http://judge;
    }`,
})

/** nginx that verifies the signature and queries Redis itself (session.lua). */
export const lua = (upstream: string, port: number, redisPort: number, secret: string): NginxParts => ({
  main: MODULES.map(file => `load_module ${file};`).join('\n'),
  http: `${upstreamPool(upstream)}
  lua_package_path "${import.meta.dirname}/?.lua;${join(ROOT, 'usr/share/lua/5.1')}/?.lua;;";
  init_by_lua_block { session = require("session").new("${secret}", ${redisPort}) }`,
  server: `listen 127.0.0.1:${port} backlog=8192;
    location / {
      set $login_id "";
      access_by_lua_block { session:check() }
      ${forwarding('proxy_set_header X-Login-Id $login_id;\n      proxy_set_header Authorization "";')}
    }`,
})

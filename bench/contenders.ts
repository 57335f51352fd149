import { basename, resolve } from 'node:path'
import { freePort } from '../test/support/ports.ts'
import { knows, SECRETS } from './gateway.ts'
import { programNamed } from './machine.ts'
import type { Scene, Started } from './process.ts'
import { caddyCommand } from './rivals/caddy.ts'
import { envoyCommand } from './rivals/envoy.ts'
import * as nginx from './rivals/nginx.ts'
import { OAUTH2_PROXY_COOKIE, oauth2ProxyCommand, oauth2ProxySessions, providerFor } from './rivals/oauth2-proxy.ts'
import { springTokens } from './rivals/spring.ts'
import { type AskingProxy, type Ground, type Placed, SESSIONS, Start } from './stage.ts'

/** A proxy in front of the upstream, or the upstream itself. */
export interface Contender {
  key: string
  title: string
  url: string
  /** Base of the path: below it are `orders` and `size/<KiB>`. */
  base: string
  /** Sent in turn; empty if no token is needed. */
  tokens: readonly string[]
  /** What stands before a token in its header field; without it, the token is sent as bearer. */
  credential?: string | undefined
  /** Its processes on the gateways' core. */
  processes: readonly Started[]
}

const CONSUMER = '/api/v1/c'
const PUBLIC = '/api/v1/public/c'
/** Sessions that begin by a provider: fewer, because each takes a sign-in. */
const SIGN_INS = 100

interface Entry {
  title: string
  base?: string
  credential?: string
  /** Raised only where it is named. */
  isApart?: true
  /** Whether this machine has what it needs; otherwise it is skipped. */
  needs?: () => boolean
  raise(start: Start): Promise<Raised>
}

type Raised = Placed & { tokens?: readonly string[] }

const hasRedis = (): boolean => programNamed('redis-server') !== null
const hasNginx = (): boolean => programNamed('nginx') !== null

/** Our own gateway, with each store. */
const OURS: Readonly<Record<string, Entry>> = {
  public: {
    title: '**dualgate**, public path, no auth',
    base: PUBLIC,
    // With tokens that are not checked, so that the requests are the same.
    raise: start => start.embeddedWithTokens(),
  },
  embedded: {
    title: '**dualgate**, embedded store',
    raise: start => start.embeddedWithTokens(),
  },
  cookie: {
    title: '**dualgate**, embedded store, session in a cookie',
    credential: 'Cookie: __Host-dualgate-c=',
    needs: () => knows('browser'),
    raise: start => start.embedded('cookie', { settings: { browser: { consumer: 'on' } } }),
  },
  key: {
    title: '**dualgate**, embedded store, by key',
    needs: () => knows('keys'),
    raise: start => start.embeddedWithKeys(),
  },
  provider: {
    title: '**dualgate**, embedded store, session begun at a provider',
    credential: 'Cookie: dualgate-c=',
    isApart: true,
    raise: start => start.embeddedWithProvider(),
  },
  assertion: {
    title: '**dualgate**, embedded store, with an assertion',
    needs: () => knows('identity'),
    raise: start => start.embedded('assertion', { identity: { assertion: {} } }),
  },
  logged: {
    title: '**dualgate**, embedded store, access log on',
    raise: start => start.embedded('logged', { accessLog: true }),
  },
  tracking: {
    title: '**dualgate**, Redis, tracking cache',
    needs: () => hasRedis() && knows('session_cache'),
    raise: start => start.onRedis('tracking', 'tracking'),
  },
  redis: {
    title: '**dualgate**, Redis queried every time',
    needs: hasRedis,
    raise: start => start.onRedis('redis-gateway', 'off'),
  },
}

/** In the order of the table. */
const ENTRIES: Readonly<Record<string, Entry>> = {
  direct: { title: 'the upstream itself', raise: async ({ ground }) => ({ url: ground.upstream, processes: [] }) },
  nginx: {
    title: 'nginx, no auth',
    needs: hasNginx,
    raise: start => start.nginx('nginx', port => nginx.plain(start.ground.upstream, port)),
  },
  bare: {
    title: '@fastify/http-proxy unmodified, no auth',
    raise: start => start.rival('bare.ts', [start.ground.upstream]),
  },
  usual: {
    title: 'the same + @fastify/jwt + @fastify/redis',
    needs: hasRedis,
    raise: async start => {
      const words = [start.ground.upstream, (await start.ground.redis()).url, SECRETS.jwt]
      return { ...(await start.rival('usual.ts', words)), tokens: await start.ground.redisTokens() }
    },
  },
  ...OURS,
  lua: {
    title: 'nginx + Lua: HMAC and Redis GET',
    needs: () => hasRedis() && hasNginx() && nginx.hasLua(),
    raise: async start => {
      const { port: redisPort } = await start.ground.redis()
      const lua = await start.nginx('lua', port => nginx.lua(start.ground.upstream, port, redisPort, SECRETS.jwt))
      return { ...lua, tokens: await start.ground.redisTokens() }
    },
  },
  'auth-request': {
    title: 'nginx auth_request + a Node service with Redis',
    needs: () => hasRedis() && hasNginx(),
    raise: start =>
      withService(start, service =>
        start.nginx('auth-request', port => nginx.authRequest(start.ground.upstream, port, service)),
      ),
  },
  caddy: asking('caddy', 'Caddy forward_auth + the same service', caddyCommand),
  envoy: asking('envoy', 'Envoy ext_authz + the same service', envoyCommand),
  'oauth2-proxy': {
    title: 'oauth2-proxy, session in a cookie and Redis',
    credential: OAUTH2_PROXY_COOKIE,
    isApart: true,
    needs: () => hasRedis() && programNamed('oauth2-proxy') !== null,
    raise: raiseOAuth2Proxy,
  },
  spring: {
    title: 'Spring Cloud Gateway + Sa-Token with Redis',
    isApart: true,
    needs: () => hasRedis() && ['java', 'mvn'].every(name => programNamed(name) !== null),
    raise: raiseSpring,
  },
}

async function raiseOAuth2Proxy(start: Start): Promise<Raised> {
  const port = await freePort()
  const provider = await providerFor(port)
  start.scene.keep({ end: provider.stop })
  const redis = (await start.ground.redis()).url
  const parts = { port, issuer: provider.issuer, redis, upstream: start.ground.upstream }
  const raised = await start.installed('oauth2-proxy', { port, command: program => oauth2ProxyCommand(program, parts) })
  return { ...raised, tokens: await oauth2ProxySessions(raised.url, provider, SIGN_INS) }
}

async function raiseSpring(start: Start): Promise<Raised> {
  const jar = start.ground.springProgram()
  const raised = await start.installed('java', {
    name: 'spring',
    command: (program, port) => [program, '-jar', jar, `--server.port=${port}`],
    environment: { REDIS: (await start.ground.redis()).url, UPSTREAM: start.ground.upstream },
  })
  return { ...raised, tokens: await springTokens(raised.url, SESSIONS) }
}

/** A proxy that asks the Node service, by its program and what writes its command. */
function asking(program: string, title: string, command: (program: string, parts: AskingProxy) => string[]): Entry {
  return {
    title,
    isApart: true,
    needs: () => hasRedis() && programNamed(program) !== null,
    raise: start =>
      withService(start, service => {
        const parts = { folder: start.scene.folder, upstream: start.ground.upstream, service }
        return start.installed(program, {
          environment: { HOME: start.scene.folder },
          command: (path, port) => command(path, { ...parts, port }),
        })
      }),
  }
}

/** A proxy that asks a service about each request. */
async function withService(start: Start, proxy: (service: string) => Promise<Placed>): Promise<Raised> {
  const service = await start.authService()
  const { url, processes } = await proxy(service.url)
  return { url, processes: [...processes, ...service.processes], tokens: await start.ground.redisTokens() }
}

export const CONTENDER_KEYS = Object.keys(ENTRIES)

export interface Selection {
  /** Without any, all but those apart. */
  only: readonly string[]
  /** Another checkout, whose gateways are measured beside ours. */
  beside?: string | undefined
}

/** Starts new processes of the requested contenders that can run on this machine. */
export async function raiseContenders(scene: Scene, ground: Ground, { only, beside }: Selection): Promise<Contender[]> {
  const own = new Start(ground, scene)
  const others = beside === undefined ? null : new Start(ground, scene, resolve(beside))
  const raised: Contender[] = []
  for (const [key, entry] of Object.entries(ENTRIES)) {
    const isSelected = only.length === 0 ? entry.isApart !== true : only.includes(key)
    if (!isSelected || entry.needs?.() === false) continue
    raised.push(await raise(own, key, entry))
    if (others !== null && Object.hasOwn(OURS, key)) {
      const name = basename(resolve(beside!))
      raised.push(await raise(others, `${key}@${name}`, { ...entry, title: `${entry.title} (${name})` }))
    }
  }
  return raised
}

async function raise(start: Start, key: string, entry: Entry): Promise<Contender> {
  const { title, base = CONSUMER, credential, raise } = entry
  return { key, title, base, credential, tokens: [], ...(await raise(start)) }
}

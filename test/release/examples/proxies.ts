import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { get as getSecurely } from 'node:https'
import { join } from 'node:path'
import type { Test } from 'tap'
import { runCaddy, withoutCaddy } from '../../support/caddy.ts'
import { runEnvoy, withoutEnvoy } from '../../support/envoy.ts'
import { temporaryFolder } from '../../support/image.ts'
import type { InstalledServer } from '../../support/installed.ts'
import { runNginx, withoutNginx } from '../../support/nginx.ts'
import { freePort } from '../../support/ports.ts'
import { ROOT } from '../../support/root.ts'
import { runTraefik, withoutTraefik } from '../../support/traefik.ts'

/* The proxies of config/examples, started from the files there: only addresses, ports and certificates are others. */

/** URLs of the listener that the proxy asks or sends requests to, and of the backend behind it. */
export interface Addresses {
  gateway: string
  backend?: string
  /** The listener with the sign-in page, where the proxy needs both. */
  signIn?: string
  /** Where the pages beside the backend come from: their folder, and a server of them. */
  pages?: { folder: string; url: string }
}

export interface Proxy {
  name: string
  skip: string | false
  /** It answers 503 itself where the gateway answers 503, without the `Retry-After` of the gateway. */
  answers503Itself?: true
  /** The base URL for clients, until the end of the test. */
  start(t: Test, addresses: Addresses): Promise<string>
}

/** An example with its places replaced; each has to be in it. */
function exampleWith(file: string, places: Record<string, string>): string {
  let text = readFileSync(join(ROOT, 'config/examples', file), 'utf8')
  for (const [from, to] of Object.entries(places)) {
    if (!text.includes(from)) throw new Error(`${file} does not contain ${from}`)
    text = text.replaceAll(from, to)
  }
  return text
}

const hostOf = (url = ''): string => new URL(url).host
const portOf = (url = ''): string => new URL(url).port

async function onFreePort(
  t: Test,
  run: (port: number) => Promise<InstalledServer>,
  protocol = 'http',
): Promise<string> {
  const port = await freePort()
  const server = await run(port)
  t.teardown(() => server.stop())
  return `${protocol}://127.0.0.1:${port}`
}

/** Files with a certificate and its key, for the time of a test. */
export function makeCertificate(t: Test): { cert: string; key: string } {
  const folder = temporaryFolder(t, 'certificate')
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const words = ['req', '-x509', ...curve, '-keyout', key, '-out', cert, '-subj', '/CN=example.com']
  execFileSync('openssl', words, { stdio: 'ignore' })
  return { cert, key }
}

/** Places of the files with the certificate of a host. */
function certified(t: Test, host: string): Record<string, string> {
  const { cert, key } = makeCertificate(t)
  return { [`/etc/ssl/${host}.crt`]: cert, [`/etc/ssl/${host}.key`]: key }
}

const envoyPlaces = (port: number): Record<string, string> => ({
  'address: 0.0.0.0, port_value: 80 }': `address: 127.0.0.1, port_value: ${port} }`,
})

const traefikStatic = (port: number, routes: string): string =>
  exampleWith('traefik/traefik.yaml', { '":80"': `"127.0.0.1:${port}"`, 'in-front.yaml': routes })

/** The gateway decides, and the proxy forwards. `http` is what stands beside the example in the block of that name. */
const nginxForwardAuth =
  (http = '') =>
  (t: Test, { gateway, backend = '', pages }: Addresses): Promise<string> =>
    onFreePort(t, port => {
      const places = { 'listen 80;': `listen 127.0.0.1:${port};`, '/var/www/pages': pages!.folder }
      const servers = { 'http://127.0.0.1:3000': backend, 'http://127.0.0.1:8081': gateway }
      return runNginx(port, `${http}\n${exampleWith('nginx/forward-auth.conf', { ...places, ...servers })}`)
    })

export const FORWARD_AUTH: readonly Proxy[] = [
  { name: 'nginx', skip: withoutNginx, start: nginxForwardAuth() },
  {
    name: 'nginx that passes on every header name',
    skip: withoutNginx,
    start: nginxForwardAuth('underscores_in_headers on; ignore_invalid_headers off;'),
  },
  {
    name: 'Caddy',
    skip: withoutCaddy,
    start: (t, { gateway, backend, pages }) =>
      onFreePort(t, port => {
        const places = { 'api.example.com': `http://127.0.0.1:${port}`, '/var/www/pages': pages!.folder }
        const servers = { '127.0.0.1:8081': hostOf(gateway), '127.0.0.1:3000': hostOf(backend) }
        return runCaddy(port, exampleWith('caddy/forward-auth.Caddyfile', { ...places, ...servers }))
      }),
  },
  {
    name: 'Envoy',
    skip: withoutEnvoy,
    answers503Itself: true,
    start: (t, { gateway, backend, pages }) =>
      onFreePort(t, port => {
        const servers = {
          'port_value: 8081': `port_value: ${portOf(gateway)}`,
          'port_value: 3000': `port_value: ${portOf(backend)}`,
          'port_value: 3001': `port_value: ${portOf(pages!.url)}`,
        }
        return runEnvoy(port, exampleWith('envoy/forward-auth.yaml', { ...servers, ...envoyPlaces(port) }))
      }),
  },
  {
    name: 'Traefik',
    skip: withoutTraefik,
    start: (t, { gateway, backend = '', pages }) =>
      onFreePort(t, port => {
        const servers = { 'http://127.0.0.1:8081': gateway, 'http://127.0.0.1:3000': backend }
        const routes = exampleWith('traefik/forward-auth.yaml', { ...servers, 'http://127.0.0.1:3001': pages!.url })
        return runTraefik(port, traefikStatic(port, 'routes.yaml'), routes)
      }),
  },
]

/** nginx forwards for a web application. `http` is what stands beside the example in the block of that name. */
const nginxWebApplication =
  (http = '') =>
  (t: Test, { gateway, backend = '', signIn = '' }: Addresses): Promise<string> =>
    onFreePort(
      t,
      port => {
        const places = { 'listen 443 ssl;': `listen 127.0.0.1:${port} ssl;`, ...certified(t, 'wiki.example.com') }
        const servers = {
          'http://127.0.0.1:3000': backend,
          'http://127.0.0.1:8081': gateway,
          'http://127.0.0.1:8080': signIn,
        }
        return runNginx(port, `${http}\n${exampleWith('nginx/web-application.conf', { ...places, ...servers })}`)
      },
      'https',
    )

export interface WebApplicationProxy extends Proxy {
  /** It cannot remove single cookies, and passes none on. */
  dropsAllCookies?: true
}

/** The gateway decides, and signs people in; the proxy forwards to a web application. */
export const WEB_APPLICATION: readonly WebApplicationProxy[] = [
  { name: 'nginx', skip: withoutNginx, start: nginxWebApplication() },
  {
    name: 'nginx that passes on every header name',
    skip: withoutNginx,
    start: nginxWebApplication('underscores_in_headers on; ignore_invalid_headers off;'),
  },
  {
    name: 'Caddy',
    skip: withoutCaddy,
    start: (t, { gateway, backend, signIn }) =>
      onFreePort(t, port => {
        const servers = {
          '127.0.0.1:3000': hostOf(backend),
          '127.0.0.1:8081': hostOf(gateway),
          '127.0.0.1:8080': hostOf(signIn),
        }
        const places = { ...servers, 'wiki.example.com': `http://127.0.0.1:${port}` }
        return runCaddy(port, exampleWith('caddy/web-application.Caddyfile', places))
      }),
  },
  {
    name: 'Envoy',
    skip: withoutEnvoy,
    start: (t, { gateway, backend, signIn }) =>
      onFreePort(t, port => {
        const servers = {
          'port_value: 3000': `port_value: ${portOf(backend)}`,
          'port_value: 8081': `port_value: ${portOf(gateway)}`,
          'port_value: 8080': `port_value: ${portOf(signIn)}`,
        }
        return runEnvoy(port, exampleWith('envoy/web-application.yaml', { ...servers, ...envoyPlaces(port) }))
      }),
  },
  {
    name: 'Traefik',
    skip: withoutTraefik,
    dropsAllCookies: true,
    start: (t, { gateway, backend = '', signIn = '' }) =>
      onFreePort(t, port => {
        const servers = {
          'http://127.0.0.1:3000': backend,
          'http://127.0.0.1:8081': gateway,
          'http://127.0.0.1:8080': signIn,
        }
        const routes = exampleWith('traefik/web-application.yaml', servers)
        return runTraefik(port, traefikStatic(port, 'routes.yaml'), routes)
      }),
  },
]

/** The proxy sends every request to the gateway. */
export const IN_FRONT: readonly Proxy[] = [
  {
    name: 'nginx',
    skip: withoutNginx,
    start: (t, { gateway }) =>
      onFreePort(
        t,
        port => {
          const places = { 'listen 443 ssl;': `listen 127.0.0.1:${port} ssl;`, '127.0.0.1:8080': hostOf(gateway) }
          return runNginx(port, exampleWith('nginx/in-front.conf', { ...places, ...certified(t, 'api.example.com') }))
        },
        'https',
      ),
  },
  {
    name: 'Caddy',
    skip: withoutCaddy,
    start: (t, { gateway }) =>
      onFreePort(t, port => {
        const places = { 'api.example.com': `http://127.0.0.1:${port}`, '127.0.0.1:8080': hostOf(gateway) }
        return runCaddy(port, exampleWith('caddy/in-front.Caddyfile', places))
      }),
  },
  {
    name: 'Caddy, as Compose starts it,',
    skip: withoutCaddy,
    start: (t, { gateway }) =>
      onFreePort(t, port => {
        const places = {
          '{$SITE_ADDRESS}': `http://127.0.0.1:${port}`,
          'gateway-1:8080 gateway-2:8080': hostOf(gateway),
        }
        return runCaddy(port, exampleWith('docker-compose/Caddyfile', places))
      }),
  },
  {
    name: 'Envoy',
    skip: withoutEnvoy,
    start: (t, { gateway }) =>
      onFreePort(t, port => {
        const places = { 'port_value: 8080': `port_value: ${portOf(gateway)}`, ...envoyPlaces(port) }
        return runEnvoy(port, exampleWith('envoy/in-front.yaml', places))
      }),
  },
  {
    name: 'Traefik',
    skip: withoutTraefik,
    start: (t, { gateway }) =>
      onFreePort(t, port => {
        const routes = exampleWith('traefik/in-front.yaml', { 'http://127.0.0.1:8080': gateway })
        return runTraefik(port, traefikStatic(port, 'routes.yaml'), routes)
      }),
  },
]

/** The first part of a response's body, while the response is still open. */
export function firstPartOf(url: string, headers: Record<string, string>): Promise<string> {
  const ask = url.startsWith('https:') ? getSecurely : get
  return new Promise((resolve, reject) => {
    const request = ask(url, { headers, rejectUnauthorized: false, agent: false }, response => {
      response.once('data', chunk => {
        resolve(String(chunk))
        request.destroy()
      })
    })
    request.once('error', reject)
  })
}

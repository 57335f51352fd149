import type { Test } from 'tap'
import { type Answer, type Call, call } from '../../support/client.ts'
import { startFixture } from '../../support/gateway-fixture.ts'
import { type SocketUpstream, startSocketUpstream } from '../../support/websocket-sockets.ts'
import type { WEB_APPLICATION } from './proxies.ts'

/*
 * A web application to which a real proxy forwards, with an example of config/examples. The gateway decides about each
 * request, and signs people in on the same host.
 */

/** The cookie of the gateway. */
export const B = '__Host-dualgate-b'

/** A request as the application read it. */
interface Read {
  method: string
  url: string
  headers: NodeJS.Dict<string | string[]>
  names: string[]
  /** The bytes of its body. */
  bytes: number
}

interface Application {
  url: string
  requests: Read[]
  sockets: SocketUpstream
}

/** Where the application answers with a header by which nginx requests another path. */
export const REDIRECTING = { behindProxy: '/wiki/open/file', behindGateway: '/api/v1/sys/file' }

/** It knows nothing of sessions, has a cookie of its own, and says what it reads. */
async function startApplication(t: Test): Promise<Application> {
  const sockets = await startSocketUpstream(t)
  const requests: Read[] = []
  // WebSockets and pages have one address.
  sockets.server.removeAllListeners('request')
  sockets.server.on('request', (request, response) => {
    const { method = '', url = '', headers, rawHeaders } = request
    const read = { method, url, headers, names: rawHeaders.filter((_, at) => at % 2 === 0), bytes: 0 }
    requests.push(read)
    response.setHeader('content-type', 'text/html')
    response.setHeader('set-cookie', 'theme=dark; Path=/wiki/')
    if (Object.values(REDIRECTING).includes(url)) response.setHeader('x-accel-redirect', '/wiki/a')
    const page = `<!doctype html><title>Wiki</title><link rel="icon" href="data:,">
<p id="user">${headers['x-login-id']}</p><p id="cookies">${headers.cookie ?? ''}</p><p id="method">${method}</p>
<form method="post" action="/wiki/save"><button>Save</button></form>`
    request
      .on('data', ({ length }) => {
        read.bytes += length
      })
      .on('end', () => response.end(page))
  })
  return { url: sockets.url, requests, sockets }
}

/** A web application behind one of the proxies, and a session at it. */
export async function openWebApplication(t: Test, start: (typeof WEB_APPLICATION)[number]['start']) {
  const application = await startApplication(t)
  const fixture = await startFixture({
    upstreams: [{ name: 'files', match: REDIRECTING.behindGateway, target: application.url }],
    config: {
      trusted_proxies: ['127.0.0.1'],
      browser: { business: 'on' },
      gate: {
        pages: [
          { path: '/wiki/open/*', needs: 'none' },
          { path: '/wiki/*', needs: 'business' },
        ],
      },
      sessions: { auto_renew: '1m' },
    },
  })
  t.teardown(() => fixture.close())
  const url = await start(t, { gateway: fixture.internal, backend: application.url, signIn: fixture.url })
  const { protocol, host } = new URL(url)
  const login = (): Promise<string> => fixture.gateway.sides.business.login(undefined, '7')
  const token = await login()
  const session = `${B}=${token}`

  /** What a request leads to, and what the application reads of it. */
  const ask = async (asked: Call): Promise<{ answer: Answer; read: Read | undefined }> => {
    const before = application.requests.length
    const answer = await call(url, asked)
    return { answer, read: application.requests[before] }
  }
  const askFor = async (headers: Record<string, string>, method = 'GET', path = '/wiki/a?b=c') => {
    const { answer, read } = await ask({ path, method, headers })
    return [answer.status, answer.headers.location, read?.headers['x-login-id']]
  }
  return { application, fixture, url, protocol, host, login, token, session, ask, askFor }
}

import { headerOf } from '../attack/http-reader.ts'
import { runNginx } from '../support/nginx.ts'
import { freePort } from '../support/ports.ts'
import { judgeProof, originForm, type Witness } from './run.ts'

/** A real nginx as the backend of a gateway in Profile 1: it says by its own reading of the path what a request should have proved. */
export interface NginxWitness extends Witness {
  url: string
  stop(): Promise<void>
}

/** `$uri` is the path after decoding, merging slashes and resolving dots: what its locations are matched by. */
const witness = (port: number): string => `
  keepalive_requests 10000000;
  underscores_in_headers on;
  ignore_invalid_headers off;
  map $uri $access {
    ~^/api/v[0-9]+/public/(b|c)/ none;
    ~^/api/v[0-9]+/c/ CONSUMER;
    ~^/api/v[0-9]+(/|$) BUSINESS;
    default outside;
  }
  server {
    listen 127.0.0.1:${port};
    add_header X-Case $http_x_case always;
    add_header X-Access $access always;
    add_header X-Proven $http_x_login_type always;
    add_header X-Target $request_uri always;
    location / { return 200 ok; }
  }
`

export async function startNginx(): Promise<NginxWitness> {
  const port = await freePort()
  const nginx = await runNginx(port, witness(port))
  return {
    url: `http://127.0.0.1:${port}`,
    arrived: () => [],
    unreadable: () => [],
    judge(sent, answer) {
      const proven = headerOf(answer, 'x-proven') ?? ''
      const access = headerOf(answer, 'x-access')
      const needed = sent.method === 'OPTIONS' && access !== 'outside' ? 'none' : access
      const said = proven === '' ? [] : [proven]
      if (needed !== (said[0] ?? 'none')) return `nginx takes it for ${access}, and gets ${proven}`
      if (headerOf(answer, 'x-target') !== originForm(sent.target))
        return `nginx received ${headerOf(answer, 'x-target')}`
      return judgeProof(sent, originForm(sent.target), said, { profile: 1, exceptions: [] })
    },
    stop: () => nginx.stop(),
  }
}

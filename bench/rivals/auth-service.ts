import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { Redis } from 'ioredis'

/* The service that judges requests for nginx, Caddy and Envoy, as lean as Node makes it: HMAC, one GET, an empty answer. */
const [port, redisUrl, secret] = process.argv.slice(2) as [string, string, string]
const redis = new Redis(redisUrl, { protocol: 2, enableAutoPipelining: true })

function isSigned(token: string): boolean {
  const dot = token.lastIndexOf('.')
  const signature = Buffer.from(token.slice(dot + 1), 'base64url')
  const expected = createHmac('sha256', secret).update(token.slice(0, dot)).digest()
  return signature.length === expected.length && timingSafeEqual(signature, expected)
}

const server = createServer(async (request, response) => {
  const token = request.headers.authorization?.slice('Bearer '.length) ?? ''
  const record = isSigned(token) ? await redis.get(`svc:auth:CONSUMER:token:${token}`) : null
  if (record === null) response.writeHead(401).end()
  // Envoy takes 200 alone for a yes.
  else response.writeHead(200, { 'x-login-id': JSON.parse(record).user_id, 'content-length': 0 }).end()
})
server.keepAliveTimeout = 120_000
server.listen({ host: '127.0.0.1', port: Number(port), backlog: 8192 })
process.once('SIGTERM', () => process.exit(0))

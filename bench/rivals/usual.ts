import httpProxy from '@fastify/http-proxy'
import fastifyJwt from '@fastify/jwt'
import fastifyRedis from '@fastify/redis'
import { fastify } from 'fastify'

/* The proxy plugin with the official plugins for tokens and Redis, as one puts them together from their READMEs. */
const [port, upstream, redisUrl, secret] = process.argv.slice(2) as [string, string, string, string]
const app = fastify()
await app.register(fastifyJwt, { secret })
await app.register(fastifyRedis, { url: redisUrl })
app.addHook('onRequest', async (request, reply) => {
  try {
    await request.jwtVerify()
  } catch {
    return reply.code(401).send({ code: 401 })
  }
  const token = request.headers.authorization!.slice('Bearer '.length)
  const record = await app.redis.get(`svc:auth:CONSUMER:token:${token}`)
  if (record === null) return reply.code(401).send({ code: 401 })
  request.headers['x-login-id'] = JSON.parse(record).user_id
})
app.register(httpProxy, { upstream })
await app.listen({ host: '127.0.0.1', port: Number(port), backlog: 8192 })
process.once('SIGTERM', () => process.exit(0))

import httpProxy from '@fastify/http-proxy'
import { fastify } from 'fastify'

/* The proxy plugin unmodified, without authentication and log: the base of all ratios. */
const [port, upstream] = process.argv.slice(2) as [string, string]
const app = fastify()
app.register(httpProxy, { upstream })
await app.listen({ host: '127.0.0.1', port: Number(port), backlog: 8192 })
process.once('SIGTERM', () => process.exit(0))

import { fastify } from 'fastify'

/* The least that a Fastify can be: what its start takes is the base of the gateway's. JavaScript, so nothing is compiled. */
const app = fastify()
app.get('/', () => ({ success: true }))
await app.listen({ host: '127.0.0.1', port: Number(process.argv[2]) })
process.once('SIGTERM', () => process.exit(0))

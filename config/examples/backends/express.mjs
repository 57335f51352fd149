// An Express backend that accepts only requests of the gateway: IDENTITY_KEYS=… PORT=3000 node express.mjs
import express from 'express'
import { clientOf } from './identity.mjs'

const keys = process.env.IDENTITY_KEYS.split(',')
const app = express()

app.use((request, response, next) => {
  const { method, headers, originalUrl } = request
  const [path] = originalUrl.split('?')
  request.client = clientOf({ method, path, headers }, keys)
  if (request.client === null) return response.status(401).json({ error: 'this request did not come through the gateway' })
  next()
})

// On a path that needs no session, id and type are empty.
app.get('/api/v1/c/*rest', ({ client: { id, type } }, response) => {
  response.json({ id, type })
})

app.listen(Number(process.env.PORT), '127.0.0.1')

// An Express backend that accepts only requests of the gateway: IDENTITY_KEYS=… PORT=3000 node express.mjs
import { createHash, timingSafeEqual } from 'node:crypto'
import express from 'express'
import { clientOf } from './identity.mjs'

const { INTERNAL_URL, INTERNAL_SECRET, DEMO_PASSWORD = '' } = process.env
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

/** One operation of the gateway on the sessions of consumers. */
async function operate(operation, body) {
  const response = await fetch(`${INTERNAL_URL}/operations/v1/consumer/${operation}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${INTERNAL_SECRET}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const { code, message, data } = await response.json()
  if (code !== 200) throw new Error(`${operation}: ${message}`)
  return data
}

// Replace it: your program knows its users and their passwords.
const digest = text => createHash('sha256').update(String(text)).digest()
const isPassword = text => DEMO_PASSWORD !== '' && timingSafeEqual(digest(text), digest(DEMO_PASSWORD))

// This path needs no session. The answer is {"token": "…"}, which the client sends from now on.
app.post('/api/v1/public/c/sign-in', express.json(), async ({ body }, response) => {
  if (!isPassword(body.password)) return response.status(401).json({ error: 'wrong name or password' })
  response.json(await operate('login', { user_id: body.name }))
})

// Ends every session of the signed-in user.
app.post('/api/v1/c/sign-out-everywhere', async ({ client }, response) => {
  await operate('kickout', { user_id: client.id })
  response.json({ id: client.id })
})

app.listen(Number(process.env.PORT), '127.0.0.1')

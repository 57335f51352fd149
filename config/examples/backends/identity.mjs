import { createHmac, timingSafeEqual } from 'node:crypto'

/** The user, or null if the gateway did not send the request within the last minute. `path` is without the query. */
export function clientOf({ method, path, headers }, keys, now = Date.now() / 1000) {
  const header = name => headers[`x-login-${name}`] ?? ''
  const [id, type, extra] = [header('id'), header('type'), header('extra')]
  const parts = header('signature')
    .split(',')
    .map(part => part.split('='))
  const time = parts.find(([name]) => name === 't')?.[1]
  if (!(Math.abs(now - time) <= 60)) return null
  const text = [time, type, id, extra, method, path].join('.')
  const isSigned = keys.some(key => {
    const expected = createHmac('sha256', key).update(text).digest()
    const matches = hex => /^[0-9a-f]{64}$/.test(hex) && timingSafeEqual(Buffer.from(hex, 'hex'), expected)
    return parts.some(([name, value]) => name === 'v1' && matches(value))
  })
  return isSigned ? { id, type, extra: extra && JSON.parse(Buffer.from(extra, 'base64url')) } : null
}

import { createHmac } from 'node:crypto'

/** The header that proves a request of the gateway's own: a webhook, or a question for an account. */
export const SIGNATURE_HEADER = 'x-dualgate-signature'

/**
 * `t=<unix seconds>,v1=<hex HMAC-SHA256>` over `<t>.<text>`, with one `v1` for each key: while keys are rotated, a receiver
 * accepts either. A receiver rejects a `t` that is minutes off, and compares in constant time.
 */
export function sign(text: string, keys: readonly string[], now: number): string {
  const seconds = Math.floor(now / 1000)
  const signatures = keys.map(key => createHmac('sha256', key).update(`${seconds}.${text}`).digest('hex'))
  return [`t=${seconds}`, ...signatures.map(signature => `v1=${signature}`)].join(',')
}

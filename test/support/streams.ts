import { request } from 'node:http'
import type { Test } from 'tap'

/** Begins a response that does not end, and resolves once some of it has arrived; with what tells whether it was broken off. */
export function listen(t: Test, url: string, token: string): Promise<() => boolean> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` }
    const asked = request(url, { headers, agent: false }, response => {
      let isBroken = false
      response.on('error', () => undefined)
      response.on('close', () => {
        isBroken = !response.complete
      })
      response.once('data', () => resolve(() => isBroken))
    })
    t.teardown(() => asked.destroy())
    asked.on('error', reject).end()
  })
}

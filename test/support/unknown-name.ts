import dns from 'node:dns'
import type { Test } from 'tap'

/** A name that no machine may have (RFC 6761). */
export const UNKNOWN_NAME = 'no-such-host.invalid'

/** Has the system say at once that it does not know the name: without its name server it would say so late, or something else. */
export function answerUnknownName(t: Pick<Test, 'teardown'>): void {
  const { lookup } = dns
  t.teardown(() => Object.assign(dns, { lookup }))
  const fault = Object.assign(new Error(`getaddrinfo ENOTFOUND ${UNKNOWN_NAME}`), { code: 'ENOTFOUND' })
  const known = lookup as (name: string, ...rest: unknown[]) => void
  Object.assign(dns, {
    lookup(name: string, ...rest: unknown[]) {
      if (name === UNKNOWN_NAME) setImmediate(rest.at(-1) as (fault: Error) => void, fault)
      else known(name, ...rest)
    },
  })
}

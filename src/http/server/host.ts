import { isIPv6 } from 'node:net'
import { memoize } from '../../base/memoize.ts'

/**
 * `Host` as clients send it: a name of the DNS (`_` is in many of the names that are given to containers), or an address,
 * and a port. RFC 3986 would allow more in a name (`,`, `;`, `%`), which some servers read as a list, or decode.
 */
const NAMED = /^([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?|\[[0-9A-Fa-f:.]+\])(?::([1-9]\d{0,4}))?$/
const MAX_NAME_LENGTH = 255
const MAX_PORT = 65_535

/** Whether the value of `Host` names one server unambiguously. */
export const isHost = memoize((value): boolean => {
  const parts = NAMED.exec(value)
  if (parts === null) return false
  const [, name, port] = parts as unknown as [string, string, string | undefined]
  if (port !== undefined && Number(port) > MAX_PORT) return false
  return name.startsWith('[') ? isIPv6(name.slice(1, -1)) : name.length <= MAX_NAME_LENGTH
})

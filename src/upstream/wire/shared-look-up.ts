import dns from 'node:dns'
import type { LookupFunction } from 'node:net'

type Done = Parameters<LookupFunction>[2]

/** Those that wait for each look-up that has not ended. */
const waiting = new Map<string, Done[]>()

/**
 * Resolves the name of a connection. Connections that begin while their name is looked up wait for that answer: the system looks up
 * two names at a time (half of the threads of libuv), so the connections to a name whose server does not answer would keep
 * all others waiting that have a name.
 */
export const sharedLookUp: LookupFunction = (name, options, done) => {
  const key = `${name} ${options.family} ${options.hints} ${options.all}`
  const others = waiting.get(key)
  if (others !== undefined) {
    others.push(done)
    return
  }
  const all = [done]
  dns.lookup(name, options, (...answer: Parameters<Done>) => {
    waiting.delete(key)
    for (const one of all) one(...answer)
  })
  waiting.set(key, all)
}

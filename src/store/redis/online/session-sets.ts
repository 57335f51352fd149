import { Cluster, type Redis } from 'ioredis'
import type { LoginType } from '../../../session/sides.ts'
import type { Keys } from '../commands/key-names.ts'
import type { Ask } from '../commands/send-command.ts'
import type { RedisClient } from '../connection/client.ts'

const SCAN_COUNT = 500
/** Keys that one step of a round passes: other commands wait for it, well below a millisecond. */
const ROUND_COUNT = 1000

/** Users that are found by their keys, some at a time. */
export interface FoundUsers {
  /** Those who have a session set. */
  userIds: string[]
  /** Those whose login ids are disabled. */
  disabled: string[]
  /** The share of the keys that was passed, from 0 to 1. */
  done: number
}

/** Reads the session sets, which are the truth that the online keys are compared with. */
export function sessionSetsOf(client: RedisClient, ask: Ask, keys: Keys) {
  return {
    /** How many tokens are in a user's set. */
    sizeOfSet: (type: LoginType, userId: string): Promise<number> =>
      ask(() => client.scard(keys.session(type, userId))),
    /** The tokens in a user's set, each with the milliseconds that its record has left: -1 without an end, -2 when it is gone. */
    async setOf(type: LoginType, userId: string): Promise<{ token: string; left: number }[]> {
      const tokens = await ask(() => client.smembers(keys.session(type, userId)))
      return Promise.all(
        tokens.map(async token => ({ token, left: await ask(() => client.pttl(keys.token(type, token))) })),
      )
    },
    /**
     * The users who have a session set, and those who are disabled, some at a time. A position is a node and its cursor, `'0'` before the first and
     * after the last; where the nodes of a Cluster change meanwhile, the next round finds what this one missed.
     */
    async someSets(type: LoginType, position: string): Promise<{ next: string } & Omit<FoundUsers, 'done'>> {
      const nodes = nodesByName(client)
      const names = [...nodes.keys()]
      const [name = '', cursor = '0'] = position.split(' ')
      const here = nodes.has(name) ? names.indexOf(name) : 0
      const node = nodes.get(names[here] ?? '')
      if (node === undefined) return { next: '0', userIds: [], disabled: [] }
      const from = nodes.has(name) ? cursor : '0'
      const [after, found] = await ask(() => node.scan(from, 'MATCH', patternOf(keys, type), 'COUNT', ROUND_COUNT))
      const users = usersIn(found, keys, type)
      if (after !== '0') return { next: `${names[here]} ${after}`, ...users }
      return { next: here + 1 < names.length ? `${names[here + 1]} 0` : '0', ...users }
    },

    /** The same of all, page by page; only for building the online keys anew. */
    sets: (type: LoginType): AsyncGenerator<FoundUsers> => allSets(client, ask, keys, type),
  }
}

async function* allSets(client: RedisClient, ask: Ask, keys: Keys, type: LoginType): AsyncGenerator<FoundUsers> {
  const pattern = patternOf(keys, type)
  const nodes = [...nodesByName(client).values()]
  for (const [i, node] of nodes.entries()) {
    const buckets = 2 ** Math.ceil(Math.log2(Math.max(await ask(() => node.dbsize()), 1)))
    let [cursor, steps] = ['0', 0]
    do {
      const [next, found] = await ask(() => node.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT))
      cursor = next
      steps++
      const ofNode = cursor === '0' ? 1 : Math.min(1, (steps * SCAN_COUNT) / buckets)
      yield { ...usersIn(found, keys, type), done: (i + ofNode) / nodes.length }
    } while (cursor !== '0')
  }
}

/** Session sets and disable records: each step of a scan has one pattern. */
function patternOf(keys: Keys, type: LoginType): string {
  const [prefix, name] = [keys.session(type, ''), 'session:']
  return `${prefix.slice(0, -name.length).replace(/[\\*?[\]]/g, '\\$&')}[sd][ei]s*:*`
}

function usersIn(found: readonly string[], keys: Keys, type: LoginType): Omit<FoundUsers, 'done'> {
  const below = (prefix: string): string[] =>
    found.flatMap(key => (key.startsWith(prefix) ? [key.slice(prefix.length)] : []))
  return { userIds: below(keys.session(type, '')), disabled: below(keys.disable(type, '')) }
}

/** The servers that hold keys, in an order that every gateway agrees on. */
function nodesByName(client: RedisClient): Map<string, Redis> {
  if (!(client instanceof Cluster)) return new Map([['redis', client]])
  const named = client.nodes('master').map(node => [`${node.options.host}:${node.options.port}`, node] as const)
  return new Map(named.sort(([a], [b]) => (a < b ? -1 : 1)))
}

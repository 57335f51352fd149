import { Command } from 'ioredis'

export const SLOTS = 16_384

/** The slot of a Cluster in which a key lies. */
export const slotOf = (key: string): number => new Command('get', [key]).getSlot() ?? 0

/** What a master of a Cluster says of itself. */
export interface OwnView {
  /** Differs wherever its slots may have belonged to another master meanwhile. */
  readonly identity: string
  /** Its slots, as the first and the last of each range. */
  readonly ranges: readonly (readonly [first: number, last: number])[]
}

/**
 * The view of a master that owns its slots, from its answers to CLUSTER NODES and CLUSTER INFO; `null` of a server that is no
 * master, of one that is cut off from the majority, and while one of its slots moves. A promotion and a slot that returns
 * raise the epoch, so two equal views have the same owner between them.
 */
export function ownViewOf(nodes: string, info: string): OwnView | null {
  const own = nodes.split('\n').find(line => /^\S+ \S+ (\w+,)*myself\b/.test(line))
  if (own === undefined || !/^cluster_state:ok\r?$/m.test(info)) return null
  // <id> <address> <flags> <master> <ping sent> <pong received> <epoch> <link> <slots>…
  const [id, , flags = '', , , , epoch, , ...slots] = own.trim().split(' ')
  if (flags !== 'myself,master' || slots.some(slot => slot.startsWith('['))) return null
  const ranges = slots.map(slot => {
    const [first, last = first] = slot.split('-').map(Number)
    return [first!, last!] as const
  })
  return { identity: [id, epoch, ...slots].join(' '), ranges }
}

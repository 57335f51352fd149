import type { Cluster, Redis } from 'ioredis'

/** What the library says of a node of a Cluster when it drops the fault that closed the connection. */
const WITHOUT_CAUSE = /^Connection is closed/

/**
 * Follows why the nodes of a Cluster cannot be reached. The library asks each node for the slots on a connection of its own, and
 * reports only that it was closed. The answer puts the last fault of such a connection in the place of that.
 */
export function followNodeFaults(cluster: Cluster): (fault: Error) => Error {
  let last: Error | null = null
  cluster.on('+node', (node: Redis) => {
    const duplicate = node.duplicate.bind(node)
    node.duplicate = options => {
      const connection = duplicate(options)
      connection.on('error', (fault: Error) => {
        last = fault
      })
      return connection
    }
  })
  cluster.on('ready', () => {
    last = null
  })
  return fault => {
    const { lastNodeError } = fault as { lastNodeError?: Error | null }
    return last !== null && WITHOUT_CAUSE.test(lastNodeError?.message ?? '') ? last : fault
  }
}

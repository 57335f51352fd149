import type { Cluster, Redis } from 'ioredis'

/*
 * Seen in: ioredis 6.0.0. A Cluster asks each node for the slots on a duplicate of its connection, and drops the fault of that.
 * Upstream: https://github.com/redis/ioredis/pull/1941 hands on what such a question answers, and not why there is no connection.
 * Without it: the log and `check --connect` say "Connection is closed", whether a name, a port or TLS is wrong.
 * Until: the last fault of a node that ioredis reports is why its connection was closed.
 */

/** What the library then says of the node. */
const WITHOUT_CAUSE = /^Connection is closed/

/** Follows why the nodes of a Cluster cannot be reached. The answer puts that in the place of a fault that does not say it. */
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

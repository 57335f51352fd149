import type { Cluster, Redis } from 'ioredis'

/** A client of one server, of the master that Sentinels name, or of a Cluster. */
export type RedisClient = Redis | Cluster

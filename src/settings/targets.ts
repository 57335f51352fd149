import type { UpstreamSettings } from './schema/upstreams.ts'

/** Before the path of a Unix socket, in the URL of a target. */
export const UNIX = 'unix:'

/** A target of an upstream, and its share of the requests among the others. */
export interface WeightedTarget {
  url: string
  /** 0 for no new requests. */
  weight: number
}

/** The targets of an upstream in either notation. */
export function targetsOf({ target, targets }: Pick<UpstreamSettings, 'target' | 'targets'>): WeightedTarget[] {
  const written = targets ?? (target === undefined ? [] : [target])
  return written.map(one => (typeof one === 'string' ? { url: one, weight: 1 } : one))
}

/** A target as `check` and `explain` show it. */
export const describeTarget = ({ url, weight }: WeightedTarget): string =>
  weight === 1 ? url : `${url} (weight ${weight})`

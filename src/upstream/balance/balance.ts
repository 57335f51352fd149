import type { HttpTarget } from '../targets.ts'

/** Chooses among the targets of an upstream. There is at least one. `key` is `null` for requests without one. */
export interface Balance {
  /** The target of the next request. If none is healthy, all are used. */
  next(key: string | null): HttpTarget
  /** A target that is not among these; `null` if none is left. */
  another(tried: readonly HttpTarget[], key: string | null): HttpTarget | null
}

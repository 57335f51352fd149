import type { Settings } from '../config/schema/settings.ts'
import type { Certificate } from '../config/tls.ts'
import type { Snapshot } from '../metrics/exposition.ts'
import type { Acknowledged } from '../store/acknowledged.ts'

/** Where a gateway is reached. */
export interface Urls {
  public: string
  internal: string
}

/** What a worker is told to do. The configuration comes from the primary: a worker never reads one that was not checked. */
export type Order =
  | { serve: Settings; certificate: Certificate | null; changes: readonly Acknowledged[] }
  | { renew: Certificate }
  | { close: { handover: boolean } }
  /** To say what it counts. */
  | { count: true }
  /** What all of them count, as it asked; `null` when one of them did not answer. */
  | { metrics: string | null; question: number }
  /** What other workers acknowledged, and that what it shared itself was passed on. */
  | { changes: readonly Acknowledged[] }
  | { shared: number }

/**
 * What a worker reports: that it is loaded and waits for orders; that it serves, or why it cannot; what it counts; that
 * it was asked what all of them count; what it acknowledged, for the others.
 */
export type Report =
  | { waits: true }
  | { answers: Urls }
  | { failed: string }
  | { counts: Snapshot }
  | { question: number }
  | { share: readonly Acknowledged[]; number: number }

/**
 * How long, in milliseconds, a connection may be idle before a gateway that ends gives it up. Clients who are quicker
 * learn from an answer that the connection ends, and lose nothing.
 */
export const IDLE_GRACE = 2000

/** What a fault says, and what its causes say. */
export function messageOf(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault)
  return fault.cause === undefined ? fault.message : `${fault.message}: ${messageOf(fault.cause)}`
}

import type { Settings } from '../config/schema/settings.ts'
import type { Certificate } from '../config/tls.ts'
import type { Snapshot } from '../metrics/exposition.ts'
import type { Acknowledged } from '../store/acknowledged.ts'

/** The URLs of a gateway. */
export interface Urls {
  public: string
  internal: string
}

/** An order to a worker. The configuration comes from the primary, so a worker never uses one that was not checked. */
export type Order =
  /** Report again that the worker waits for orders. */
  | { wait: true }
  | {
      serve: Settings
      workers: number
      certificate: Certificate | null
      changes: readonly Acknowledged[]
      /** It is to replace workers that serve: without an answer of its store it must not. */
      needsStore: boolean
    }
  | { renew: Certificate }
  | { close: { handover: boolean; drain: Settings['drain'] } }
  /** Report the worker's metrics. */
  | { count: true }
  /** The metrics of all workers, as requested; `null` if one of them did not answer. */
  | { metrics: string | null; question: number }
  /** Changes that other workers acknowledged, and the confirmation that the worker's own changes were passed on. */
  | { changes: readonly Acknowledged[] }
  | { shared: number }

/**
 * A report of a worker: it is loaded and waits for orders; it serves, or why it cannot; its metrics; a request for the
 * metrics of all workers; changes that it acknowledged, for the others.
 */
export type Report =
  | { waits: true }
  | { answers: Urls }
  | { failed: string }
  | { counts: Snapshot }
  | { question: number }
  | { share: readonly Acknowledged[]; number: number }

/**
 * How long, in milliseconds, a connection may be idle before a stopping gateway closes it. Clients that send a request
 * sooner learn from the answer that the connection ends, and lose nothing.
 */
export const IDLE_GRACE = 2000

/** The exit code of a worker that cut off requests in progress. */
export const CUT_OFF = 3

/** What is left to do when the last request and the last WebSocket are over, in milliseconds. */
const LAST_WORK = 1500

/** How long a worker may take to end, in milliseconds; one that takes longer hangs. */
export const endLimit = ({ requests, websockets }: Settings['drain']): number =>
  Math.max(requests, IDLE_GRACE + websockets) + LAST_WORK

/** The messages of a fault and of its causes. */
export function messageOf(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault)
  return fault.cause === undefined ? fault.message : `${fault.message}: ${messageOf(fault.cause)}`
}

import { RECORDS_LIMIT } from '../gateway/close-limits.ts'
import type { Snapshot } from '../metrics/exposition.ts'
import type { Settings } from '../settings/schema/settings.ts'
import type { Certificate } from '../settings/tls.ts'
import type { Acknowledged } from '../store/acknowledged-changes.ts'

/** The URLs of a gateway. */
export interface Urls {
  public: string
  internal: string
}

/** An order to a worker. The configuration comes from the primary, so a worker never uses one that was not checked. */
export type Order =
  /** Report again that the worker waits for orders. */
  | { kind: 'wait' }
  | {
      kind: 'serve'
      settings: Settings
      workers: number
      certificate: Certificate | null
      changes: readonly Acknowledged[]
      /** It is to replace workers that serve: without an answer of its store it must not. */
      needsStore: boolean
      /** Workers before it have served. */
      isSuccessor: boolean
      /** The files of the embedded store that the other workers have open; `null` for none. */
      storeFiles: string | null
    }
  /** Listen: every worker that starts with it is ready. */
  | { kind: 'listen' }
  | { kind: 'renew'; certificate: Certificate }
  | { kind: 'close'; handover: boolean; drain: Settings['drain'] }
  /** Report the worker's metrics. */
  | { kind: 'count' }
  /** The metrics of all workers, as requested; `null` if one of them did not answer. */
  | { kind: 'metrics'; text: string | null; question: number }
  /** Changes that other workers acknowledged. */
  | { kind: 'changes'; changes: readonly Acknowledged[] }
  /** The worker's own changes with this number were passed on. */
  | { kind: 'shared'; number: number }

export type OrderOf<K extends Order['kind']> = Extract<Order, { kind: K }>

/** A report of a worker. */
export type Report =
  /** It is loaded and waits for orders. */
  | { kind: 'waiting' }
  /** It can listen. */
  | { kind: 'ready' }
  | { kind: 'serving'; urls: Urls }
  /** Why it cannot serve. */
  | { kind: 'failed'; fault: string }
  /** It is closing, and accepts no connections any more. */
  | { kind: 'stopped' }
  | { kind: 'counts'; counts: Snapshot }
  /** It accepts no connection with the certificate before. */
  | { kind: 'renewed' }
  /** It requests the metrics of all workers. */
  | { kind: 'question'; question: number }
  /** Changes that it acknowledged, for the others. */
  | { kind: 'share'; changes: readonly Acknowledged[]; number: number }

export type ReportOf<K extends Report['kind']> = Extract<Report, { kind: K }>

/**
 * How long, in milliseconds, a connection may be idle before a stopping gateway closes it. Clients that send a request
 * sooner learn from the answer that the connection ends, and lose nothing.
 */
export const IDLE_GRACE = 2000

/**
 * How long, in milliseconds, a new worker waits for the first answer of its store. One that is to replace workers that serve must
 * not serve without it; one of a start does after this time.
 */
export const storeLimit = ({ timeout }: Pick<Settings['store'], 'timeout'>, replaces: boolean): number =>
  timeout * (replaces ? 10 : 2)

/** What else new workers may take until they answer, in milliseconds. */
const START_LIMIT = 60_000

/** How long new workers may take until they answer, in milliseconds. */
export const startLimit = (store: Pick<Settings['store'], 'timeout'>, replaces: boolean): number =>
  START_LIMIT + storeLimit(store, replaces)

/** The exit code of a worker that cut off requests in progress. */
export const CUT_OFF = 3

/** What is left to do when the last request and the last WebSocket are over and the last event is recorded, in milliseconds. */
const LAST_WORK = 1500

/** How long a worker may take to end, in milliseconds; one that takes longer hangs. */
export const endLimit = ({ requests, websockets }: Settings['drain']): number =>
  Math.max(requests, IDLE_GRACE + websockets) + RECORDS_LIMIT + LAST_WORK

/** Why a gateway was stopped with work in progress. */
export const REQUESTS_CUT_OFF = 'requests were still in progress when the time of `drain` was over'
export const WORKER_CRASHED = 'a worker crashed before its work was done'
export const hanging = (drain: Settings['drain']): string =>
  `its work was not done within ${endLimit(drain) / 1000} seconds`

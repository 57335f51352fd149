import { until } from '../support/until.ts'
import type { Fault } from './history.ts'

/** Something that goes wrong for a while. */
export interface Mishap {
  name: string
  loses: Fault['loses']
  begin(): Promise<void> | void
  /** Resolves when what was broken is whole again; from then on the gateway has two seconds. */
  end(): Promise<void> | void
  /** For how long it lasts, in milliseconds; 0 for what is over as soon as it happened. */
  lasts: number
  /** Processes of the gateway die: what they have not written of the journal is lost. */
  kills?: true
  /** No request fails while it lasts. */
  harmless?: true
}

/** A store, and what can happen to it. */
export interface Setup {
  name: string
  /** The section `store` of the configuration. */
  store: Record<string, unknown>
  /** Further keys of the configuration. */
  settings?: Record<string, unknown>
  mishaps: Mishap[]
  /** A server of the store dies with what its replica missed, and the replica takes over; can be repeated. */
  failover?: Mishap
  /** What is wrong with the store after everything; empty for nothing. */
  inspect(): Promise<string[]>
  stop(): Promise<void>
}

/** Waits for what a server comes to by itself. */
export async function eventually(what: string, holds: () => Promise<boolean>): Promise<void> {
  try {
    // A server that changes its role closes its connections.
    await until(() => holds().catch(() => false))
  } catch (cause) {
    throw new Error(`it never came to this: ${what}`, { cause })
  }
}

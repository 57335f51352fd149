import type { Urls } from './message.ts'

/** A running gateway, in one process or in several. */
export interface Running {
  readonly urls: Urls
  /**
   * Applies the configuration as it is written now, without failing a request. Throws `ConfigurationError` if it has
   * faults and `ReloadError` if it cannot be applied; then nothing changes.
   */
  reload(): Promise<void>
  /** Stops accepting and lets requests in progress finish, as long as `drain` allows; returns whether they did. */
  close(): Promise<boolean>
  /** Ends every process but this one. */
  kill(): void
}

/** The reason why a valid configuration was not applied. */
export class ReloadError extends Error {}

import type { Urls } from './message.ts'

/** A gateway that answers, in one process or in several. */
export interface Running {
  readonly urls: Urls
  /**
   * Takes the configuration as it is written now, without failing a request. Throws what is wrong with it as
   * `ConfigurationError`, and why it cannot be taken as `ReloadError`; then everything is as it was.
   */
  reload(): Promise<void>
  /** Stops accepting and lets requests under way finish, for up to `limit` milliseconds; answers whether they did. */
  close(limit: number): Promise<boolean>
  /** Ends every process but this one. */
  kill(): void
}

/** Why a configuration without faults was not taken. */
export class ReloadError extends Error {}

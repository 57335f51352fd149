import type { LogLevel } from '../base/log/log.ts'
import type { Configuration, ConfigurationFile } from '../settings/load.ts'
import type { Settings } from '../settings/schema/settings.ts'
import type { Urls } from './orders.ts'

/** The settings of a gateway, and where they were read. */
export interface Loaded {
  settings: Settings
  file: ConfigurationFile
}

/** Receives settings that a reload has read, before their secrets are generated; throws if they cannot be applied. */
export type Accept = (settings: Configuration['settings']) => void

/** What a reload has done, as it was seen. */
export interface Reloaded {
  file: ConfigurationFile
  /** How many new workers answer. */
  workers: number
  /** What has become different for users, beside what was changed. */
  notes: readonly string[]
  /** The level of the log from now on. */
  level: LogLevel
}

/** A running gateway, in one process or in several. */
export interface Running {
  readonly urls: Urls
  /**
   * Applies the configuration as it is written now, without failing a request; resolves when only new workers accept
   * connections. Throws `ConfigurationError` if it has faults and `ReloadError` if it cannot be applied; then nothing changes.
   */
  reload(): Promise<Reloaded>
  /**
   * Stops accepting, and lets requests in progress finish, as long as `drain` allows, and what follows them. Returns why some of it was
   * cut off, or has to be; `null` if everything is done.
   */
  close(): Promise<string | null>
  /** Ends every process but this one. */
  kill(): void
}

/** The reason why a valid configuration was not applied. */
export class ReloadError extends Error {}

import { type Clock, systemClock } from '../base/clock.ts'
import { changedFiles, type FilesRead } from '../settings/files-read.ts'
import { SettledState } from './settled-state.ts'

/** How often the files are checked, in milliseconds. */
const INTERVAL = 1000
/** The waits before a refused reload is tried again, in milliseconds: each is twice the one before. */
export const RETRY = { first: 10_000, most: 300_000 }

/** A configuration as it was read last. */
export interface WatchedConfiguration {
  /** What that reading found, also a failed one: so a fault of the files is reported once. */
  readonly files: FilesRead
  /** Whether the last reload was refused although the files have no fault, such as by a store that does not answer. */
  readonly isRefused: boolean
}

/** Reloads because these files have changed; because of none, to try again what was refused. Does not reject. */
type Reload = (changed: string[]) => Promise<unknown>

/** Watches the files of a configuration. */
export interface ConfigurationWatch {
  close(): void
}

/** Reloads whenever files of the configuration have other contents than were read. */
export function watchConfiguration(watched: WatchedConfiguration, reload: Reload): ConfigurationWatch {
  const look = createLook(watched, reload)
  const timer = setInterval(() => void look(), INTERVAL).unref()
  return { close: () => clearInterval(timer) }
}

/**
 * Checks the files once. They are polled, not watched, because mounted ones are replaced by swapping links above them. Two looks must
 * find the same state, so that all files of one change are complete.
 */
export function createLook(
  watched: WatchedConfiguration,
  reload: Reload,
  clock: Clock = systemClock,
): () => Promise<void> {
  let state = new SettledState()
  let isBusy = false
  let wait = RETRY.first
  let retryAt: number | null = null

  function isRetryDue(): boolean {
    if (!watched.isRefused) {
      wait = RETRY.first
      retryAt = null
      return false
    }
    retryAt ??= clock.elapsed() + wait
    if (clock.elapsed() < retryAt) return false
    wait = Math.min(RETRY.most, wait * 2)
    retryAt = null
    return true
  }

  return async () => {
    if (isBusy) return
    const changed = changedFiles(watched.files)
    if (changed.length === 0) state = new SettledState()
    if (changed.length > 0 ? !state.accept(JSON.stringify(changed)) : !isRetryDue()) return
    isBusy = true
    await reload(changed.map(({ file }) => file))
    isBusy = false
  }
}

import { fileState } from '../base/file-state.ts'
import type { FilesRead } from '../settings/files-read.ts'
import { SettledState } from './settled-state.ts'

/** How often the files are checked, in milliseconds. */
const INTERVAL = 1000

/** Watches the files of a configuration. */
export interface ConfigurationWatch {
  close(): void
}

/**
 * Calls `changed` with the files that differ from what was read: `files` holds the last reading, also a failed one, so a fault is
 * reported once. The files are polled, not watched, because mounted ones are replaced by swapping links above them. Two polls must
 * find the same state, so that all files of one change are complete. There is one call at a time.
 */
export function watchConfiguration(
  files: Readonly<FilesRead>,
  changed: (files: string[]) => Promise<unknown>,
): ConfigurationWatch {
  const state = new SettledState()
  let isBusy = false
  const look = (): void => {
    if (isBusy) return
    const now = [...files.keys()].map(file => ({ file, state: fileState(file) }))
    const differing = now.filter(({ file, state }) => state !== files.get(file))
    if (!state.accept(JSON.stringify(differing)) || differing.length === 0) return
    isBusy = true
    void changed(differing.map(({ file }) => file)).finally(() => {
      isBusy = false
    })
  }
  const timer = setInterval(look, INTERVAL).unref()
  return { close: () => clearInterval(timer) }
}

import type { Settings } from '../settings/schema/settings.ts'
import { filesOfStore } from '../store/embedded/file/identity.ts'
import { ReloadError } from './running-gateway.ts'

type Place = Pick<Settings, 'data'> & { store: Pick<Settings['store'], 'kind'> }

/** The files of an embedded store, which all workers of a gateway have open; `null` for another store. */
export const storeFilesOf = ({ store, data }: Place): string | null =>
  store.kind === 'embedded' ? filesOfStore(data) : null

/**
 * Refuses a store that is not the one that the running workers have open (`inUse`): what one worker ends, such as a session, would
 * go on in another.
 */
export function refuseOtherStore(settings: Place, inUse: string | null): void {
  const found = storeFilesOf(settings)
  if (inUse === null || found === null || found === inUse) return
  throw new ReloadError(
    `the store in ${settings.data} was moved, removed or replaced while the gateway runs; put it back, or restart the gateway`,
  )
}

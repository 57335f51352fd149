import { type AccountChange, changeSince, versionsIn } from '../../account/version.ts'
import type { Origin } from '../../event/event.ts'
import type { Side } from '../../side/side.ts'

/**
 * Ends the sessions that began before an account changed, in all workers and gateways of the store, before it returns.
 * `version` is that of the account afterwards; `reason` is the reason for sessions that carry none, `null` spares them.
 */
export async function endChanged(
  side: Pick<Side, 'kickoutWhere'>,
  id: string,
  version: string | null,
  reason: AccountChange | null,
  origin: Origin,
): Promise<void> {
  await side.kickoutWhere(
    id,
    ({ extra }) => {
      const carried = versionsIn(extra)
      return carried.length === 0 ? reason : changeSince(carried, version)
    },
    origin,
  )
}

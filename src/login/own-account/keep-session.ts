import type { Account, PreparedUpdate } from '../../account/source.ts'
import { withVersions } from '../../account/version.ts'
import { Refusal } from '../../base/refusal.ts'
import type { Session, Side } from '../../side/side.ts'

/**
 * Stores a change of an account so that the session which makes it survives; `false` if `update.store()` answers so. Every
 * other session with the old version ends as after any change: account watches in all workers and gateways, and `recheck`,
 * compare the version that a session carries with the account at any time. So the session carries both before the change is
 * stored, and the new one alone afterwards, beside what others write into it meanwhile. If the gateway stops in between, or the
 * store fails, it survives, too. Refuses a session that has ended meanwhile with `NOT_LOGGED_IN`, and then changes nothing.
 */
export async function keepSession(
  side: Pick<Side, 'replaceExtra'>,
  session: Session,
  account: Account,
  { version, store }: PreparedUpdate,
): Promise<boolean> {
  if (account.version === undefined || version === undefined) return store()
  const { version: before } = account
  if (!(await side.replaceExtra(session, extra => withVersions(extra, before, version)))) {
    throw new Refusal('NOT_LOGGED_IN')
  }
  if (!(await store())) return false
  // The account has changed: what follows from that does not depend on this.
  await side
    .replaceExtra(session, extra => withVersions(extra, version))
    .catch(fault => {
      if (!(fault instanceof Refusal)) throw fault
    })
  return true
}

import type { Clock } from '../clock.ts'
import type { Origin, SessionEvent } from '../event/event.ts'
import { Refusal } from '../refusal.ts'
import type { LoginType } from '../session.ts'
import type { SessionStore } from '../store/store.ts'
import type { Confirmed } from './confirmed.ts'
import { checkLoginId, checkSeconds, NONE, remaining } from './input.ts'

export interface DisableOptions {
  type: LoginType
  store: SessionStore
  clock: Clock
  confirmed: Confirmed
}

/** The refusal of a login while its id is disabled. */
export const disabledFor = (seconds: number): Refusal =>
  new Refusal('DISABLED', { params: { seconds }, data: { disable_time: seconds } })

/** The operations that disable login ids for a time ("Login-id disable"). */
export function createDisable({ type, store, clock, confirmed }: DisableOptions) {
  async function disable(
    loginId: string,
    seconds: number,
    origin: Origin & Pick<SessionEvent, 'reason'>,
  ): Promise<void> {
    checkLoginId(loginId)
    checkSeconds(seconds)
    await store.disable(type, loginId, clock.now() + seconds * 1000)
    await confirmed({ event: 'disable', login_id: loginId, seconds, ...origin })
  }

  const isDisable = async (loginId: string): Promise<boolean> => (await getDisableTime(loginId)) !== NONE

  /** untie disable: `false` when the id was not disabled. */
  async function untieDisable(loginId: string, origin: Origin): Promise<boolean> {
    checkLoginId(loginId)
    if (!(await store.untieDisable(type, loginId))) return false
    await confirmed({ event: 'untie-disable', login_id: loginId, ...origin })
    return true
  }

  /** get disable time: seconds for which the id stays disabled; -1 when it is not. */
  async function getDisableTime(loginId: string): Promise<number> {
    checkLoginId(loginId)
    return remaining(await store.disabledUntil(type, loginId), clock.now())
  }

  /** check disable: refuses with `DISABLED` while the id is disabled. */
  async function checkDisable(loginId: string): Promise<void> {
    const seconds = await getDisableTime(loginId)
    if (seconds !== NONE) throw disabledFor(seconds)
  }

  /** Refuses a request with `SESSION_DISABLED` while the login id of its session is disabled. */
  async function enforce(userId: string): Promise<void> {
    const seconds = await getDisableTime(userId)
    if (seconds !== NONE) throw new Refusal('SESSION_DISABLED', { data: { disable_time: seconds } })
  }

  return { disable, isDisable, untieDisable, getDisableTime, checkDisable, enforce }
}

import { type Account, type AccountSource, type PreparedUpdate, refuseUnwritable } from '../../account/source.ts'
import type { Clock } from '../../base/clock.ts'
import { invalid, Refusal, type RefusalReason } from '../../base/refusal.ts'
import type { EventName, Origin, Publish } from '../../event/event.ts'
import type { NewFactor, SecondFactors } from '../../second-factor/second-factors.ts'
import { eventNames } from '../../side/event-names.ts'
import type { Session, Side } from '../../side/side.ts'
import type { TicketStore } from '../../store/store.ts'
import { publishFailure } from '../protection/failure-event.ts'
import type { RateLimit } from '../protection/login-rate-limit.ts'
import type { CurrentPassword } from './current-password.ts'
import { keepSession } from './keep-session.ts'

/** What proves that a request comes from the user, and not from someone at an unlocked computer. */
export interface Proof {
  /** SM2 ciphertext in hex. */
  current_password: string
  code: string
}

/**
 * What users do with their own second factor. The session that asks survives. Each code is checked as at the login, in the
 * same lockout, and a wrong one is published as a failed login.
 */
export interface OwnSecondFactor {
  /** A new factor, which is worth nothing before `confirm`. A user who has one already proves it with a code. */
  setUp(
    session: Session,
    proof: Pick<Proof, 'current_password'> & { code?: string | null },
    origin: Origin,
  ): Promise<Pick<NewFactor, 'secret' | 'uri' | 'qr'>>
  /** Stores the factor of the last `setUp` of this session, which is good for ten minutes. Returns the recovery codes. */
  confirm(session: Session, code: string, origin: Origin): Promise<readonly string[]>
  renewRecoveryCodes(session: Session, proof: Proof, origin: Origin): Promise<readonly string[]>
  /** Ends the other sessions of the user. */
  remove(session: Session, proof: Proof, origin: Origin): Promise<void>
}

export interface OwnSecondFactorOptions {
  side: Pick<Side, 'type' | 'kickoutWhere' | 'replaceExtra' | 'checkDisable'>
  accounts: Pick<AccountSource, 'find' | 'updates'>
  current: CurrentPassword
  factors: SecondFactors
  tickets: TicketStore
  rateLimit: RateLimit
  clock: Clock
  publish: Publish
}

/** How long a set-up waits for its confirmation, in milliseconds. */
const SETUP_LIFETIME = 600_000

/** Refusals of a code that are published. */
const FAILURES: ReadonlySet<RefusalReason> = new Set(['WRONG_CODE', 'DISABLED', 'FACTOR_UNREADABLE'])

/** The set-up of a session, among the tickets of logins, which are digests without a colon. */
const setupOf = ({ claims }: Session): string => `setup:${claims.jti}`

export function createOwnSecondFactor(options: OwnSecondFactorOptions): OwnSecondFactor {
  const { side, accounts, current, factors, tickets, rateLimit, clock } = options
  const { type } = side

  return {
    async setUp(session, { current_password, code }, origin) {
      refuseUnwritable(accounts.updates)
      const { account } = await current.verify(session, current_password, origin)
      if (account.secondFactor !== undefined) {
        if (code == null) throw invalid('code', 'is missing')
        await checked(options, account, origin, () => factors.verify(account, code))
      }
      const { sealed, ...shown } = await factors.create(account)
      await tickets.put(type, setupOf(session), sealed, clock.now() + SETUP_LIFETIME)
      return shown
    },
    async confirm(session, code, origin) {
      refuseUnwritable(accounts.updates)
      // The others are limited by the check of the password.
      await rateLimit('step', origin.address ?? '')
      const account = await current.accountOf(session)
      const sealed = await tickets.read(type, setupOf(session))
      if (account === null || sealed === null) throw new Refusal('SETUP_GONE')
      await side.checkDisable(account.id)
      const work = () => factors.confirm(account, sealed, code)
      const { recoveryCodes, update } = await checked(options, account, origin, work)
      // Of several confirmations, of one set-up or of two, this one stores.
      if ((await tickets.take(type, setupOf(session))) !== sealed) throw new Refusal('SETUP_GONE')
      if (!(await keepSession(side, session, account, update))) throw new Refusal('SETUP_GONE')
      const replaces = account.secondFactor !== undefined
      publishChange(options, 'second-factor-on', account, origin, replaces ? 'replaced' : undefined)
      if (replaces) await endOthers(options, session, origin)
      return recoveryCodes
    },
    async renewRecoveryCodes(session, { current_password, code }, origin) {
      refuseUnwritable(accounts.updates)
      const { account } = await current.verify(session, current_password, origin)
      const work = () => factors.renewRecoveryCodes(account, code)
      const { recoveryCodes, update } = await checked(options, account, origin, work)
      await store(options, session, account, update)
      publishChange(options, 'second-factor-on', account, origin, 'recovery-codes')
      return recoveryCodes
    },
    async remove(session, { current_password, code }, origin) {
      refuseUnwritable(accounts.updates)
      const { account } = await current.verify(session, current_password, origin)
      const { update, proof } = await checked(options, account, origin, () => factors.remove(account, code))
      await store(options, session, account, update)
      publishChange(options, 'second-factor-off', account, origin, proof === 'recovery-code' ? proof : undefined)
      await endOthers(options, session, origin)
    },
  }
}

/** Refuses with `BUSY` if the second factor has changed while its code was checked. */
async function store(
  { side }: OwnSecondFactorOptions,
  session: Session,
  account: Account,
  update: PreparedUpdate,
): Promise<void> {
  if (!(await keepSession(side, session, account, update))) throw new Refusal('BUSY')
}

/** Publishes the failure of a check of a code. */
export async function checked<T>(
  { side, publish }: { side: Pick<Side, 'type'>; publish: Publish },
  account: Account,
  origin: Origin,
  check: () => Promise<T>,
): Promise<T> {
  try {
    return await check()
  } catch (fault) {
    if (fault instanceof Refusal && FAILURES.has(fault.reason)) {
      const names = eventNames({ ...account.extra, username: account.username })
      const about = { type: side.type, login_id: account.id, ...names, ...origin }
      publishFailure(publish, fault, about, 'second-factor-failed')
    }
    throw fault
  }
}

function publishChange(
  { side, publish }: OwnSecondFactorOptions,
  event: EventName,
  { id: login_id, username, extra }: Account,
  origin: Origin,
  reason?: 'replaced' | 'recovery-codes' | 'recovery-code',
): void {
  const names = eventNames({ ...extra, username })
  publish({ event, type: side.type, login_id, ...names, ...(reason !== undefined && { reason }), ...origin })
}

/** A lost or replaced factor ends sessions, also where the source of the accounts reports no changes. */
const endOthers = ({ side }: OwnSecondFactorOptions, { token: own, record }: Session, origin: Origin) =>
  side.kickoutWhere(record.user_id, (_, token) => (token === own ? null : 'account-changed'), origin)

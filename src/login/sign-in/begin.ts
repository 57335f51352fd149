import type { Account, AccountSource } from '../../account/source.ts'
import { ACCOUNT_VERSION, VERSION_KEYS } from '../../account/version.ts'
import type { Logger } from '../../base/log/log.ts'
import { Refusal, Unavailable } from '../../base/refusal.ts'
import { PROVIDER } from '../../session/provider.ts'
import { type Extra, faultOfExtra } from '../../session/record.ts'
import type { LoginType } from '../../session/sides.ts'
import type { ProviderSettings } from '../../settings/schema/providers.ts'
import { claimingAmong } from '../../settings/served.ts'
import { withLifetime } from '../../side/lifetime.ts'
import type { Side } from '../../side/side.ts'
import { asToken } from '../../token/bearer.ts'
import type { Jwt } from '../../token/jwt.ts'
import { endIfChanged } from '../account-changes.ts'
import { PROVIDER_SESSION, type Proven, type ProviderSessions, provenExtra } from '../identity/provider-sessions.ts'
import type { Attempt, Progress } from './attempt.ts'

/** A session that a login has begun. */
export interface Began {
  token: string
  /** How long it lives unless it is renewed or ended, in seconds. */
  expires_in: number
}

/**
 * Begins the session of an account that has proven everything that its login demands. Refuses with `TICKET_INVALID` when the session
 * would have ended by the settings of its provider.
 */
export type Begin = (progress: Progress, attempt: Attempt) => Promise<Began>

/** In the `extra` of a session: wrong codes of the second factor that were entered before its login. */
export const WRONG_CODES = 'wrong_codes'

export interface BeginOptions {
  side: Pick<Side, 'type' | 'login' | 'lifetimeOf' | 'kickoutWhere' | 'kickoutToken'>
  accounts: Pick<AccountSource, 'changes' | 'updates' | 'find' | 'findById'>
  providerSessions: Pick<ProviderSessions, 'link' | 'hasEnded' | 'keepIdToken'>
  /** Of the side. */
  providers: readonly ProviderSettings[]
  jwt: Pick<Jwt, 'read'>
  log: Logger
}

export function createBegin({ side, accounts, providerSessions, providers, jwt, log }: BeginOptions): Begin {
  /** Ends a session that a logout at its provider has overtaken. */
  async function follow(proven: Proven, token: string, account: Account, attempt: Attempt): Promise<void> {
    if (await providerSessions.hasEnded(proven)) {
      await side.kickoutToken(account.id, token, {})
      attempt.because = 'ended-at-provider'
      throw new Refusal('PROVIDER_REFUSED')
    }
    const text = asToken(token)
    const handle = text === null ? undefined : jwt.read(text)?.jti
    if (handle !== undefined) await providerSessions.keepIdToken(handle, proven)
  }

  return async (progress, attempt) => {
    const { account, proven } = progress
    if (proven?.isClaimed !== true) refuseClaimed(account, providers)
    const lifetime = side.lifetimeOf(withLifetime({}, { latestEnd: proven?.latestEnd }))
    // The steps have taken longer than the provider's word counts for.
    if (lifetime === 0) throw new Refusal('TICKET_INVALID')
    warnOfLeftOut(log, side.type, account)
    if (proven !== undefined) await providerSessions.link(proven, account.id)
    const token = await side.login(undefined, account.id, extraOf(progress, attempt), {
      by: account.id,
      by_type: side.type,
      ...attempt.origin,
      ...(attempt.proof !== undefined && { reason: attempt.proof }),
      ...(proven !== undefined && { provider: proven.provider, latestEnd: proven.latestEnd }),
    })
    if (await endIfChanged(side, accounts, account)) {
      attempt.because = 'changed meanwhile'
      throw new Refusal('WRONG_CREDENTIALS')
    }
    if (proven !== undefined) await follow(proven, token, account, attempt)
    return { token, expires_in: lifetime }
  }
}

/** A user who could choose such an id would be a user of the provider to everyone else. */
function refuseClaimed({ id }: Account, providers: readonly ProviderSettings[]): void {
  const provider = claimingAmong(providers, id)
  if (provider === undefined) return
  const text = `the accounts: the login id ${id} would be a user of the provider ${provider.name}; give the account another`
  throw new Unavailable(text)
}

/** Logs which columns of an account are not in its sessions. */
function warnOfLeftOut(log: Logger, type: LoginType, { id, leftOut }: Account): void {
  if (leftOut === undefined) return
  log.warn(
    { type, login_id: id, ...leftOut },
    'the account holds more than a session may: these columns are left out of it',
  )
}

/** The record's `extra` (design: B-side login). */
function extraOf({ account, device, proven }: Progress, { wrongCodes }: Attempt): Extra {
  const extra = {
    ...ofAccount(account.extra),
    username: account.username,
    status: account.status,
    ...device,
    ...(proven !== undefined && provenExtra(proven)),
    ...(wrongCodes !== undefined && { [WRONG_CODES]: wrongCodes }),
    // Sessions with a version are compared with the accounts of the side.
    ...(account.version !== undefined && proven?.isClaimed !== true && { [ACCOUNT_VERSION]: account.version }),
  }
  const fault = faultOfExtra(extra)
  // The client cannot correct this: the account source returns more than a record may hold.
  if (fault !== null) throw new Error(`the extra data of account ${account.id} ${fault}`)
  return extra
}

/** What only the gateway says about a session. A column of this name, such as the provider of a user, means something else. */
const OWN_KEYS: ReadonlySet<string> = new Set([PROVIDER, PROVIDER_SESSION, WRONG_CODES, ...VERSION_KEYS])

const ofAccount = (extra: Extra): Extra =>
  Object.fromEntries(Object.entries(extra).filter(([name]) => !OWN_KEYS.has(name)))

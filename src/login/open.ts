import type { AccountKeys } from '../account/kept-keys.ts'
import type { AccountsOptions } from '../account/open.ts'
import { createPasswords } from '../account/password.ts'
import { createPasswordPolicy, type PasswordPolicy, type PasswordSettings } from '../account/password-policy.ts'
import type { AccountChanges, Accounts } from '../account/source.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log/log.ts'
import { Refusal } from '../base/refusal.ts'
import type { TimestampFormat } from '../base/timestamp.ts'
import type { Publish } from '../event/event.ts'
import type { Meter } from '../metrics/meter.ts'
import { sealingKey } from '../second-factor/sealed.ts'
import { createSecondFactors, type SecondFactorSettings } from '../second-factor/second-factors.ts'
import { bySide, LOGIN_TYPES, type LoginType } from '../session/sides.ts'
import type { ProviderSettings } from '../settings/schema/providers.ts'
import type { Side } from '../side/side.ts'
import type { Store } from '../store/store.ts'
import type { Jwt } from '../token/jwt.ts'
import { AccountWatch } from './account-changes.ts'
import { type CaptchaOptions, createCaptcha } from './captcha/captcha.ts'
import { createHelpers, type Helpers } from './helpers/helpers.ts'
import { createProviderSessions } from './identity/provider-sessions.ts'
import { createCurrentPassword } from './own-account/current-password.ts'
import { createOwnAccount, type OwnAccount } from './own-account/own-account.ts'
import { createOwnSecondFactor, type OwnSecondFactor } from './own-account/own-second-factor.ts'
import { createProof, type Prove } from './own-account/proof.ts'
import { createLockout, type Lockout, type LockoutSettings } from './protection/lockout.ts'
import { createRateLimit, type RateLimits } from './protection/rate-limit.ts'
import { openProviderLogin, type ProviderLogin, type ProviderLoginOptions } from './providers/open.ts'
import { countRechecks, createRecheck, type Recheck } from './recheck.ts'
import { createRunAttempt } from './sign-in/attempt.ts'
import { createBegin } from './sign-in/begin.ts'
import { createLogin, type Login } from './sign-in/login.ts'
import { createSteps } from './sign-in/steps/steps.ts'
import { createSm2, type Sm2 } from './sm2/sm2.ts'

/** Times in milliseconds. */
export interface LoginSettings {
  captcha: Pick<CaptchaOptions, 'ttl' | 'length' | 'alternative' | 'difficulty'>
  sm2: { private_key: string }
  lockout: LockoutSettings
  rate_limit: RateLimits | 'off'
  second_factor: SecondFactorSettings & { key?: string | undefined }
}

export interface OpenLoginOptions {
  settings: LoginSettings
  passwords: PasswordSettings & { max_age: number | 'off' }
  store: Pick<Store, 'captchas' | 'tickets' | 'attempts' | 'online' | 'factors'>
  sides: Readonly<Record<LoginType, Side>>
  clock: Clock
  timestamps: TimestampFormat
  log: Logger
  publish: Publish
  /** Of the whole program; absent for processes of these logins alone. */
  helpers?: Helpers | undefined
  jwt: Pick<Jwt, 'read'>
  /** The OpenID providers of a side. */
  providersOf(type: LoginType): readonly ProviderSettings[]
  /** `browser.url`. */
  url: string | undefined
  /** Opens the accounts of a side; `null` for a side whose login is served elsewhere. */
  openAccounts(options: AccountsOptions): Promise<Accounts> | null
  /** How often the source of a side is asked about a session in use, in milliseconds; `off` if never. */
  recheckOf(type: LoginType): number | 'off'
  /** The keys of the users of a side, which follow their accounts; `null` for a side without keys. */
  keys: Readonly<Record<LoginType, AccountKeys | null>>
  meter: Meter
}

/**
 * The logins that the gateway itself serves, with their account sources; `null` for a side whose login is served
 * elsewhere.
 */
export interface Logins {
  readonly logins: Readonly<Record<LoginType, Login | null>>
  /** Those by OpenID providers; `null` for a side without any. */
  readonly providerLogins: Readonly<Record<LoginType, ProviderLogin | null>>
  /** What their users do with their own accounts. */
  readonly ownAccounts: Readonly<Record<LoginType, OwnAccount | null>>
  readonly sources: Readonly<Record<LoginType, Accounts | null>>
  /** The password that a client encrypted with the public key of the logins; `null` if it did not. */
  readonly decrypt: Sm2['decrypt']
  /** `null` where users cannot set up a second factor, too. */
  readonly ownSecondFactors: Readonly<Record<LoginType, OwnSecondFactor | null>>
  /** What else users and administrators need to prove themselves. */
  readonly proofs: Readonly<Record<LoginType, { prove: Prove; lockout: Lockout } | null>>
  /** Called with each session of a side that is used; `null` where no source is asked again. */
  readonly rechecks: Readonly<Record<LoginType, Recheck | null>>
  close(): Promise<void>
}

/** The logins of both sides share their helper processes. They are closed with the logins, unless they were given. */
export async function openLogin(options: OpenLoginOptions): Promise<Logins> {
  const { settings, store, clock, log, openAccounts } = options
  const helpers = options.helpers ?? createHelpers(log)
  const sm2 = await createSm2(settings.sm2.private_key, helpers.decrypt)
  const passwords = createPasswords(helpers.compare)
  const policy = createPasswordPolicy(options.passwords)
  const key = sealingKey(settings.second_factor.key, settings.sm2.private_key)
  const sources = bySide((): Accounts | null => null)
  const logins = bySide((): Login | null => null)
  const ownAccounts = bySide((): OwnAccount | null => null)
  const ownSecondFactors = bySide((): OwnSecondFactor | null => null)
  const proofs = bySide((): Logins['proofs'][LoginType] => null)
  const providerLogins = bySide((): ProviderLogin | null => null)
  const changes = createChanges(options)

  for (const type of LOGIN_TYPES) {
    const { attempts: memory, factors } = store
    const accounts = await openAccounts({ type, passwords, memory, factors, clock, log })
    const common = createCommon(options, type, { helpers, sm2, policy, key })
    const opened = accounts === null ? null : createLoginOfSide(common, accounts)
    providerLogins[type] = openProviders(common, opened)
    if (accounts === null || opened === null) continue
    sources[type] = accounts
    changes.begin(type, accounts)
    logins[type] = withProviderSteps(opened.login, providerLogins[type])
    ownAccounts[type] = opened.account
    ownSecondFactors[type] = opened.ownSecondFactor
    proofs[type] = opened.proof
  }

  return {
    logins,
    providerLogins,
    ownAccounts,
    sources,
    decrypt: sm2.decrypt,
    ownSecondFactors,
    proofs,
    rechecks: changes.rechecks,
    async close() {
      if (options.helpers === undefined) await helpers.close()
      await changes.close()
      await Promise.all([...Object.values(sources), ...Object.values(providerLogins)].map(part => part?.close()))
    },
  }
}

interface LoginParts {
  helpers: Helpers
  sm2: Sm2
  policy: PasswordPolicy
  key: Buffer
}

type Common = ReturnType<typeof createCommon>

/** What every way to sign in on a side shares: all count failures in the same lockout. */
function createCommon(options: OpenLoginOptions, type: LoginType, { helpers, sm2, policy, key }: LoginParts) {
  const { settings, passwords, store, sides, clock, timestamps, log, publish, jwt } = options
  const { attempts, tickets } = store
  const side = sides[type]
  const sessions = createProviderSessions({ side, tickets, clock })
  return {
    type,
    side,
    sm2,
    lockout: createLockout({ side, attempts, settings: settings.lockout, clock }),
    rateLimit: createRateLimit(type, attempts, settings.rate_limit, clock),
    run: createRunAttempt(log, publish),
    policy,
    keys: options.keys[type],
    maxPasswordAge: passwords.max_age,
    store,
    clock,
    timestamps,
    log,
    publish,
    draw: helpers.draw,
    captcha: settings.captcha,
    sessions,
    beginning: { side, providerSessions: sessions, jwt, log },
    factors: {
      type,
      settings: settings.second_factor,
      key,
      disable: settings.lockout.disable,
      attempts,
      clock,
      log,
    },
    providers: options.providersOf(type),
    url: options.url,
  }
}

/** The login of one side, and what its users do with their own accounts. */
function createLoginOfSide(common: Common, accounts: Accounts) {
  const { type, side, store, clock, publish, lockout } = common
  const { captchas, attempts, tickets } = store
  const secondFactors = createSecondFactors({ ...common.factors, accounts })
  const captcha = createCaptcha({ ...common.captcha, type, store: captchas, attempts, clock, draw: common.draw })
  const begin = createBegin({ ...common.beginning, accounts })
  const steps = createSteps({ ...common, accounts, factors: secondFactors, begin })
  const current = createCurrentPassword({ ...common, accounts })
  return {
    accounts,
    begin,
    steps,
    login: createLogin({ ...common, accounts, captcha, steps }),
    account: createOwnAccount({ ...common, accounts, current, secondFactors }),
    proof: { prove: createProof({ side, current, factors: secondFactors, publish }), lockout },
    ownSecondFactor: secondFactors.canSetUp
      ? createOwnSecondFactor({ ...common, accounts, current, factors: secondFactors, tickets })
      : null,
  }
}

/** The sign-ins of a side by its OpenID providers; `null` without any. */
function openProviders(common: Common, local: ProviderLoginOptions['local']): ProviderLogin | null {
  const { providers, url } = common
  if (providers.length === 0 || url === undefined) return null
  return openProviderLogin({ ...common, url, local, steps: common })
}

/** Steps of a login by the ticket: that of an account of the side, or of claims of a provider. */
function withProviderSteps(login: Login, providers: ProviderLogin | null): Login {
  if (providers === null) return login
  const secondFactorOf = (ticket: string): NonNullable<Login['secondFactor']> => {
    const steps = providers.stepsOf(ticket)?.secondFactor ?? login.secondFactor
    if (steps === undefined) throw new Refusal('TICKET_INVALID', { data: { required: 'login' } })
    return steps
  }
  return {
    ...login,
    secondFactor: {
      setUp: request => secondFactorOf(request.ticket).setUp(request),
      enter: request => secondFactorOf(request.ticket).enter(request),
    },
  }
}

/** What ends the sessions of accounts that change: the source reports it, or is asked again. */
function createChanges({ settings, sides, store, clock, log, recheckOf, keys, meter }: OpenLoginOptions) {
  const rechecks = bySide((): Recheck | null => null)
  const rechecked = countRechecks(meter)
  const watches: AccountWatch[] = []
  return {
    rechecks,
    begin(type: LoginType, accounts: Accounts): void {
      const { changes } = accounts
      const side = sides[type]
      const interval = recheckOf(type)
      if (changes !== undefined) {
        const known = (): void => warnOfUnused(type, changes, settings.second_factor, log)
        watches.push(new AccountWatch({ side, changes, online: store.online, keys: keys[type], log, known }))
      } else if (interval !== 'off') {
        rechecks[type] = createRecheck({ side, accounts, interval, clock, log, rechecked })
      }
    },
    async close(): Promise<void> {
      await Promise.all([...watches, ...Object.values(rechecks)].map(part => part?.close()))
    },
  }
}

/** Second factors that accounts have, and no login needs. */
function warnOfUnused(
  type: LoginType,
  changes: AccountChanges,
  settings: LoginSettings['second_factor'],
  log: Logger,
): void {
  const accounts = changes.secondFactors()
  if (settings.for !== 'off' || accounts === 0) return
  log.warn(
    { type, accounts },
    'login.second_factor.for is off: accounts with a second factor need their password alone',
  )
}

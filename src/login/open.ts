import type { Accounts } from '../account/accounts.ts'
import type { AccountsOptions } from '../account/open.ts'
import { createPasswords } from '../account/password.ts'
import { createPasswordPolicy, type PasswordSettings } from '../account/password-policy.ts'
import type { Clock } from '../clock.ts'
import type { Publish } from '../event/event.ts'
import type { Logger } from '../log.ts'
import { sealingKey } from '../second-factor/sealed.ts'
import { createSecondFactors, type SecondFactorSettings, type SecondFactors } from '../second-factor/second-factors.ts'
import { bySide, LOGIN_TYPES, type LoginType } from '../session.ts'
import type { Side } from '../side/side.ts'
import type { Store } from '../store/store.ts'
import { AccountWatch } from './account-changes.ts'
import { createCaptcha } from './captcha/captcha.ts'
import { createHelpers, type Helpers } from './helpers/helpers.ts'
import { createLockout, type LockoutSettings } from './lockout.ts'
import { createLogin, type Login } from './login.ts'
import { createRateLimit, type RateLimits } from './rate-limit.ts'
import { createRecheck, type Recheck, type RecheckResult } from './recheck.ts'
import { createSm2 } from './sm2/sm2.ts'

/** Times in milliseconds. */
export interface LoginSettings {
  captcha: { ttl: number; length: number }
  sm2: { private_key: string }
  lockout: LockoutSettings
  rate_limit: RateLimits | 'off'
  second_factor: SecondFactorSettings & { key?: string | undefined }
}

export interface OpenLoginOptions {
  settings: LoginSettings
  passwords: PasswordSettings & { max_age: number | 'off' }
  store: Pick<Store, 'captchas' | 'tickets' | 'attempts' | 'online'>
  sides: Readonly<Record<LoginType, Side>>
  clock: Clock
  log: Logger
  publish: Publish
  /** Of the whole program; absent for processes of these logins alone. */
  helpers?: Helpers | undefined
  /** Opens the accounts of a side; `null` for a side whose login is served elsewhere. */
  openAccounts(options: AccountsOptions): Promise<Accounts> | null
  /** How often the source of a side is asked about a session in use, in milliseconds; `off` if never. */
  recheckOf(type: LoginType): number | 'off'
  rechecked(type: LoginType, result: RecheckResult): void
}

/**
 * The logins that the gateway itself serves, with their account sources; `null` for a side whose login is served
 * elsewhere.
 */
export interface Logins {
  readonly logins: Readonly<Record<LoginType, Login | null>>
  readonly sources: Readonly<Record<LoginType, Accounts | null>>
  readonly secondFactors: Readonly<Record<LoginType, SecondFactors | null>>
  /** Called with each session of a side that is used; `null` where no source is asked again. */
  readonly rechecks: Readonly<Record<LoginType, Recheck | null>>
  close(): Promise<void>
}

/** The logins of both sides share their helper processes. They are closed with the logins, unless they were given. */
export async function openLogin(options: OpenLoginOptions): Promise<Logins> {
  const { settings, store, sides, clock, log, publish, openAccounts } = options
  const { captcha, lockout, rate_limit, second_factor } = settings
  const { attempts } = store
  const helpers = options.helpers ?? createHelpers(log)
  const sm2 = await createSm2(settings.sm2.private_key, helpers.decrypt)
  const passwords = createPasswords(helpers.compare)
  const policy = createPasswordPolicy(options.passwords)
  const sources = bySide((): Accounts | null => null)
  const logins = bySide((): Login | null => null)
  const secondFactors = bySide((): SecondFactors | null => null)
  const key = sealingKey(second_factor.key, settings.sm2.private_key)
  const changes = createChanges(options)

  for (const type of LOGIN_TYPES) {
    const accounts = await openAccounts({ type, passwords, memory: attempts, clock, log })
    if (accounts === null) continue
    const side = sides[type]
    sources[type] = accounts
    changes.begin(type, accounts)
    secondFactors[type] = createSecondFactors({
      type,
      settings: second_factor,
      key,
      disable: lockout.disable,
      accounts,
      attempts,
      clock,
      log,
    })
    logins[type] = createLogin({
      side,
      accounts,
      captcha: createCaptcha({
        ...captcha,
        type,
        store: store.captchas,
        attempts,
        clock,
        draw: helpers.draw,
      }),
      store,
      sm2,
      policy,
      maxPasswordAge: options.passwords.max_age,
      clock,
      lockout: createLockout({ side, attempts, settings: lockout, clock }),
      rateLimit: createRateLimit(type, attempts, rate_limit, clock),
      log,
      publish,
    })
  }

  return {
    logins,
    sources,
    secondFactors,
    rechecks: changes.rechecks,
    async close() {
      if (options.helpers === undefined) await helpers.close()
      await changes.close()
      await Promise.all(Object.values(sources).map(source => source?.close()))
    },
  }
}

/** What ends the sessions of accounts that change: the source reports it, or is asked again. */
function createChanges({ sides, store, clock, log, recheckOf, rechecked }: OpenLoginOptions) {
  const rechecks = bySide((): Recheck | null => null)
  const watches: AccountWatch[] = []
  return {
    rechecks,
    begin(type: LoginType, accounts: Accounts): void {
      const { changes } = accounts
      const side = sides[type]
      const interval = recheckOf(type)
      if (changes !== undefined) {
        watches.push(new AccountWatch({ side, changes, online: store.online, log }))
      } else if (interval !== 'off') {
        rechecks[type] = createRecheck({
          side,
          accounts,
          interval,
          clock,
          log,
          rechecked: result => rechecked(type, result),
        })
      }
    },
    async close(): Promise<void> {
      await Promise.all([...watches, ...Object.values(rechecks)].map(part => part?.close()))
    },
  }
}

import type { AccountKeys } from '../account/kept-keys.ts'
import type { AccountsOptions } from '../account/open.ts'
import type { PasswordSettings } from '../account/password-policy.ts'
import type { Accounts } from '../account/source.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log/log.ts'
import type { TimestampFormat } from '../base/timestamp.ts'
import type { Publish } from '../event/event.ts'
import type { Meter } from '../metrics/meter.ts'
import type { SecondFactorSettings } from '../second-factor/second-factors.ts'
import type { LoginType } from '../session/sides.ts'
import type { ProviderSettings } from '../settings/schema/providers.ts'
import type { Side } from '../side/side.ts'
import type { Store } from '../store/store.ts'
import type { Jwt } from '../token/jwt.ts'
import type { CaptchaOptions } from './captcha/captcha.ts'
import type { Helpers } from './helpers/helpers.ts'
import type { LockoutSettings } from './protection/lockout.ts'
import type { RateLimits } from './protection/login-rate-limit.ts'

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

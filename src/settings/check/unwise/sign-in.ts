import { DAY } from '../../../base/clock.ts'
import type { DecodedSettings } from '../../schema/settings.ts'
import { storesIn } from '../../served.ts'
import type { AccountSection } from '../account-sections.ts'
import { isLoopback, isUnencrypted } from '../networks.ts'
import { indexesOf, MINUTE, type Rule } from './rule.ts'

/** How users sign in. */
export const SIGN_IN: readonly Rule<DecodedSettings>[] = [
  {
    setting: ['login', 'rate_limit'],
    finds: ({ login }) => login.rate_limit === 'off',
    message: 'is off: a program can try captchas and passwords without limit',
  },
  {
    setting: ['login', 'lockout', 'failures'],
    finds: ({ login: { lockout } }) => lockout.failures > 100,
    message: 'allows more than 100 wrong passwords for one account within a window',
  },
  {
    setting: ['login', 'lockout', 'address_failures'],
    finds: ({ login: { lockout } }) => lockout.address_failures > 1000,
    message: 'allows more than 1000 failed logins from one address within a window',
  },
  {
    setting: ['passwords', 'min_length'],
    finds: ({ passwords }) => passwords.min_length < 8,
    message: 'is below 8: a program finds such passwords from stolen hashes',
  },
  {
    setting: ['passwords', 'common'],
    finds: ({ passwords }) => passwords.common === 'allow',
    message: 'allows passwords from published leaks, which programs try first',
  },
  {
    setting: ['passwords', 'max_age'],
    finds: ({ passwords }) => passwords.max_age !== 'off' && passwords.max_age < 30 * DAY,
    message: 'is less than 30 days: users who must change passwords so often choose worse ones',
  },
  {
    setting: ['login', 'second_factor', 'for'],
    finds: ({ accounts, login: { consumer, second_factor } }) =>
      second_factor.for === 'off' && [accounts, consumer].some(storesInSource),
    message: 'is off, and a source stores second factors: accounts that have one are protected by their password alone',
  },
  {
    setting: ['login', 'lockout', 'disable'],
    finds: ({ login: { lockout, second_factor } }) => second_factor.for !== 'off' && lockout.disable < MINUTE,
    message: 'is shorter than a minute: who knows a password can try thousands of codes of its second factor a day',
  },
  {
    setting: ['login', 'captcha', 'ttl'],
    finds: ({ login: { captcha } }) => captcha.ttl > 60 * MINUTE,
    message: 'is longer than an hour: captchas can be collected and solved in advance',
  },
  {
    setting: ['login', 'captcha', 'difficulty'],
    finds: ({ login: { captcha } }) => captcha.alternative === 'proof-of-work' && captcha.difficulty < 16,
    message: 'is below 16: a program computes such a proof in a few milliseconds',
  },
  {
    setting: ['login', 'providers'],
    finds: ({ login }) => indexesOf(login.providers, ({ issuer }) => isUnencrypted(issuer, 'http:', isLoopback)),
    message: 'is reached over http://: who changes its answers on their way signs in as any user; use https://',
  },
  {
    setting: ['login', 'providers'],
    finds: ({ login }) => indexesOf(login.providers, ({ clock_tolerance }) => clock_tolerance > 5 * MINUTE),
    message: 'accepts tokens that ended more than five minutes ago (clock_tolerance); set the clocks instead',
  },
]

/** Whether second factors of a database, a backend or a directory are stored. Of those in a file, the start warns if there are any. */
const storesInSource = (source: AccountSection): boolean =>
  source !== 'off' && source.kind !== 'file' && storesIn(source, 'second_factor')

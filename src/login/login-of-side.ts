import type { PasswordPolicy } from '../account/password-policy.ts'
import type { Accounts } from '../account/source.ts'
import { Refusal } from '../base/refusal.ts'
import { createSecondFactors } from '../second-factor/second-factors.ts'
import type { LoginType } from '../session/sides.ts'
import { createCaptcha } from './captcha/captcha.ts'
import type { Helpers } from './helpers/helpers.ts'
import { createProviderSessions } from './identity/provider-sessions.ts'
import type { OpenLoginOptions } from './login-options.ts'
import { createCurrentPassword } from './own-account/current-password.ts'
import { createOwnAccount, type OwnAccount } from './own-account/own-account.ts'
import { createOwnSecondFactor, type OwnSecondFactor } from './own-account/own-second-factor.ts'
import { createProof, type Prove } from './own-account/proof.ts'
import { createLockout, type Lockout } from './protection/lockout.ts'
import { createRateLimit } from './protection/login-rate-limit.ts'
import type { ProviderLogin, ProviderLoginOptions } from './providers/open.ts'
import { createRunAttempt } from './sign-in/attempt.ts'
import { createBegin } from './sign-in/begin.ts'
import { createLogin, type Login } from './sign-in/login.ts'
import { createSteps } from './sign-in/steps/steps.ts'
import type { Sm2 } from './sm2/sm2.ts'

/** What the logins of both sides share. */
export interface SharedParts {
  helpers: Helpers
  sm2: Sm2
  policy: PasswordPolicy
  key: Buffer
}

/** The login of one side, and what its users do with their own accounts; each part is `null` where it is not served here. */
export interface LoginOfSide {
  login: Login | null
  /** Sign-ins by OpenID providers. */
  providerLogin: ProviderLogin | null
  ownAccount: OwnAccount | null
  ownSecondFactor: OwnSecondFactor | null
  /** What else users and administrators need to prove themselves. */
  proof: { prove: Prove; lockout: Lockout } | null
}

/** `accounts`: `null` for a side whose login is served elsewhere. */
export async function createLoginOfSide(
  options: OpenLoginOptions,
  type: LoginType,
  shared: SharedParts,
  accounts: Accounts | null,
): Promise<LoginOfSide> {
  const common = createCommon(options, type, shared)
  const local = accounts === null ? null : createLocalLogin(common, accounts)
  const providerLogin = await openProviders(common, local)
  if (local === null) return { login: null, providerLogin, ownAccount: null, ownSecondFactor: null, proof: null }
  const { login, ownAccount, ownSecondFactor, proof } = local
  return { login: withProviderSteps(login, providerLogin), providerLogin, ownAccount, ownSecondFactor, proof }
}

type Common = ReturnType<typeof createCommon>

/** What every way to sign in on a side shares: all count failures in the same lockout. */
function createCommon(options: OpenLoginOptions, type: LoginType, { helpers, sm2, policy, key }: SharedParts) {
  const { settings, passwords, store, sides, clock, timestamps, log, publish, jwt } = options
  const { attempts, tickets } = store
  const side = sides[type]
  const sessions = createProviderSessions({ side, tickets, clock })
  const providers = options.providersOf(type)
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
    beginning: { side, providerSessions: sessions, providers, jwt, log },
    factors: {
      type,
      settings: settings.second_factor,
      key,
      disable: settings.lockout.disable,
      attempts,
      clock,
      log,
    },
    providers,
    url: options.url,
  }
}

/** What is served for the accounts of a side. */
function createLocalLogin(common: Common, accounts: Accounts) {
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
    ownAccount: createOwnAccount({ ...common, accounts, current, secondFactors }),
    proof: { prove: createProof({ side, current, factors: secondFactors, publish }), lockout },
    ownSecondFactor: secondFactors.canSetUp
      ? createOwnSecondFactor({ ...common, accounts, current, factors: secondFactors, tickets })
      : null,
  }
}

/** The sign-ins of a side by its OpenID providers; `null` without any: then their libraries are not loaded. */
async function openProviders(common: Common, local: ProviderLoginOptions['local']): Promise<ProviderLogin | null> {
  const { providers, url } = common
  if (providers.length === 0 || url === undefined) return null
  const { openProviderLogin } = await import('./providers/open.ts')
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

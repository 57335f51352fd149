import type { Accounts } from '../account/accounts.ts'
import { createPasswords } from '../account/password.ts'
import type { Clock } from '../clock.ts'
import type { Settings } from '../config/schema/settings.ts'
import type { Publish } from '../event/event.ts'
import type { Logger } from '../log.ts'
import type { LoginType } from '../session.ts'
import type { Side } from '../side/side.ts'
import type { Store } from '../store/store.ts'
import { createCaptcha } from './captcha/captcha.ts'
import { createFailureCost } from './failure-cost.ts'
import { createLockout } from './lockout.ts'
import { createLogin, type Login } from './login.ts'
import { createRateLimit } from './rate-limit.ts'
import { createSm2 } from './sm2/sm2.ts'
import { createThreads } from './threads.ts'

export interface OpenLoginOptions {
  settings: Pick<Settings, 'login' | 'accounts'>
  store: Pick<Store, 'captchas' | 'attempts'>
  sides: Record<LoginType, Side>
  clock: Clock
  log: Logger
  publish: Publish
  openAccounts(settings: Settings['accounts'], log: Logger): Promise<Accounts>
}

/** The logins that the gateway serves itself: the B side's, and the C side's when it is configured. They share threads. */
export interface Logins {
  readonly business: Login
  readonly consumer: Login | null
  /** Where the accounts of each side are; `null` for a side whose login is served elsewhere. */
  readonly sources: Readonly<Record<LoginType, Accounts | null>>
  close(): Promise<void>
}

export async function openLogin(options: OpenLoginOptions): Promise<Logins> {
  const { settings, store, sides, clock, log, publish, openAccounts } = options
  const { captcha, lockout, rate_limit, consumer } = settings.login
  const { attempts } = store
  const threads = createThreads(log)
  const sm2 = await createSm2(settings.login.sm2.private_key, threads)
  const passwords = createPasswords(threads.compare)
  const sources: Record<LoginType, Accounts | null> = { BUSINESS: null, CONSUMER: null }

  async function open(side: Side, accountSettings: Settings['accounts']): Promise<Login> {
    const accounts = await openAccounts(accountSettings, log)
    sources[side.type] = accounts
    return createLogin({
      side,
      accounts,
      captcha: createCaptcha({
        ...captcha,
        type: side.type,
        store: store.captchas,
        attempts,
        clock,
        draw: threads.draw,
      }),
      sm2,
      passwords,
      failureCost: createFailureCost(side.type, accounts, attempts, clock),
      lockout: createLockout({ side, attempts, settings: lockout, clock }),
      rateLimit: createRateLimit(side.type, attempts, rate_limit, clock),
      log,
      publish,
    })
  }

  return {
    business: await open(sides.BUSINESS, settings.accounts),
    consumer: consumer === 'off' ? null : await open(sides.CONSUMER, consumer),
    sources,
    async close() {
      await threads.close()
      await Promise.all(Object.values(sources).map(source => source?.close()))
    },
  }
}

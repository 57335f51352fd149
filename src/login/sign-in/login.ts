import {
  type Account,
  type AccountSource,
  findPerson,
  MAX_USERNAME_LENGTH,
  type SourceLogin,
} from '../../account/source.ts'
import type { Logger } from '../../base/log/log.ts'
import { Refusal } from '../../base/refusal.ts'
import { eventNames } from '../../side/event-names.ts'
import type { Side } from '../../side/side.ts'
import { charactersOf } from '../../store/names.ts'
import type { Captcha, IssuedCaptcha, IssuedChallenge } from '../captcha/captcha.ts'
import { obstacleReason } from '../protection/failure-event.ts'
import type { Lockout } from '../protection/lockout.ts'
import type { RateLimit } from '../protection/login-rate-limit.ts'
import type { Sm2 } from '../sm2/sm2.ts'
import type { Attempt, Device, RunAttempt } from './attempt.ts'
import type { Began } from './begin.ts'
import { deviceTypeOf } from './device.ts'
import type { Steps } from './steps/steps.ts'

/** A login request ("Login request fields"). */
export interface Credentials {
  captcha_id?: string | null
  captcha_value?: string | null
  /** The name that existing clients use for `captcha_value`. */
  captcha_code?: string | null
  username: string
  /** SM2 ciphertext in hex. */
  password: string
  device_id?: string | null
  /** The client's address, as reported by trusted proxies. */
  address: string
  userAgent: string
  /** The id of the request. */
  trace_id: string
}

/** The public login of one side: captcha, public key, login and its steps. */
export interface Login extends Omit<Steps, 'proceed'> {
  /** 130 hex digits; clients encrypt passwords with it. */
  readonly publicKey: string
  issueCaptcha(address: string): Promise<IssuedCaptcha>
  /** A challenge for a proof of work, where it is allowed instead of a captcha. */
  issueChallenge(address: string): Promise<IssuedChallenge>
  /**
   * A new session, or a refusal. Wrong name, wrong password and undecryptable password cannot be distinguished. A login that
   * needs another step is refused with `STEP_REQUIRED`.
   */
  login(credentials: Credentials): Promise<Began>
}

export interface LoginOptions {
  side: Pick<Side, 'type'>
  accounts: AccountSource
  captcha: Captcha
  sm2: Sm2
  lockout: Lockout
  rateLimit: RateLimit
  log: Logger
  run: RunAttempt
  steps: Steps
}

/** Of one that is stored. */
const MAX_DEVICE_ID_LENGTH = 128

export function createLogin(options: LoginOptions): Login {
  const { side, accounts, captcha, sm2, lockout, rateLimit, log, run } = options
  const { proceed, ...steps } = options.steps

  /** The account of the credentials. Every failure takes the same time and gets the same text. */
  async function verified({ username, password, address }: Credentials, attempt: Attempt): Promise<Account> {
    const asked: SourceLogin = { spent: 0 }
    const found = canBeName(username) ? await findPerson(accounts, username, asked) : null
    attempt.login_id = found?.id
    if (found !== null) attempt.names = eventNames({ ...found.extra, username: found.username })
    const subject = lockout.subject(found?.username ?? username, found?.id ?? null)
    return lockout.counted(subject, address, attempt.origin, async () => {
      const plain = await sm2.decrypt(password)
      if ((await accounts.verify(found, plain, asked)) && found !== null) return found
      attempt.because = found === null ? 'unknown user' : plain === null ? 'undecryptable' : 'wrong password'
      if (asked.obstacle !== undefined) attempt.because = attempt.reason = obstacleReason(asked.obstacle)
      return null
    })
  }

  return {
    ...steps,
    publicKey: sm2.publicKey,
    async issueCaptcha(address) {
      await rateLimit('captcha', address)
      return captcha.issue(address)
    },
    async issueChallenge(address) {
      await rateLimit('captcha', address)
      return captcha.challenge(address)
    },
    /** The order is the specification's ("Login processing order"): captcha, SM2, bcrypt, then token and record. */
    login(credentials) {
      const { username, address, trace_id, captcha_id, captcha_value, captcha_code } = credentials
      const device = deviceOf(credentials)
      const attempt: Attempt = { type: side.type, address, origin: { trace_id, address, ...device } }
      // A user may have typed a password into the name field, so the name is only logged at level debug.
      if (log.isLevelEnabled('debug')) attempt.username = username.slice(0, MAX_USERNAME_LENGTH).toLowerCase()
      return run(attempt, async () => {
        await rateLimit('login', address)
        await lockout.checkAddress(address)
        await captcha.verify(captcha_id ?? '', captcha_value ?? captcha_code ?? '')
        const account = await verified(credentials, attempt)
        refuseInactive(account)
        return proceed({ account, device: { ...device, login_ip: address }, passed: [] }, attempt)
      })
    },
  }
}

/** Only after the right password, or the word of a provider. */
export function refuseInactive({ status, passwordExpired }: Account): void {
  if (passwordExpired === true) throw new Refusal('PASSWORD_EXPIRED')
  if (status === 'LOCKED') throw new Refusal('ACCOUNT_LOCKED')
  if (status === 'INACTIVE') throw new Refusal('ACCOUNT_INACTIVE')
}

/** Control characters and halves of characters: databases and backends fail on some of them. */
const NOT_TEXT = /[\p{Cc}\p{Cs}]/gu

/** Other texts are not names of accounts, and could cause a fault in the source. */
const canBeName = (text: string): boolean =>
  text !== '' && text.length <= MAX_USERNAME_LENGTH && text.search(NOT_TEXT) === -1

const deviceOf = ({ userAgent, device_id }: Credentials): Pick<Device, 'device_type' | 'device_id'> => ({
  device_type: deviceTypeOf(userAgent),
  device_id: charactersOf((device_id ?? '').replace(NOT_TEXT, ''), MAX_DEVICE_ID_LENGTH),
})

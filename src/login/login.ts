import type { Account, AccountSource } from '../account/accounts.ts'
import { ACCOUNT_VERSION } from '../account/version.ts'
import type { Origin, Publish, SessionEvent } from '../event/event.ts'
import type { Logger } from '../log.ts'
import { Refusal } from '../refusal.ts'
import { type Extra, faultOfExtra, type LoginType } from '../session.ts'
import { eventNames } from '../side/names.ts'
import type { Side } from '../side/side.ts'
import { endIfChanged } from './account-changes.ts'
import type { Captcha, IssuedCaptcha } from './captcha/captcha.ts'
import { deviceTypeOf } from './device.ts'
import type { Lockout } from './lockout.ts'
import type { RateLimit } from './rate-limit.ts'
import type { Sm2 } from './sm2/sm2.ts'

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

/** The public login of one side: captcha, public key, login. */
export interface Login {
  /** 130 hex digits; clients encrypt passwords with it. */
  readonly publicKey: string
  issueCaptcha(address: string): Promise<IssuedCaptcha>
  /** A new session, or a refusal. Wrong name, wrong password and undecryptable password cannot be distinguished. */
  login(credentials: Credentials): Promise<{ token: string }>
}

export interface LoginOptions {
  side: Pick<Side, 'type' | 'login' | 'kickoutWhere'>
  accounts: AccountSource
  captcha: Captcha
  sm2: Sm2
  lockout: Lockout
  rateLimit: RateLimit
  log: Logger
  publish: Publish
}

/** Maximum length of an account name, and of a device id that is stored. */
const MAX_NAME_LENGTH = 128
const MAX_DEVICE_ID_LENGTH = 128

export function createLogin(options: LoginOptions): Login {
  const { side, accounts, captcha, sm2, lockout, rateLimit, log } = options

  /** The order is the specification's ("Login processing order"): captcha, SM2, bcrypt, then token and record. */
  async function attempt(credentials: Credentials, outcome: Outcome): Promise<{ token: string }> {
    const { username, password, address } = credentials
    await rateLimit('login', address)
    await lockout.checkAddress(address)
    await captcha.verify(credentials.captcha_id ?? '', credentials.captcha_value ?? credentials.captcha_code ?? '')

    const found = canBeName(username) ? await accounts.find(username) : null
    outcome.login_id = found?.id
    outcome.names = found === null ? {} : eventNames({ ...found.extra, username: found.username })
    const subject = lockout.subject(found?.username ?? username, found?.id ?? null)
    const account = await lockout.inTurn(subject, async () => {
      await lockout.check(subject)
      const plain = await sm2.decrypt(password)
      if (!(await accounts.verify(found, plain)) || found === null) {
        outcome.because = found === null ? 'unknown user' : plain === null ? 'undecryptable' : 'wrong password'
        await lockout.failed(subject, address, originOf(credentials))
        throw new Refusal('WRONG_CREDENTIALS')
      }
      await lockout.passed(subject)
      return found
    })
    refuseInactive(account)
    warnOfLeftOut(log, side.type, account)
    const origin = { by: account.id, ...originOf(credentials) }
    const token = await side.login(undefined, account.id, extraOf(account, credentials), origin)
    if (await endIfChanged(side, accounts.changes, account)) {
      outcome.because = 'changed meanwhile'
      throw new Refusal('WRONG_CREDENTIALS')
    }
    return { token }
  }

  return {
    publicKey: sm2.publicKey,
    async issueCaptcha(address) {
      await rateLimit('captcha', address)
      return captcha.issue(address)
    },
    async login(credentials) {
      const outcome: Outcome = { type: side.type, address: credentials.address }
      // A user may have typed a password into the name field, so the name is only logged at level debug.
      if (log.isLevelEnabled('debug')) outcome.username = credentials.username.slice(0, MAX_NAME_LENGTH).toLowerCase()
      try {
        const answer = await attempt(credentials, outcome)
        report(options, credentials, outcome)
        return answer
      } catch (fault) {
        if (fault instanceof Refusal) report(options, credentials, outcome, fault)
        throw fault
      }
    },
  }
}

/** Logs the result of an attempt, and publishes its failure; a success is published with its session. */
function report(
  { log, publish }: Pick<LoginOptions, 'log' | 'publish'>,
  credentials: Credentials,
  { names, ...logged }: Outcome,
  refusal?: Refusal,
): void {
  if (refusal === undefined) {
    log.info({ granted: true, ...logged }, 'login')
    return
  }
  const { reason } = refusal
  log.info({ granted: false, reason, ...logged }, 'login')
  const { type, login_id = null } = logged
  publish({ event: 'login-failed', type, login_id, ...names, reason, ...originOf(credentials) })
}

/** Only after the right password. */
function refuseInactive({ status }: Account): void {
  if (status === 'LOCKED') throw new Refusal('ACCOUNT_LOCKED')
  if (status === 'INACTIVE') throw new Refusal('ACCOUNT_INACTIVE')
}

/** Logs which columns of an account are not in its sessions. */
function warnOfLeftOut(log: Logger, type: LoginType, { id, leftOut }: Account): void {
  if (leftOut === undefined) return
  log.warn(
    { type, login_id: id, ...leftOut },
    'the account holds more than a session may: these columns are left out of it',
  )
}

/** Other texts are not names of accounts, and could cause a fault in the source. */
const canBeName = (text: string): boolean =>
  text !== '' && text.length <= MAX_NAME_LENGTH && !/[\p{Cc}\p{Cs}]/u.test(text)

/** What the log says of a login, but for `names`. */
interface Outcome {
  type: LoginType
  address: string
  login_id?: string | undefined
  /** The details that the client does not receive. */
  because?: 'unknown user' | 'undecryptable' | 'wrong password' | 'changed meanwhile'
  username?: string | undefined
  /** The names of the account, for events. */
  names?: Pick<SessionEvent, 'username' | 'nickname'>
}

/** Where an attempt comes from. Before the password was right the client is unknown, so there is no `by`. */
const originOf = (credentials: Credentials): Origin => ({
  trace_id: credentials.trace_id,
  address: credentials.address,
  ...deviceOf(credentials),
})

const deviceOf = ({ userAgent, device_id }: Credentials) => ({
  device_type: deviceTypeOf(userAgent),
  device_id: device_id?.slice(0, MAX_DEVICE_ID_LENGTH) ?? '',
})

/** The record's `extra` (design: B-side login). */
function extraOf(account: Account, credentials: Credentials): Extra {
  const extra = {
    ...account.extra,
    username: account.username,
    status: account.status,
    ...deviceOf(credentials),
    login_ip: credentials.address,
    ...(account.version !== undefined && { [ACCOUNT_VERSION]: account.version }),
  }
  const fault = faultOfExtra(extra)
  // The client cannot correct this: the account source returns more than a record may hold.
  if (fault !== null) throw new Error(`the extra data of account ${account.id} ${fault}`)
  return extra
}

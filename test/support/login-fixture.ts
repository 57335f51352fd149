import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import bcrypt from 'bcrypt'
import { pino } from 'pino'
import { sm2 as encryption } from 'sm-crypto-v2'
import { matchesHash } from '../../src/account/hash.ts'
import { createHashAccounts, type HashAccount, type HashSource } from '../../src/account/hash-accounts.ts'
import { createPasswords } from '../../src/account/password.ts'
import { createPasswordPolicy } from '../../src/account/password-policy.ts'
import { Refusal, Unavailable } from '../../src/base/refusal.ts'
import { createTimestampFormat } from '../../src/base/timestamp.ts'
import type { SessionEvent } from '../../src/event/event.ts'
import { createCaptcha } from '../../src/login/captcha/captcha.ts'
import { createProviderSessions } from '../../src/login/identity/provider-sessions.ts'
import { createLockout, type LockoutSettings } from '../../src/login/protection/lockout.ts'
import { createRateLimit, type RateLimits } from '../../src/login/protection/login-rate-limit.ts'
import { createRunAttempt } from '../../src/login/sign-in/attempt.ts'
import { createBegin } from '../../src/login/sign-in/begin.ts'
import { type Credentials, createLogin } from '../../src/login/sign-in/login.ts'
import { createSteps } from '../../src/login/sign-in/steps/steps.ts'
import { decryptCiphertext } from '../../src/login/sm2/ciphertext.ts'
import { createSm2 } from '../../src/login/sm2/sm2.ts'
import { createSecondFactors, type SecondFactorSettings } from '../../src/second-factor/second-factors.ts'
import { generateSm2PrivateKey } from '../../src/settings/sm2-key.ts'
import { createSide } from '../../src/side/side.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import { createJwt, type Signer } from '../../src/token/jwt.ts'
import { clockOf } from './clock.ts'
import { hashAtLowestCost } from './login-work.ts'
import { PATIENCE } from './until.ts'

export const PASSWORD = 'correct horse'
/** Cost 4, so that tests are quick; one hash for all. */
const HASH = bcrypt.hashSync(PASSWORD, 4)

const PRIVATE_KEY = generateSm2PrivateKey()

/** Its public key, precomputed once for all instances: that costs as much as many logins. */
let publicKey: ReturnType<typeof encryption.precomputePublicKey> | undefined

export const account = (username: string, rest: Partial<HashAccount> = {}): HashAccount => ({
  id: `id-${username.toLowerCase()}`,
  username,
  passwordHash: HASH,
  status: 'ACTIVE',
  extra: { nickname: username, avatar: null, roles: ['operator'], permissions: [] },
  ...rest,
})

/** A source that stores what the gateway changes. The test may change the accounts, too. */
export const sourceOf = (accounts: HashAccount[]): Omit<HashSource, 'findRights'> => ({
  find: async name => accounts.find(({ username }) => username.toLowerCase() === name.toLowerCase()) ?? null,
  // Quick failures; the costs of others are for failure-cost.test.ts.
  highestCost: () => 4,
  updates: {
    can: new Set(['password', 'second-factor']),
    setPassword: async (id, { hash, changedAt }) =>
      changed(accounts, id, ({ mustChangePassword: _, ...rest }) => ({
        ...rest,
        passwordHash: hash,
        passwordChangedAt: changedAt,
      })),
    setSecondFactor: async (id, sealed, expected) =>
      accounts.some(one => one.id === id && (one.secondFactor ?? null) === expected) &&
      changed(accounts, id, ({ secondFactor: _, ...rest }) => ({
        ...rest,
        ...(sealed !== null && { secondFactor: sealed }),
      })),
  },
  close: async () => {},
})

/** Replaces an account; `false` if there is none with this id. */
export function changed(accounts: HashAccount[], id: string, change: (account: HashAccount) => HashAccount): boolean {
  const index = accounts.findIndex(one => one.id === id)
  if (index !== -1) accounts[index] = change(accounts[index]!)
  return index !== -1
}

export interface LoginFixtureOptions {
  accounts?: HashAccount[]
  source?: Omit<HashSource, 'findRights'>
  lockout?: Partial<LockoutSettings>
  rateLimit?: RateLimits | 'off'
  maxPasswordAge?: number | 'off'
  secondFactorFor?: SecondFactorSettings['for']
}

/** A login of the B side with everything behind it but helper processes, and a clock that the test moves. */
export async function openLoginFixture(options: LoginFixtureOptions = {}) {
  hashAtLowestCost()
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-login-'))
  const time = { now: Date.UTC(2025, 0, 31, 12) }
  const clock = clockOf(() => time.now)
  // A busy machine may take longer than the shipped second.
  const store = await openEmbeddedStore(folder, clock, PATIENCE)
  const events: SessionEvent[] = []
  const lines: Record<string, unknown>[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  // `rounds` are those of bcrypt: 2^cost of each hash that a password was compared with.
  const worked = { decrypted: 0, compared: 0, rounds: 0 }
  // Whether no password can be compared, as when the helper processes are overloaded; and what comparisons wait for.
  const faults = { comparing: false, held: Promise.resolve() }
  const compare = (password: string, hash: string): boolean => {
    worked.rounds += 2 ** Number(hash.slice(4, 6))
    return bcrypt.compareSync(password, hash)
  }

  // What this fixture has encrypted itself need not be decrypted, which takes twelve milliseconds.
  const plaintexts = new Map<string, string>()

  const jwt = createJwt(signer, 'HS256', clock)
  const side = createSide({
    type: 'BUSINESS',
    jwt,
    store: store.sessions,
    attempts: store.attempts,
    clock,
    timestamps: createTimestampFormat('UTC'),
    expireSeconds: 3600,
    tokenName: 'Authorization',
    enforceDisable: false,
    tellEnd: 'off',
    policy: { max_tokens_per_user: 0, per_device: false, auto_renew: 'off', idle_timeout: 'off' },
    publish: () => undefined,
  })
  const accounts = options.accounts ?? [account('Admin')]
  const source = options.source ?? sourceOf(accounts)
  const captcha = createCaptcha({
    type: 'BUSINESS',
    store: store.captchas,
    attempts: store.attempts,
    ttl: 300_000,
    length: 4,
    alternative: 'off',
    difficulty: 20,
    clock,
    draw: async text => text,
  })
  const settings = { failures: 5, window: 300_000, disable: 300_000, address_failures: 30, address_window: 900_000 }
  const verified = createHashAccounts(
    { ...source, findRights: async () => null },
    {
      type: 'BUSINESS',
      passwords: createPasswords(async (password, hash, decoys) => {
        await faults.held
        if (faults.comparing) throw new Unavailable('the helpers')
        worked.compared += 1
        return matchesHash(password, hash, decoys, compare)
      }),
      memory: store.attempts,
      clock,
      log,
    },
  )
  const sm2 = await createSm2(PRIVATE_KEY, async (ciphertext, privateKey) => {
    worked.decrypted += 1
    return plaintexts.get(ciphertext) ?? decryptCiphertext(ciphertext, privateKey)
  })
  /** The login as each worker process has it: the workers share the store alone. */
  const openWorker = () => {
    const publish = (event: SessionEvent): void => void events.push(event)
    const run = createRunAttempt(log, publish)
    const providerSessions = createProviderSessions({ side, tickets: store.tickets, clock })
    const begin = createBegin({ side, accounts: verified, providerSessions, providers: [], jwt, log })
    const parts = {
      publish,
      run,
      begin,
      side,
      store,
      factors: createSecondFactors({
        type: 'BUSINESS',
        settings: { for: options.secondFactorFor ?? 'optional', issuer: 'dualgate' },
        key: Buffer.alloc(32, 7),
        disable: 300_000,
        accounts: verified,
        attempts: store.attempts,
        clock,
        log,
      }),
      policy: createPasswordPolicy({ min_length: 10, classes: 0, common: 'allow' }),
      keys: null,
      maxPasswordAge: options.maxPasswordAge ?? 'off',
      clock,
      captcha,
      accounts: verified,
      sm2,
      lockout: createLockout({
        side,
        attempts: store.attempts,
        settings: { ...settings, ...options.lockout },
        clock,
      }),
      rateLimit: createRateLimit('BUSINESS', store.attempts, options.rateLimit ?? 'off', clock),
      log,
    }
    return createLogin({ ...parts, steps: createSteps(parts) })
  }
  const login = openWorker()
  publicKey ??= encryption.precomputePublicKey(login.publicKey)
  const key = publicKey

  /** SM2 of a password, as clients send it. */
  function encrypt(password: string): string {
    const ciphertext = encryption.doEncrypt(password, key, 1)
    plaintexts.set(ciphertext, password)
    return ciphertext
  }

  /** A request with a fresh captcha and its answer. */
  async function credentials(
    username: string,
    password: string,
    rest: Partial<Credentials> = {},
  ): Promise<Credentials> {
    // The picture of this fixture is the text itself.
    const { captcha_id, captcha_base64 } = await captcha.issue('192.0.2.1')
    const ciphertext = encrypt(password)
    const filled = { captcha_id, captcha_value: captcha_base64, username, password: ciphertext }
    return { ...filled, address: '192.0.2.1', userAgent: 'curl/8.5.0', trace_id: 'a'.repeat(32), ...rest }
  }

  return {
    login,
    openWorker,
    side,
    store,
    captcha,
    time,
    events,
    lines,
    worked,
    faults,
    credentials,
    encrypt,
    attempt: async (username: string, password: string, rest: Partial<Credentials> = {}) =>
      reasonOf(login.login(await credentials(username, password, rest))),
    async close() {
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** `granted`, or the reason of the refusal; what else goes wrong is thrown. */
export async function reasonOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'granted'
  } catch (fault) {
    if (fault instanceof Refusal) return fault.reason
    throw fault
  }
}

/** The refusal that work ends in. */
export async function refusalOf(work: Promise<unknown>): Promise<Refusal> {
  try {
    await work
  } catch (fault) {
    if (fault instanceof Refusal) return fault
    throw fault
  }
  throw new Error('it was not refused')
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

const signer: Signer = {
  sign(claims) {
    const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`
    return `${signed}.${createHmac('sha256', 'k'.repeat(32)).update(signed).digest('base64url')}`
  },
  verify: token => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()),
  isSigned: () => true,
}

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import bcrypt from 'bcrypt'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import { createLog } from '../../src/base/log/log.ts'
import { Unavailable } from '../../src/base/refusal.ts'
import { createTimestampFormat } from '../../src/base/timestamp.ts'
import { createGateway, type Gateway } from '../../src/gateway/gateway.ts'
import type { LoginType } from '../../src/session/sides.ts'
import { loadSettings } from '../../src/settings/load.ts'
import type { Settings } from '../../src/settings/schema/settings.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { type Answer, type Call, call } from './client.ts'
import { createClockAhead } from './clock.ts'
import { encrypt, hashAtLowestCost, loginWork } from './login-work.ts'
import { type RedisServer, redisAvailable, startRedis, withoutRedis } from './redis-server.ts'
import { expectSecrecy } from './secrecy.ts'
import { until } from './until.ts'
import { type Recorder, startUpstream } from './upstream.ts'

export type StoreKind = 'embedded' | 'redis'

export interface FixtureOptions {
  profile?: 1 | 2
  store?: StoreKind
  /** Whether Redis is away when the gateway starts. */
  redisDown?: boolean
  /** Merged over the configuration file, section by section. */
  config?: Record<string, any>
  environment?: Record<string, string>
  /** Accounts beside that of `ADMIN`, with its fields where they name no others. */
  accounts?: Record<string, unknown>[]
  /** Entries beside the recording upstream, which has `/api`. */
  upstreams?: Record<string, any>[]
}

/** A running gateway as operators start it, from a configuration file, with a recording upstream behind it. */
export interface Fixture {
  profile: 1 | 2
  kind: StoreKind
  settings: Settings
  gateway: Gateway
  /** Base URLs of the public and the internal listener. */
  url: string
  internal: string
  upstream: Recorder
  /** A second opening of the gateway's store, as another program would have. */
  store: Store
  redis: RedisServer | null
  /** Everything that was logged, one JSON text per line. */
  log: string[]
  /** What else must not be logged, by what it is. */
  secrets: Record<string, string>
  folder: string
  get(path: string, token?: string): Promise<Answer>
  post(path: string, body?: unknown, token?: string): Promise<Answer>
  call(options: Call): Promise<Answer>
  /** One operation through the internal listener. */
  operate(side: 'business' | 'consumer', operation: string, body?: unknown): Promise<any>
  /** A captcha and its answer. */
  captcha(section?: 'b' | 'c'): Promise<{ id: string; answer: string }>
  /** The body of a login request that would succeed: a fresh captcha and the encrypted password. */
  credentials(username?: string, password?: string): Promise<Record<string, string>>
  /** A B-side token by the whole login. */
  signIn(username?: string, password?: string): Promise<string>
  /** Ends everything; throws when the log has told a secret. */
  close(): Promise<void>
  /** The time of the gateway. */
  now(): number
  /** Lets so many milliseconds pass for every expiry, without waiting. */
  elapse(ms: number): Promise<void>
  /** Sets the gateway's clock back by so many milliseconds. */
  setBack(ms: number): void
}

/** ARGV[1] milliseconds: brings the end of every key nearer. */
const BRING_ENDS_NEARER = `
for _, key in ipairs(redis.call('KEYS', '*')) do
  local left = redis.call('PTTL', key)
  if left >= 0 then redis.call('PEXPIRE', key, left - ARGV[1]) end
end`

export const ADMIN = { username: 'admin', password: 'correct horse 1' }
/** At the lowest cost, so that tests are quick. */
const ADMIN_HASH = bcrypt.hashSync(ADMIN.password, 4)

/** A fixture that ends with its test. */
export async function openFixture(
  t: { teardown(end: () => Promise<void>): void },
  options?: FixtureOptions,
): Promise<Fixture> {
  const fixture = await startFixture(options)
  t.teardown(() => fixture.close())
  return fixture
}

export async function startFixture(options: FixtureOptions = {}): Promise<Fixture> {
  const { profile = 1, store: kind = 'embedded', config = {}, environment = {} } = options
  const clock = createClockAhead()
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-'))
  const redis = kind === 'redis' ? await startRedis() : null
  if (options.redisDown) await redis?.kill()
  const upstream = await startUpstream()
  const file = join(folder, 'gateway.yaml')
  const written = {
    profile,
    listen: { host: '127.0.0.1', port: 0 },
    internal: { port: 0 },
    data: join(folder, 'data'),
    // A busy machine may take longer than the shipped second.
    store: { timeout: '60s', ...(redis !== null && { kind: 'redis', redis: { url: redis.url } }) },
    upstreams: [...(options.upstreams ?? []), { name: 'recorder', match: '/api', target: upstream.url }],
    ...config,
    login: { rate_limit: 'off', ...config.login },
  }
  writeFileSync(file, stringify(written))
  writeFileSync(join(folder, 'permissions.yaml'), stringify({ roles: { operator: ['sys:session:page'] } }))
  const { username } = ADMIN
  const account = {
    id: '1',
    username,
    password: ADMIN_HASH,
    nickname: 'Admin',
    status: 'ACTIVE',
    roles: ['SUPER_ADMIN'],
  }
  writeFileSync(
    join(folder, 'accounts.yaml'),
    stringify({ accounts: [account, ...(options.accounts ?? []).map(one => ({ ...account, roles: [], ...one }))] }),
  )
  const settings = await settingsOr(
    () => loadSettings(file, environment, folder),
    async () => {
      await upstream.close()
      await redis?.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  )
  const log: string[] = []
  const logger = createLog('trace', { write: line => void log.push(line) })
  hashAtLowestCost()
  const gateway = await createGateway(settings, { log: logger, clock, helpers: loginWork })
  const { public: url, internal } = await gateway.listen()
  const store = await openStore(settings.store, settings.data, clock, logger, undefined, false, {
    timestamps: createTimestampFormat(settings.timezone),
    captchaKey: settings.login.captcha.key,
  })
  // A gateway starts, and its store opens, before Redis is connected.
  if (redis !== null && options.redisDown !== true) await untilConnected(internal, store)

  const fixture: Fixture = {
    profile,
    kind,
    settings,
    gateway,
    url,
    internal,
    upstream,
    store,
    redis,
    log,
    secrets: {
      'the key of the tokens': settings.jwt.secret_key,
      'the internal secret': settings.internal.secret,
      'the SM2 key': settings.login.sm2.private_key,
      'a password': ADMIN.password,
    },
    folder,
    call: options => call(url, options),
    get: (path, token) => call(url, { path, ...(token !== undefined && { token }) }),
    post: (path, body, token) => call(url, { method: 'POST', path, body, ...(token !== undefined && { token }) }),
    operate: async (side, operation, body = {}) =>
      (
        await call(internal, {
          method: 'POST',
          path: `/operations/v1/${side}/${operation}`,
          token: settings.internal.secret,
          body,
        })
      ).json(),
    async captcha(section = 'b') {
      const { captcha_id } = (await fixture.get(`/api/v1/public/${section}/captcha`)).json().data
      const type: LoginType = section === 'b' ? 'BUSINESS' : 'CONSUMER'
      const answer = await store.captchas.take(type, captcha_id)
      if (answer === null) throw new Error('the captcha is not in the store')
      await store.captchas.put(type, captcha_id, answer, clock.now() + 60_000)
      return { id: captcha_id, answer }
    },
    async credentials(username = ADMIN.username, password = ADMIN.password) {
      const { id, answer } = await fixture.captcha()
      const publicKey = (await fixture.get(sm2KeyPath(profile))).json().data
      return {
        captcha_id: id,
        captcha_value: answer,
        username,
        password: encrypt(password, publicKey),
      }
    },
    async signIn(username, password) {
      const answer = (
        await fixture.post('/api/v1/public/b/login', await fixture.credentials(username, password))
      ).json()
      if (answer.success !== true) throw new Error(`login failed: ${JSON.stringify(answer)}`)
      return answer.data.token
    },
    now: () => clock.now(),
    async elapse(ms) {
      // Redis has a clock of its own.
      if (redis === null) clock.ahead += ms
      else await redis.cli('EVAL', BRING_ENDS_NEARER, '0', String(ms))
    },
    setBack(ms) {
      clock.setBack += ms
    },
    async close() {
      await gateway.close()
      await store.close()
      await upstream.close()
      await redis?.stop()
      rmSync(folder, { recursive: true, force: true })
      expectSecrecy(log, fixture.secrets)
    },
  }
  return fixture
}

/** Settings, or their faults, after what would keep the process alive has ended. */
async function settingsOr(load: () => Settings, end: () => Promise<void>): Promise<Settings> {
  try {
    return load()
  } catch (fault) {
    await end()
    throw fault
  }
}

/** Resolves when a gateway and another opening of its store are connected to it. */
export async function untilConnected(internal: string, store: Store): Promise<void> {
  await until(async () => (await call(internal, { path: '/readyz' })).status === 200)
  await until(() => store.attempts.read('none').then(() => true, notConnected))
}

function notConnected(fault: unknown): false {
  if (fault instanceof Unavailable) return false
  throw fault
}

export const sm2KeyPath = (profile: 1 | 2): string =>
  profile === 1 ? '/api/v1/public/b/sm2/public-key' : '/api/v1/public/b/sm2-public-key'

/** A login id that no other test uses. */
export const someone = (): string => `u${randomBytes(6).toString('hex')}`

type Suite = (t: Test, fixture: Fixture) => Promise<void>
type Pair = readonly [profile: 1 | 2, store: 'embedded' | 'redis']

/** Runs a suite with every store, in either profile. Without a Redis both profiles use the embedded store, and the test says so. */
export function withEveryStore(t: Test, suite: Suite, options: FixtureOptions = {}): void {
  const pairs: Pair[] = [
    [1, 'redis'],
    [2, 'embedded'],
  ]
  for (const pair of redisAvailable() ? pairs : [...pairs, [1, 'embedded'] as const]) withPair(t, suite, options, pair)
}

/** Runs a suite with every store in every profile: what a profile writes and a store keeps. */
export function withEveryPair(t: Test, suite: Suite, options: FixtureOptions = {}): void {
  for (const profile of [1, 2] as const)
    for (const store of ['embedded', 'redis'] as const) withPair(t, suite, options, [profile, store])
}

function withPair(t: Test, suite: Suite, options: FixtureOptions, [profile, store]: Pair): void {
  const skip = store === 'redis' && withoutRedis
  t.test(`profile ${profile}, ${store} store`, { skip }, async t => {
    const fixture = await openFixture(t, { ...options, profile, store })
    await suite(t, fixture)
  })
}

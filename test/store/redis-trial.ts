import { inspect } from 'node:util'
import { pino } from 'pino'
import type { Test } from 'tap'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { within } from '../../src/base/deadline.ts'
import { Unavailable } from '../../src/base/refusal.ts'
import type { Settings } from '../../src/settings/schema/settings.ts'
import { openRedisStore, type RedisStore } from '../../src/store/redis/redis.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { PATIENCE, until } from '../support/until.ts'
import { freshToken, LONG, MINUTE, record } from './contract-fixture.ts'

/** `store.timeout` of tests in which Redis does not answer, in milliseconds. In others a busy machine must not end it. */
export const TIMEOUT = 500
/** An answer that takes longer than this waits for something it must not wait for; a busy machine alone does not. */
const HANGS = TIMEOUT + 30_000

/** All that was logged and thrown. */
export const reported: string[] = []
const log = pino({ level: 'trace' }, { write: line => void reported.push(line) })

export function open(
  redis: NonNullable<Settings['store']['redis']>,
  timeout = TIMEOUT,
  clock: Clock = systemClock,
): Promise<RedisStore> {
  return openRedisStore({ kind: 'redis', prefix: 'svc:auth', timeout, redis }, clock, log)
}

/** The same, once Redis answers: a store opens without it, and a busy machine connects later. */
export async function openConnected(
  redis: NonNullable<Settings['store']['redis']>,
  timeout = TIMEOUT,
  clock: Clock = systemClock,
): Promise<RedisStore> {
  const store = await open(redis, timeout, clock)
  await until(() => outcomeOf(() => store.ping().then(() => true)).then(outcome => outcome !== UNAVAILABLE))
  return store
}

/** A server and a store on it with one session, both gone when the test ends. Of a test whose Redis always answers: `PATIENCE`. */
export async function fixture(
  t: Test,
  timeout = TIMEOUT,
): Promise<{ server: RedisServer; store: RedisStore; token: string }> {
  const server = await startRedis()
  const store = await openConnected({ url: server.url }, timeout)
  t.teardown(async () => {
    server.resume()
    await store.close()
    await server.stop()
  })
  return { server, store, token: await recovered(t, () => login(store)) }
}

export async function login(store: RedisStore): Promise<string> {
  const token = freshToken()
  const admission = await store.sessions.add('BUSINESS', token, record('BUSINESS', '1'), systemClock.now() + LONG)
  if (!admission.admitted) throw new Error('the login was refused')
  return token
}

export const UNAVAILABLE = 'unavailable'

/** What a verb answers, or that it does not; anything else that it throws is a fault of the store. */
export async function outcomeOf<T>(ask: () => T | Promise<T>): Promise<T | typeof UNAVAILABLE> {
  try {
    // A stall of this process is not a fault of the store.
    return await within(HANGS, Promise.resolve(ask()), () => {
      throw new Error('an answer hangs')
    })
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    reported.push(inspect(error, { depth: 10, showHidden: true }))
    return UNAVAILABLE
  }
}

/** Every verb of the store, with a user and a token of its own. */
export function verbsOf(store: RedisStore, token: string): Record<string, () => unknown> {
  const { sessions, captchas, tickets, attempts } = store
  const until = systemClock.now() + MINUTE
  return {
    find: () => sessions.find('BUSINESS', token),
    add: () => sessions.add('BUSINESS', freshToken(), record('BUSINESS', '1'), until),
    remove: () => sessions.remove('BUSINESS', '1', token),
    removeAll: () => sessions.removeAll('BUSINESS', '1'),
    renew: () => sessions.renew('BUSINESS', '1', token, until),
    replaceRecord: () => sessions.replaceRecord('BUSINESS', '1', token, extra => extra),
    tokens: () => sessions.tokens('BUSINESS', '1'),
    tokenExpiresAt: () => sessions.tokenExpiresAt('BUSINESS', token),
    sessionExpiresAt: () => sessions.sessionExpiresAt('BUSINESS', '1'),
    disable: () => sessions.disable('BUSINESS', '2', until),
    disabledUntil: () => sessions.disabledUntil('BUSINESS', '2'),
    rememberedDisable: () => sessions.rememberedDisable('BUSINESS', '2'),
    untieDisable: () => sessions.untieDisable('BUSINESS', '2'),
    put: () => captchas.put('BUSINESS', 'c', 'abcd', until),
    take: () => captchas.take('BUSINESS', 'c'),
    putTicket: () => tickets.put('BUSINESS', 'k', 'text', until),
    readTicket: () => tickets.read('BUSINESS', 'k'),
    takeTicket: () => tickets.take('BUSINESS', 'k'),
    count: () => attempts.count('a', MINUTE),
    read: () => attempts.read('a'),
    ping: () => store.ping(),
  }
}

export async function allUnavailable(t: Test, store: RedisStore, token: string, when: string): Promise<void> {
  for (const [verb, ask] of Object.entries(verbsOf(store, token))) {
    t.equal(await outcomeOf(ask), UNAVAILABLE, `${verb} ${when}`)
  }
}

/** Asks until there is an answer, which is the first one; says how long it took after the end of the fault. */
export async function recovered<T>(t: Test, ask: () => T | Promise<T>): Promise<T> {
  const started = performance.now()
  for (;;) {
    const outcome = await outcomeOf(ask)
    const took = performance.now() - started
    if (outcome !== UNAVAILABLE) {
      t.comment(`recovered after ${Math.round(took)} ms`)
      return outcome
    }
    if (took > PATIENCE) throw new Error('it did not recover')
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

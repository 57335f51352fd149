import type { Test } from 'tap'
import type { Clock } from '../../src/base/clock.ts'
import { Refusal } from '../../src/base/refusal.ts'
import type { Store } from '../../src/store/store.ts'
import { attemptLaw } from './contract-attempts.ts'
import { captchaLaw } from './contract-captchas.ts'
import { changesLaw } from './contract-changes.ts'
import { credential, credentialLaw } from './contract-credentials.ts'
import { disableLaw } from './contract-disable.ts'
import { endedLaw } from './contract-ended.ts'
import { factorLaw } from './contract-factors.ts'
import { login, MINUTE } from './contract-fixture.ts'
import { journalLaw } from './contract-journal.ts'
import { manyLaw } from './contract-many.ts'
import { modelLaw } from './contract-model.ts'
import { onlineLaw } from './contract-online.ts'
import { onlineModelLaw } from './contract-online-model.ts'
import { sessionLaw } from './contract-sessions.ts'
import { ticketLaw } from './contract-tickets.ts'

/** A store under test, and how its time is moved. */
export interface StoreUnderTest {
  store: Store
  clock: Clock
  /**
   * The present of the logins of a test, where `clock` goes on by itself; `null` where it stands still. Records name whole
   * seconds: if a second ended between two logins, the later one would be as new as one that is to be a second newer.
   */
  began: number | null
  /** Moves the store `ms` milliseconds nearer to every expiry. */
  fastForward(ms: number): Promise<void>
  /** Does at once what the store does now and then: removing what has ended. Absent where nothing is left to do. */
  sweep?(): Promise<unknown>
  /** Whether the store announces changes. */
  announces: boolean
  /** Has the store lose announcements of changes. Absent where it cannot lose any. */
  loseChanges?(): Promise<void>
  /** Ends the store and what was started for it; harmless when the store was closed before. */
  close(): Promise<void>
}

/** Begins a test with an empty store that is closed when the test ends. */
export type StoreTest = (statement: string, body: (t: Test, fixture: StoreUnderTest) => Promise<void>) => Promise<void>

/** The law of src/store/store.ts, sentence by sentence, for every store alike. `open` answers an empty store each time. */
export async function storeContract(t: Test, name: string, open: () => Promise<StoreUnderTest>): Promise<void> {
  const test: StoreTest = async (statement, body) => {
    await t.test(`${name}: ${statement}`, async t => {
      const fixture = await open()
      t.teardown(() => fixture.close())
      await body(t, fixture)
    })
  }
  await sessionLaw(test)
  await endedLaw(test)
  await disableLaw(test)
  await captchaLaw(test)
  await ticketLaw(test)
  await attemptLaw(test)
  await credentialLaw(test)
  await factorLaw(test)
  await journalLaw(test)
  await modelLaw(test)
  await onlineLaw(test)
  await onlineModelLaw(test)
  await manyLaw(test)
  await changesLaw(test)
  await storeLaw(test)
}

async function storeLaw(test: StoreTest): Promise<void> {
  await test('a store that is set up well answers a ping and warns in words, if at all', async (t, { store }) => {
    await store.ping()
    for (const warning of await store.warnings()) t.match(warning, /\w+ \w+/)
  })

  await test('what a store counts of the sessions that it remembers only grows', async (t, fixture) => {
    const { sessions } = fixture.store
    const before = fixture.store.counts().caches
    const tokens = await Promise.all(Array.from({ length: 3 }, () => login(fixture, 'CONSUMER', '1', MINUTE)))
    for (const token of [...tokens, ...tokens]) t.match(await sessions.find('CONSUMER', token), { user_id: '1' })
    await sessions.removeAll('CONSUMER', '1')
    const { CONSUMER: counted } = fixture.store.counts().caches
    if (counted === undefined) {
      t.same(before, {}, 'it remembers none')
      return
    }
    const lookUps = counted.hits + counted.misses - before.CONSUMER!.hits - before.CONSUMER!.misses
    t.ok(lookUps >= 6, `${lookUps} look-ups`)
    t.ok(counted.evictions >= before.CONSUMER!.evictions)
    t.ok(counted.entries >= 0)
  })

  await test('a closed store is unavailable, which is not the same as "not logged in"', async (t, fixture) => {
    const { store } = fixture
    await store.close()
    const { sessions, credentials, factors, online, captchas, tickets, attempts, journal } = store
    const made = credential(fixture)
    const verbs: Record<string, () => unknown> = {
      find: () => sessions.find('BUSINESS', 'a.b.c'),
      tokens: () => sessions.tokens('BUSINESS', '1'),
      remove: () => sessions.remove('BUSINESS', '1', 'a.b.c'),
      removeAll: () => sessions.removeAll('BUSINESS', '1'),
      replaceRecord: () => sessions.replaceRecord('BUSINESS', '1', 'a.b.c', extra => extra),
      removeOthers: () => sessions.removeOthers('BUSINESS', '1', 'a.b.c'),
      whyEnded: () => sessions.whyEnded('BUSINESS', 'a.b.c'),
      disabledUntil: () => sessions.disabledUntil('BUSINESS', '1'),
      rememberedDisable: () => sessions.rememberedDisable('BUSINESS', '1'),
      addCredential: () => credentials.add('BUSINESS', made, 1),
      findCredential: () => credentials.find('BUSINESS', '1'),
      credentialsOf: () => credentials.of('BUSINESS', '1'),
      pageOfCredentials: () => credentials.page('BUSINESS', 0, 1),
      succeedCredential: () => credentials.succeed('BUSINESS', '1', '1', made, 0),
      rewriteCredential: () => credentials.rewrite('BUSINESS', '1', 'from', 'to'),
      removeCredential: () => credentials.remove('BUSINESS', '1', '1'),
      removeCredentials: () => credentials.removeAll('BUSINESS', '1'),
      useCredential: () => credentials.used('BUSINESS', '1', 0),
      readFactor: () => factors.read('BUSINESS', '1'),
      replaceFactor: () => factors.replace('BUSINESS', '1', null, 'text'),
      page: () => online.page('BUSINESS', { offset: 0, limit: 10 }),
      tally: () => online.tally('BUSINESS'),
      loginsSince: () => online.loginsSince('BUSINESS', 0),
      take: () => captchas.take('BUSINESS', '1'),
      readTicket: () => tickets.read('BUSINESS', '1'),
      takeTicket: () => tickets.take('BUSINESS', '1'),
      count: () => attempts.count('1', 1000),
      append: () => journal.append([{ id: 'a', event: 'login', type: 'BUSINESS', login_id: '1' }], 0),
      journalPage: () => journal.page({ size: 1 }),
      trim: () => journal.trim(0, 1, 'trail'),
      ping: () => store.ping(),
    }
    for (const [verb, ask] of Object.entries(verbs)) {
      t.equal(await refusalOf(ask), 'UNAVAILABLE', verb)
    }
  })

  await test('closing twice equals closing once', async (_t, { store }) => {
    await store.close()
    await store.close()
  })
}

/** The reason of the refusal that a verb ends in, at once or later; `null` when it answers. */
async function refusalOf(ask: () => unknown): Promise<string | null> {
  try {
    await ask()
    return null
  } catch (error) {
    if (error instanceof Refusal) return error.reason
    throw error
  }
}

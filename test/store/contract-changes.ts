import type { ChangeListener } from '../../src/store/changes.ts'
import type { Store } from '../../src/store/store.ts'
import type { StoreTest, StoreUnderTest } from './contract.ts'
import { added, credential } from './contract-credentials.ts'
import { freshToken, login, MINUTE, record } from './contract-fixture.ts'

/** More changes than a store keeps for a listener that does not poll. */
const VERY_MANY = 1100
const ANYTHING = 'anything'

const pause = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 2))

/** Listens to a store and polls it, as a watch of sessions does. */
class Recorder implements ChangeListener {
  /** What it was notified of, in this order. */
  readonly notified: string[] = []
  /** Answers of `poll` that said that changes may have been missed. */
  missed = 0
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
    store.changes.notify(this)
  }

  session(type: string, token: string): void {
    this.notified.push(`session ${type} ${token}`)
  }

  disabled(type: string, userId: string): void {
    this.notified.push(`disabled ${type} ${userId}`)
  }

  credential(type: string, id: string): void {
    this.notified.push(`credential ${type} ${id}`)
  }

  anything(): void {
    this.notified.push(ANYTHING)
  }

  poll(): boolean {
    const isComplete = this.#store.changes.poll()
    if (!isComplete) this.missed++
    return isComplete
  }

  /** Polls until a condition holds. */
  async until(condition: () => boolean): Promise<void> {
    for (;;) {
      this.poll()
      if (condition()) return
      await pause()
    }
  }

  /** Polls until the store announces everything; forgets what was notified before. */
  async start(): Promise<void> {
    while (!this.poll()) await pause()
    this.missed = 0
    this.notified.length = 0
  }

  /** What it has been notified of since the last time, once a change that is made now has arrived. */
  async take(fixture: StoreUnderTest): Promise<string[]> {
    this.poll()
    const marker = await login(fixture, 'CONSUMER', 'marker', MINUTE)
    const last = `session CONSUMER ${marker}`
    await this.until(() => this.notified.includes(last))
    return this.notified.splice(0).filter(notice => notice !== last)
  }
}

async function listening(fixture: StoreUnderTest): Promise<Recorder> {
  const recorder = new Recorder(fixture.store)
  await recorder.start()
  return recorder
}

/** The law of src/store/changes.ts. */
export async function changesLaw(test: StoreTest): Promise<void> {
  await test('a store that announces no changes says that they may have been missed', async (t, fixture) => {
    if (fixture.announces) return
    const recorder = new Recorder(fixture.store)
    await login(fixture, 'CONSUMER', '1', MINUTE)
    for (let i = 0; i < 20; i++, await pause()) t.equal(recorder.poll(), false)
    t.same(recorder.notified, [])
  })

  const announced: StoreTest = (statement, body) =>
    test(statement, async (t, fixture) => {
      if (fixture.announces) await body(t, fixture)
    })
  await sessionChanges(announced)
  await disableChanges(announced)
  await credentialChanges(announced)
  await listenerChanges(announced)
  await lostChanges(announced)
}

async function sessionChanges(test: StoreTest): Promise<void> {
  await test('a listener is notified of a session that is stored, renewed, rewritten and ended', async (t, fixture) => {
    const { sessions } = fixture.store
    const recorder = await listening(fixture)
    for (const type of ['BUSINESS', 'CONSUMER'] as const) {
      const token = await login(fixture, type, '1', MINUTE)
      t.same(await recorder.take(fixture), [`session ${type} ${token}`], 'stored')
      t.ok(await sessions.renew(type, '1', token, fixture.clock.now() + 10 * MINUTE))
      t.same(new Set(await recorder.take(fixture)), new Set([`session ${type} ${token}`]), 'renewed')
      t.ok(await sessions.replaceRecord(type, '1', token, () => ({ version: 'two' })))
      t.same(new Set(await recorder.take(fixture)), new Set([`session ${type} ${token}`]), 'rewritten')
      t.ok(await sessions.remove(type, '1', token))
      t.same(new Set(await recorder.take(fixture)), new Set([`session ${type} ${token}`]), 'ended')
    }
  })

  await test('a listener is notified of each session that a kickout ends', async (t, fixture) => {
    const tokens = await Promise.all(Array.from({ length: 5 }, () => login(fixture, 'CONSUMER', '1', MINUTE)))
    const other = await login(fixture, 'CONSUMER', '2', MINUTE)
    const recorder = await listening(fixture)
    await recorder.take(fixture)
    const some = tokens.slice(0, 2)
    t.same((await fixture.store.sessions.removeSome('CONSUMER', '1', [...some, other])).toSorted(), some.toSorted())
    t.same(
      new Set(await recorder.take(fixture)),
      new Set(some.map(token => `session CONSUMER ${token}`)),
      'of some sessions',
    )
    t.equal(await fixture.store.sessions.removeAll('CONSUMER', '1'), 3)
    t.same(
      new Set(await recorder.take(fixture)),
      new Set(tokens.slice(2).map(token => `session CONSUMER ${token}`)),
      'of all',
    )
  })

  await test('a listener is not notified of what changed nothing', async (t, fixture) => {
    const { sessions } = fixture.store
    const token = await login(fixture, 'BUSINESS', '1', MINUTE)
    await sessions.disable('BUSINESS', '2', fixture.clock.now() + MINUTE)
    const recorder = await listening(fixture)
    await recorder.take(fixture)
    await sessions.find('BUSINESS', token)
    await sessions.find('BUSINESS', freshToken())
    await sessions.tokens('BUSINESS', '1')
    await sessions.overview('BUSINESS', '1')
    await sessions.tokenExpiresAt('BUSINESS', token)
    await sessions.disabledUntil('BUSINESS', '2')
    t.equal(await sessions.remove('BUSINESS', '2', token), false)
    t.equal(await sessions.renew('BUSINESS', '1', freshToken(), fixture.clock.now() + MINUTE), false)
    t.equal(await sessions.replaceRecord('BUSINESS', '1', freshToken(), extra => extra), false)
    t.equal(await sessions.untieDisable('BUSINESS', '1'), false)
    const admission = await sessions.add(
      'BUSINESS',
      freshToken(),
      record('BUSINESS', '2'),
      fixture.clock.now() + MINUTE,
    )
    t.equal(admission.admitted, false)
    t.same(await recorder.take(fixture), [])
  })
}

async function disableChanges(test: StoreTest): Promise<void> {
  await test('a listener is notified of a login id that is disabled, disabled anew and untied', async (t, fixture) => {
    const { sessions } = fixture.store
    const recorder = await listening(fixture)
    for (const type of ['BUSINESS', 'CONSUMER'] as const) {
      await sessions.disable(type, '1', fixture.clock.now() + MINUTE)
      t.same(await recorder.take(fixture), [`disabled ${type} 1`], 'disabled')
      await sessions.disable(type, '1', fixture.clock.now() + 2 * MINUTE)
      t.same(await recorder.take(fixture), [`disabled ${type} 1`], 'disabled anew')
      t.ok(await sessions.untieDisable(type, '1'))
      t.same(await recorder.take(fixture), [`disabled ${type} 1`], 'untied')
    }
  })
}

async function credentialChanges(test: StoreTest): Promise<void> {
  await test('a listener is notified of a credential that is stored, succeeded, rewritten and ended', async (t, fixture) => {
    const { credentials } = fixture.store
    const recorder = await listening(fixture)
    const until = fixture.clock.now() + MINUTE / 2
    for (const type of ['BUSINESS', 'CONSUMER'] as const) {
      const notified = async (ids: readonly string[], what: string): Promise<void> => {
        const expected = new Set(ids.map(id => `credential ${type} ${id}`))
        t.same(new Set(await recorder.take(fixture)), expected, what)
      }
      const first = await added(fixture, '1', MINUTE, type)
      await notified([first.id], 'stored')
      const next = credential(fixture)
      t.ok(await credentials.succeed(type, '1', first.id, next, until))
      await notified([first.id, next.id], 'succeeded')
      t.ok(await credentials.rewrite(type, next.id, 'text', 'new'))
      await notified([next.id], 'rewritten')
      t.ok(await credentials.remove(type, '1', next.id))
      await notified([next.id], 'ended')
      const last = await added(fixture, '1', MINUTE, type)
      await recorder.take(fixture)
      t.equal((await credentials.removeAll(type, '1')).length, 2)
      await notified([first.id, last.id], 'ended with all others')
    }
  })

  await test('a listener is not notified of credentials that are found, listed and used', async (t, fixture) => {
    const { credentials } = fixture.store
    const { id } = await added(fixture)
    const recorder = await listening(fixture)
    await recorder.take(fixture)
    await credentials.find('BUSINESS', id)
    await credentials.of('BUSINESS', '1')
    await credentials.page('BUSINESS', 0, 10)
    await credentials.used('BUSINESS', id, fixture.clock.now())
    t.equal(await credentials.remove('BUSINESS', '2', id), false)
    t.equal(await credentials.rewrite('BUSINESS', id, 'another', 'new'), false)
    t.equal(await credentials.succeed('BUSINESS', '2', id, credential(fixture, '2'), 0), false)
    t.same(await recorder.take(fixture), [])
  })
}

async function listenerChanges(test: StoreTest): Promise<void> {
  await test('a new listener takes the place of the one before, and none ends it', async (t, fixture) => {
    const first = await listening(fixture)
    const second = await listening(fixture)
    const token = await login(fixture, 'CONSUMER', '1', MINUTE)
    t.same(await second.take(fixture), [`session CONSUMER ${token}`])
    t.same(first.notified, [])
    fixture.store.changes.notify(null)
    await fixture.store.sessions.remove('CONSUMER', '1', token)
    const third = await listening(fixture)
    await third.take(fixture)
    t.same([first.notified, second.notified], [[], []])
  })

  await test('a closed store does not say that its listener knows everything', async (t, fixture) => {
    await listening(fixture)
    await fixture.store.close()
    let isComplete = false
    try {
      isComplete = fixture.store.changes.poll()
    } catch (fault) {
      t.match(fault, { reason: 'UNAVAILABLE' })
    }
    t.equal(isComplete, false)
  })
}

async function lostChanges(test: StoreTest): Promise<void> {
  await test('a listener that polls late is notified of every change, or that anything changed', async (t, fixture) => {
    const recorder = await listening(fixture)
    const tokens: string[] = []
    while (tokens.length < VERY_MANY) {
      const some = Array.from({ length: 100 }, (_, i) => login(fixture, 'CONSUMER', `u${i}`, MINUTE))
      tokens.push(...(await Promise.all(some)))
    }
    const notified = new Set(await recorder.take(fixture))
    const missing = tokens.filter(token => !notified.has(`session CONSUMER ${token}`))
    t.ok(notified.has(ANYTHING) || missing.length === 0, `${missing.length} are missing`)
    const token = await login(fixture, 'CONSUMER', '1', MINUTE)
    t.same(await recorder.take(fixture), [`session CONSUMER ${token}`], 'and later changes are announced one by one')
  })

  await test('a listener learns that changes were lost', async (t, fixture) => {
    if (fixture.loseChanges === undefined) return
    const token = await login(fixture, 'CONSUMER', '1', MINUTE)
    const recorder = await listening(fixture)
    await fixture.loseChanges()
    await fixture.store.sessions.remove('CONSUMER', '1', token)
    await recorder.until(() => recorder.missed > 0 || recorder.notified.includes(ANYTHING))
    await recorder.start()
    const next = await login(fixture, 'CONSUMER', '1', MINUTE)
    t.same(await recorder.take(fixture), [`session CONSUMER ${next}`], 'and is notified again afterwards')
  })
}

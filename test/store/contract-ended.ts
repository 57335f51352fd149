import type { EndReason } from '../../src/session/end-reason.ts'
import type { StoreTest, StoreUnderTest } from './contract.ts'
import { freshToken, isLive, login, MINUTE, record, SLACK, tokensOf } from './contract-fixture.ts'

/** A note that is kept for ten minutes. */
const note = ({ clock }: StoreUnderTest, reason: EndReason) => ({ reason, until: clock.now() + 10 * MINUTE })

export async function endedLaw(test: StoreTest): Promise<void> {
  await noteLaw(test)
  await othersLaw(test)
}

async function noteLaw(test: StoreTest): Promise<void> {
  await test('every verb that ends tokens keeps why it did, for these tokens alone', async (t, fixture) => {
    const { sessions } = fixture.store
    const [removed, some, kept] = [
      await login(fixture, 'BUSINESS', '1', MINUTE),
      await login(fixture, 'BUSINESS', '1', MINUTE),
      await login(fixture, 'BUSINESS', '1', MINUTE),
    ]
    await sessions.remove('BUSINESS', '1', removed, note(fixture, 'logged-out'))
    t.same(await sessions.removeSome('BUSINESS', '1', [some, removed], note(fixture, 'replaced')), [some])
    t.equal(await sessions.whyEnded('BUSINESS', removed), 'logged-out', 'another verb came later and ended nothing')
    t.equal(await sessions.whyEnded('BUSINESS', some), 'replaced')
    t.equal(await sessions.whyEnded('BUSINESS', kept), null, 'a live token')
    t.equal(await sessions.removeAll('BUSINESS', '1', note(fixture, 'kicked-out')), 1)
    t.equal(await sessions.whyEnded('BUSINESS', kept), 'kicked-out')
    t.equal(await sessions.whyEnded('BUSINESS', freshToken()), null, 'a token that never lived')
    t.equal(await sessions.whyEnded('CONSUMER', kept), null, 'the other side')
  })

  await test('the reason is known when the end is acknowledged', async (t, fixture) => {
    const { sessions } = fixture.store
    for (let i = 0; i < 50; i++) {
      const token = await login(fixture, 'CONSUMER', '1', MINUTE)
      await sessions.removeAll('CONSUMER', '1', note(fixture, 'account-changed'))
      if ((await sessions.whyEnded('CONSUMER', token)) !== 'account-changed') t.fail(`round ${i}`)
    }
  })

  await test('of several ends at once, the one that ended the token names the reason', async (t, fixture) => {
    const { sessions } = fixture.store
    const reasons = ['logged-out', 'replaced', 'kicked-out'] as const
    for (let i = 0; i < 30; i++) {
      const token = await login(fixture, 'BUSINESS', '1', MINUTE)
      const ended = await Promise.all(
        reasons.map(reason => sessions.remove('BUSINESS', '1', token, note(fixture, reason))),
      )
      t.equal(await sessions.whyEnded('BUSINESS', token), reasons[ended.indexOf(true)])
    }
  })

  await test('nothing is kept of a token that expired, of another user, or that ended without a note', async (t, fixture) => {
    const { sessions } = fixture.store
    const expired = await login(fixture, 'BUSINESS', '1', MINUTE)
    const foreign = await login(fixture, 'BUSINESS', '2', 10 * MINUTE)
    const unnoted = await login(fixture, 'BUSINESS', '3', 10 * MINUTE)
    await fixture.fastForward(MINUTE + SLACK)
    t.equal(await sessions.removeAll('BUSINESS', '1', note(fixture, 'kicked-out')), 0)
    t.equal(await sessions.remove('BUSINESS', '1', expired, note(fixture, 'kicked-out')), false)
    t.equal(await sessions.remove('BUSINESS', '1', foreign, note(fixture, 'kicked-out')), false)
    t.same(await sessions.removeSome('BUSINESS', '1', [expired, foreign], note(fixture, 'replaced')), [])
    await sessions.removeAll('BUSINESS', '3')
    await fixture.sweep?.()
    for (const token of [expired, foreign, unnoted]) t.equal(await sessions.whyEnded('BUSINESS', token), null)
    t.equal(await isLive(fixture, 'BUSINESS', foreign), true)
  })

  await test('a reason is kept as long as its note says, and no longer', async (t, fixture) => {
    const { sessions } = fixture.store
    const token = await login(fixture, 'BUSINESS', '1', MINUTE)
    await sessions.remove('BUSINESS', '1', token, note(fixture, 'replaced'))
    await fixture.fastForward(9 * MINUTE)
    t.equal(await sessions.whyEnded('BUSINESS', token), 'replaced', 'also after the token would have expired')
    await fixture.fastForward(MINUTE + SLACK)
    t.equal(await sessions.whyEnded('BUSINESS', token), null)
  })
}

async function othersLaw(test: StoreTest): Promise<void> {
  await test('all tokens of a user but one end at once, and other users and the other side keep theirs', async (t, fixture) => {
    const { sessions } = fixture.store
    const own = await Promise.all(Array.from({ length: 5 }, () => login(fixture, 'BUSINESS', '1', MINUTE)))
    const strangers = [await login(fixture, 'BUSINESS', '10', MINUTE), await login(fixture, 'CONSUMER', '1', MINUTE)]
    const spared = own[2]!
    t.equal(await sessions.removeOthers('BUSINESS', '1', spared, note(fixture, 'kicked-out')), 4)
    for (const token of own) {
      t.equal(await isLive(fixture, 'BUSINESS', token), token === spared)
      t.equal(await sessions.whyEnded('BUSINESS', token), token === spared ? null : 'kicked-out')
    }
    t.strictSame(await tokensOf(fixture, 'BUSINESS', '1'), [spared])
    t.equal(await sessions.removeOthers('BUSINESS', '1', spared), 0, 'twice equals once')
    t.equal(await isLive(fixture, 'BUSINESS', strangers[0]!), true)
    t.equal(await isLive(fixture, 'CONSUMER', strangers[1]!), true)
    t.equal(await sessions.removeOthers('BUSINESS', 'absent', spared), 0)
    t.equal(await sessions.removeAll('BUSINESS', '1'), 1, 'the spared one can be ended')
  })

  await test('the token that is spared may be any of very many', async (t, fixture) => {
    const { sessions } = fixture.store
    for (const [userId, place] of Object.entries({ first: 0, middle: 120, last: 239 })) {
      const own = await Promise.all(Array.from({ length: 240 }, () => login(fixture, 'CONSUMER', userId, MINUTE)))
      t.equal(await sessions.removeOthers('CONSUMER', userId, own[place]!), 239)
      t.strictSame(await tokensOf(fixture, 'CONSUMER', userId), [own[place]])
      t.equal(await isLive(fixture, 'CONSUMER', own[place]!), true)
    }
  })

  await test('a login that overlaps the end of all others is ended by it or can be ended, and the spared token lives', async (t, fixture) => {
    const { sessions } = fixture.store
    const spared = await login(fixture, 'BUSINESS', '1', 10 * MINUTE)
    const add = (token: string) =>
      sessions.add('BUSINESS', token, record('BUSINESS', '1'), fixture.clock.now() + 10 * MINUTE)
    for (let round = 0; round < 40; round++) {
      const [before, during] = [freshToken(), freshToken()]
      await add(before)
      await Promise.all([add(during), sessions.removeOthers('BUSINESS', '1', spared)])
      t.equal(await isLive(fixture, 'BUSINESS', spared), true, 'spared')
      t.equal(await isLive(fixture, 'BUSINESS', before), false, 'what was there before')
      const listed = new Set(await tokensOf(fixture, 'BUSINESS', '1'))
      t.equal(await isLive(fixture, 'BUSINESS', during), listed.has(during), 'a live token is in its set')
      t.equal(await sessions.removeOthers('BUSINESS', '1', spared), listed.size - 1)
    }
  })
}

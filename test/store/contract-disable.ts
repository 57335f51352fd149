import type { LoginType } from '../../src/session/sides.ts'
import type { StoreTest } from './contract.ts'
import { ahead, freshToken, isLive, login, MINUTE, record, SLACK, tokensOf } from './contract-fixture.ts'

export async function disableLaw(test: StoreTest): Promise<void> {
  await test('a login id is disabled until the given timestamp, on its side only', async (t, fixture) => {
    const { sessions } = fixture.store
    t.equal(await sessions.disabledUntil('BUSINESS', 'a'), null)
    for (let i = 0; i < 2; i++) await sessions.disable('BUSINESS', 'a', fixture.clock.now() + 10 * MINUTE)
    ahead(t, fixture, await sessions.disabledUntil('BUSINESS', 'a'), 10 * MINUTE, 'disabled')
    t.equal(await sessions.disabledUntil('CONSUMER', 'a'), null)
    t.equal(await sessions.disabledUntil('BUSINESS', 'a:b'), null)
    t.equal(await sessions.disabledUntil('BUSINESS', 'A'), null)
    await fixture.fastForward(10 * MINUTE + SLACK)
    t.equal(await sessions.disabledUntil('BUSINESS', 'a'), null)
  })

  await test('a later disable replaces the timestamp, also with an earlier one', async (t, fixture) => {
    const { sessions } = fixture.store
    for (const ms of [5 * MINUTE, 20 * MINUTE, MINUTE]) {
      await sessions.disable('BUSINESS', '1', fixture.clock.now() + ms)
      ahead(t, fixture, await sessions.disabledUntil('BUSINESS', '1'), ms, 'the latest word counts')
    }
    await fixture.fastForward(MINUTE + SLACK)
    t.equal(await sessions.disabledUntil('BUSINESS', '1'), null)
  })

  await test('untying enables a login id, and answers whether it was disabled', async (t, fixture) => {
    const { sessions } = fixture.store
    t.equal(await sessions.untieDisable('BUSINESS', '1'), false)
    await sessions.disable('BUSINESS', '1', fixture.clock.now() + MINUTE)
    t.equal(await sessions.untieDisable('CONSUMER', '1'), false)
    t.equal(await sessions.untieDisable('BUSINESS', '1'), true)
    t.equal(await sessions.disabledUntil('BUSINESS', '1'), null)
    t.equal(await sessions.untieDisable('BUSINESS', '1'), false)
    await sessions.disable('BUSINESS', '1', fixture.clock.now() + MINUTE)
    await fixture.fastForward(MINUTE + SLACK)
    t.equal(await sessions.untieDisable('BUSINESS', '1'), false, 'it ended by itself')
  })

  await test('the disabled login ids of a side are listed, those first that are enabled next', async (t, fixture) => {
    const { sessions, online } = fixture.store
    const listed = (offset = 0, limit = 10, type: LoginType = 'BUSINESS') => online.disabled(type, { offset, limit })
    t.strictSame(await listed(), { total: 0, userIds: [] })
    const disable = (userId: string, minutes: number) =>
      sessions.disable('BUSINESS', userId, fixture.clock.now() + minutes * MINUTE)
    for (const [userId, minutes] of [
      ['a', 5],
      ['a:b', 3],
      ['disable:a', 1],
      ['A', 40],
      ['z', 2],
    ] as const)
      await disable(userId, minutes)
    await sessions.disable('CONSUMER', 'c', fixture.clock.now() + MINUTE)
    await login(fixture, 'BUSINESS', 'online', MINUTE)
    t.strictSame(await listed(), { total: 5, userIds: ['disable:a', 'z', 'a:b', 'a', 'A'] })
    t.strictSame(await listed(1, 2), { total: 5, userIds: ['z', 'a:b'] })
    t.strictSame(await listed(4, 2), { total: 5, userIds: ['A'] })
    t.strictSame(await listed(5, 2), { total: 5, userIds: [] })
    t.strictSame(await listed(0, 10, 'CONSUMER'), { total: 1, userIds: ['c'] })

    await sessions.untieDisable('BUSINESS', 'z')
    await sessions.untieDisable('BUSINESS', 'c')
    await disable('A', 4)
    t.strictSame(await listed(), { total: 4, userIds: ['disable:a', 'a:b', 'A', 'a'] })
    await fixture.fastForward(MINUTE + SLACK)
    t.strictSame(await listed(), { total: 3, userIds: ['a:b', 'A', 'a'] })
    t.strictSame(await listed(0, 10, 'CONSUMER'), { total: 0, userIds: [] })
  })

  await test('of many disabled login ids each is on one page', async (t, fixture) => {
    const { sessions, online } = fixture.store
    const users = Array.from({ length: 450 }, (_, i) => `u${i}`)
    const now = fixture.clock.now()
    await Promise.all(users.map((user, i) => sessions.disable('BUSINESS', user, now + 10 * MINUTE + i * 1000)))
    await sessions.disable('CONSUMER', 'u', now + MINUTE)
    const found: string[] = []
    for (let offset = 0; offset < 450; offset += 100) {
      const { total, userIds } = await online.disabled('BUSINESS', { offset, limit: 100 })
      t.equal(total, 450)
      found.push(...userIds)
    }
    t.strictSame(found, users)
  })

  await test('while a login id is disabled no login succeeds', async (t, fixture) => {
    const { sessions } = fixture.store
    await sessions.disable('BUSINESS', '1', fixture.clock.now() + 10 * MINUTE)
    const token = freshToken()
    const admission = await sessions.add('BUSINESS', token, record('BUSINESS', '1'), fixture.clock.now() + MINUTE)
    t.equal(admission.admitted, false)
    ahead(t, fixture, admission.admitted ? null : admission.disabledUntil, 10 * MINUTE, 'the refusal says until when')
    t.equal(await isLive(fixture, 'BUSINESS', token), false)
    t.strictSame(await tokensOf(fixture, 'BUSINESS', '1'), [])
    t.equal(await sessions.sessionExpiresAt('BUSINESS', '1'), null)
    t.ok(await login(fixture, 'CONSUMER', '1', MINUTE), 'the other side is not disabled')
    t.ok(await login(fixture, 'BUSINESS', '2', MINUTE), 'another user is not disabled')
  })

  await test('after a login id is untied, or its time is over, logins succeed again', async (t, fixture) => {
    const { sessions } = fixture.store
    await sessions.disable('BUSINESS', '1', fixture.clock.now() + MINUTE)
    await sessions.untieDisable('BUSINESS', '1')
    t.ok(await login(fixture, 'BUSINESS', '1', MINUTE))
    await sessions.disable('BUSINESS', '1', fixture.clock.now() + MINUTE)
    await fixture.fastForward(MINUTE + SLACK)
    t.ok(await login(fixture, 'BUSINESS', '1', MINUTE))
  })

  await test('disabling a login id ends none of its sessions, and a kickout does not enable it', async (t, fixture) => {
    const { sessions } = fixture.store
    const token = await login(fixture, 'BUSINESS', '1', MINUTE)
    await sessions.disable('BUSINESS', '1', fixture.clock.now() + MINUTE)
    t.equal(await isLive(fixture, 'BUSINESS', token), true)
    t.equal(await sessions.removeAll('BUSINESS', '1'), 1)
    ahead(t, fixture, await sessions.disabledUntil('BUSINESS', '1'), MINUTE, 'still disabled')
  })

  await test('a login that overlaps a disable is refused or in its set', async (t, fixture) => {
    const { sessions } = fixture.store
    for (let round = 0; round < 30; round++) {
      const user = `u${round}`
      const token = freshToken()
      const [admission] = await Promise.all([
        sessions.add('BUSINESS', token, record('BUSINESS', user), fixture.clock.now() + MINUTE),
        sessions.disable('BUSINESS', user, fixture.clock.now() + MINUTE),
      ])
      t.equal(await isLive(fixture, 'BUSINESS', token), admission.admitted)
      t.strictSame(await tokensOf(fixture, 'BUSINESS', user), admission.admitted ? [token] : [])
    }
  })
}

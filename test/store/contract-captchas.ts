import { until } from '../support/until.ts'
import type { StoreTest } from './contract.ts'
import { MINUTE, SLACK } from './contract-fixture.ts'

export async function captchaLaw(test: StoreTest): Promise<void> {
  await test('a captcha answer is given out once', async (t, { store, clock }) => {
    await store.captchas.put('BUSINESS', 'c1', 'aB3x', clock.now() + MINUTE)
    await store.captchas.put('BUSINESS', 'c2', '7:ü ', clock.now() + MINUTE)
    t.equal(await store.captchas.take('BUSINESS', 'c1'), 'aB3x')
    t.equal(await store.captchas.take('BUSINESS', 'c1'), null)
    t.equal(await store.captchas.take('BUSINESS', 'c2'), '7:ü ')
  })

  await test('of fifty who take a captcha at once one gets it', async (t, { store, clock }) => {
    for (let round = 0; round < 5; round++) {
      await store.captchas.put('CONSUMER', 'c', 'aB3x', clock.now() + MINUTE)
      const answers = await Promise.all(Array.from({ length: 50 }, () => store.captchas.take('CONSUMER', 'c')))
      t.strictSame(
        answers.filter(answer => answer !== null),
        ['aB3x'],
      )
    }
  })

  await test('a captcha expires', async (t, { store, clock, fastForward }) => {
    await store.captchas.put('BUSINESS', 'c', 'aB3x', clock.now() + MINUTE)
    await fastForward(MINUTE + SLACK)
    t.equal(await store.captchas.take('BUSINESS', 'c'), null)
  })

  await test('a captcha of one side is neither given out nor used up by the other', async (t, { store, clock }) => {
    await store.captchas.put('BUSINESS', 'c', 'aB3x', clock.now() + MINUTE)
    t.equal(await store.captchas.take('CONSUMER', 'c'), null)
    t.equal(await store.captchas.take('BUSINESS', 'c'), 'aB3x')
  })

  await test('a captcha id that was never issued is absent, in any form', async (t, { store, clock }) => {
    await store.captchas.put('BUSINESS', 'c', 'aB3x', clock.now() + MINUTE)
    for (const id of ['', ':', 'c:', 'C', '*', 'c\u0000', '中', 'x'.repeat(5000)]) {
      t.equal(await store.captchas.take('BUSINESS', id), null)
    }
    t.equal(await store.captchas.take('BUSINESS', 'c'), 'aB3x')
  })

  await test('captchas that can still be taken are counted, each side apart', async (t, { store, clock }) => {
    const { captchas } = store
    const end = clock.now() + MINUTE
    t.equal(await captchas.outstanding('BUSINESS'), 0)
    for (const id of ['a', 'b', 'c', 'c']) await captchas.put('BUSINESS', id, 'aB3x', end)
    await captchas.put('CONSUMER', 'a', 'aB3x', end)
    t.equal(await captchas.outstanding('BUSINESS'), 3)
    t.equal(await captchas.outstanding('CONSUMER'), 1)
    await captchas.take('BUSINESS', 'a')
    for (const id of ['a', 'unknown']) await captchas.take('BUSINESS', id)
    t.ok(await until(async () => (await captchas.outstanding('BUSINESS')) === 2))
    t.equal(await captchas.outstanding('CONSUMER'), 1)
  })

  await test('captchas that ended are not counted a minute later', async (t, fixture) => {
    const { captchas } = fixture.store
    const end = fixture.clock.now() + MINUTE
    for (let i = 0; i < 250; i++) await captchas.put('BUSINESS', `early ${i}`, 'aB3x', end)
    await captchas.put('BUSINESS', 'late', 'aB3x', end + 2 * MINUTE)
    await fixture.fastForward(MINUTE + SLACK)
    // Taking what has ended counts it no second time.
    t.equal(await captchas.take('BUSINESS', 'early 0'), null)
    await captchas.put('BUSINESS', 'new', 'aB3x', fixture.clock.now() + 2 * MINUTE)
    await fixture.sweep?.()
    t.equal(await captchas.outstanding('BUSINESS'), 2)
  })

  await test('a captcha put twice holds the later answer', async (t, { store, clock }) => {
    await store.captchas.put('BUSINESS', 'c', 'old', clock.now() + 5 * MINUTE)
    await store.captchas.put('BUSINESS', 'c', 'new', clock.now() + MINUTE)
    t.equal(await store.captchas.take('BUSINESS', 'c'), 'new')
    t.equal(await store.captchas.take('BUSINESS', 'c'), null)
  })
}

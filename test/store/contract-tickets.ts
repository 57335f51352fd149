import type { StoreTest } from './contract.ts'
import { MINUTE, SLACK } from './contract-fixture.ts'

export async function ticketLaw(test: StoreTest): Promise<void> {
  await test('the text of a ticket is read any number of times, and taken once', async (t, { store, clock }) => {
    const { tickets } = store
    const text = JSON.stringify({ login_id: '7', extra: 'ü 中文 \u0000\n' })
    await tickets.put('BUSINESS', 'k', text, clock.now() + MINUTE)
    for (let i = 0; i < 2; i++) t.equal(await tickets.read('BUSINESS', 'k'), text)
    t.equal(await tickets.take('BUSINESS', 'k'), text)
    t.equal(await tickets.take('BUSINESS', 'k'), null)
    t.equal(await tickets.read('BUSINESS', 'k'), null)
  })

  await test('of fifty who take a ticket at once one gets it', async (t, { store, clock }) => {
    for (let round = 0; round < 5; round++) {
      await store.tickets.put('CONSUMER', 'k', 'text', clock.now() + MINUTE)
      const answers = await Promise.all(Array.from({ length: 50 }, () => store.tickets.take('CONSUMER', 'k')))
      t.strictSame(
        answers.filter(answer => answer !== null),
        ['text'],
      )
    }
  })

  await test('a ticket expires', async (t, { store, clock, fastForward }) => {
    for (const id of ['k', 'l']) await store.tickets.put('BUSINESS', id, 'text', clock.now() + MINUTE)
    await fastForward(MINUTE + SLACK)
    t.equal(await store.tickets.read('BUSINESS', 'k'), null)
    t.equal(await store.tickets.take('BUSINESS', 'l'), null)
  })

  await test('a ticket of one side is unknown to the other', async (t, { store, clock }) => {
    await store.tickets.put('BUSINESS', 'k', 'text', clock.now() + MINUTE)
    t.equal(await store.tickets.read('CONSUMER', 'k'), null)
    t.equal(await store.tickets.take('CONSUMER', 'k'), null)
    t.equal(await store.tickets.take('BUSINESS', 'k'), 'text')
  })

  await test('a ticket and a captcha of the same id have nothing to do with each other', async (t, {
    store,
    clock,
  }) => {
    await store.tickets.put('BUSINESS', 'k', 'text', clock.now() + MINUTE)
    t.equal(await store.captchas.take('BUSINESS', 'k'), null)
    t.equal(await store.tickets.read('BUSINESS', 'k'), 'text')
  })

  await test('a ticket id that was never issued is absent, in any form', async (t, { store, clock }) => {
    await store.tickets.put('BUSINESS', 'k', 'text', clock.now() + MINUTE)
    for (const id of ['', ':', 'k:', 'K', '*', 'k\u0000', '中', 'x'.repeat(5000)]) {
      t.equal(await store.tickets.read('BUSINESS', id), null)
      t.equal(await store.tickets.take('BUSINESS', id), null)
    }
    t.equal(await store.tickets.read('BUSINESS', 'k'), 'text')
  })

  await test('of twenty who change a ticket at once none is lost', async (t, { store, clock }) => {
    const { tickets } = store
    const end = clock.now() + MINUTE
    const add = async (member: number): Promise<void> => {
      const known = await tickets.read('BUSINESS', 'k')
      const text = JSON.stringify([...JSON.parse(known ?? '[]'), member])
      if (!(await tickets.replace('BUSINESS', 'k', known, text, end))) await add(member)
    }
    const members = Array.from({ length: 20 }, (_, i) => i)
    await Promise.all(members.map(add))
    const kept: number[] = JSON.parse((await tickets.read('BUSINESS', 'k'))!)
    t.same(
      kept.sort((a, b) => a - b),
      members,
    )
  })

  await test('a replaced ticket holds the later text until the later end', async (t, fixture) => {
    const { tickets } = fixture.store
    const { now } = fixture.clock
    t.equal(await tickets.replace('BUSINESS', 'long', 'none', 'new', now() + MINUTE), false, 'there is none yet')
    t.equal(await tickets.read('BUSINESS', 'long'), null)
    t.equal(await tickets.replace('BUSINESS', 'long', null, 'old', now() + 5 * MINUTE), true)
    t.equal(await tickets.replace('BUSINESS', 'long', null, 'new', now() + MINUTE), false, 'there is one')
    t.equal(await tickets.replace('BUSINESS', 'long', 'new', 'newer', now() + MINUTE), false, 'there is another one')
    t.equal(await tickets.replace('BUSINESS', 'long', 'old', 'new', now() + MINUTE), true)
    await tickets.put('BUSINESS', 'short', 'old', now() + MINUTE)
    t.equal(await tickets.replace('BUSINESS', 'short', 'old', 'new', now() + 5 * MINUTE), true)
    await fixture.fastForward(2 * MINUTE)
    for (const id of ['long', 'short']) t.equal(await tickets.read('BUSINESS', id), 'new')
    await fixture.fastForward(3 * MINUTE + SLACK)
    for (const id of ['long', 'short']) t.equal(await tickets.read('BUSINESS', id), null)
    t.equal(await tickets.replace('BUSINESS', 'long', null, 'again', now() + MINUTE), true, 'as if it had never been')
  })

  await test('a ticket put again holds the later text until the later end', async (t, fixture) => {
    const { tickets } = fixture.store
    await tickets.put('BUSINESS', 'k', 'old', fixture.clock.now() + 5 * MINUTE)
    await tickets.put('BUSINESS', 'k', 'new', fixture.clock.now() + MINUTE)
    t.equal(await tickets.read('BUSINESS', 'k'), 'new')
    await fixture.fastForward(MINUTE + SLACK)
    t.equal(await tickets.read('BUSINESS', 'k'), null)
  })
}

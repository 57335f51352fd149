import type { StoreTest } from './contract.ts'
import { MINUTE } from './contract-fixture.ts'

/** Calls at once, of which one succeeds. */
const AT_ONCE = 64
const YEAR = 365 * 24 * 60 * MINUTE

/** Every character that a login id may have, and as many as it may have. */
const ODD = ['1', 'a.b_c@d:e-f', 'A', 'a', ':', 'token:x', '{1}', '用户', 'staff:h:x'.padEnd(128, 'Z')]

/** The law of src/store/factors.ts. */
export async function factorLaw(test: StoreTest): Promise<void> {
  await test('a second factor is read as it was stored, by its login id and on its side alone', async (t, fixture) => {
    const { factors } = fixture.store
    for (const id of ODD) {
      t.equal(await factors.read('BUSINESS', id), null, id)
      t.equal(await factors.replace('BUSINESS', id, null, `text of ${id}`), true, id)
    }
    for (const id of ODD) {
      t.equal(await factors.read('BUSINESS', id), `text of ${id}`, id)
      t.equal(await factors.read('CONSUMER', id), null, id)
    }
    t.equal(await factors.replace('CONSUMER', '1', null, 'of the other side'), true)
    t.equal(await factors.read('BUSINESS', '1'), 'text of 1')
    t.equal(await factors.read('CONSUMER', '1'), 'of the other side')
  })

  await test('a second factor is replaced only if it is the one that was read', async (t, fixture) => {
    const { factors } = fixture.store
    t.equal(await factors.replace('BUSINESS', '1', 'text', 'other'), false, 'there is none')
    t.equal(await factors.read('BUSINESS', '1'), null)
    t.equal(await factors.replace('BUSINESS', '1', null, 'text'), true)
    t.equal(await factors.replace('BUSINESS', '1', null, 'other'), false, 'there is one')
    t.equal(await factors.replace('BUSINESS', '1', 'another', 'other'), false)
    t.equal(await factors.read('BUSINESS', '1'), 'text')
    t.equal(await factors.replace('BUSINESS', '1', 'text', 'other'), true)
    t.equal(await factors.read('BUSINESS', '1'), 'other')
  })

  await test('of second factors that are stored at once, one is', async (t, fixture) => {
    const { factors } = fixture.store
    for (const from of [null, 'text'] as const) {
      const id = `from ${from}`
      if (from !== null) await factors.replace('BUSINESS', id, null, from)
      const texts = Array.from({ length: AT_ONCE }, (_, i) => `text ${i}`)
      const stored = await Promise.all(texts.map(to => factors.replace('BUSINESS', id, from, to)))
      t.equal(stored.filter(Boolean).length, 1)
      t.equal(await factors.read('BUSINESS', id), texts[stored.indexOf(true)])
    }
  })

  await test('a second factor has no end', async (t, fixture) => {
    const { factors } = fixture.store
    await factors.replace('BUSINESS', '1', null, 'text')
    await factors.replace('BUSINESS', '1', 'text', 'other')
    await fixture.fastForward(10 * YEAR)
    await fixture.sweep?.()
    t.equal(await factors.read('BUSINESS', '1'), 'other')
    await fixture.store.sessions.removeAll('BUSINESS', '1')
    await fixture.store.credentials.removeAll('BUSINESS', '1')
    t.equal(await factors.read('BUSINESS', '1'), 'other', 'and does not end with what its user has')
  })

  await test('a second factor is a text of 1 byte to 8 KiB', async (t, fixture) => {
    const { factors } = fixture.store
    const longest = 'x'.repeat(8192)
    for (const text of ['', `${longest}x`, 'ü'.repeat(4097)])
      await t.rejects(factors.replace('BUSINESS', '1', null, text), RangeError)
    t.equal(await factors.read('BUSINESS', '1'), null)
    t.equal(await factors.replace('BUSINESS', '1', null, longest), true)
    t.equal(await factors.replace('BUSINESS', '1', longest, 'ü'.repeat(4096)), true)
    t.equal(await factors.read('BUSINESS', '1'), 'ü'.repeat(4096))
  })
}

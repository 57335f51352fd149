import type { StoreTest } from './contract.ts'
import { ahead, MINUTE, SLACK } from './contract-fixture.ts'

export async function attemptLaw(test: StoreTest): Promise<void> {
  await test('attempts are counted in a window that the first one opens and no other extends', async (t, fixture) => {
    const { attempts } = fixture.store
    const first = await attempts.count('a', MINUTE)
    t.equal(first.count, 1)
    ahead(t, fixture, first.resetsAt, MINUTE, 'the window')
    await fixture.fastForward(MINUTE / 2)
    const second = await attempts.count('a', MINUTE)
    t.equal(second.count, 2)
    ahead(t, fixture, second.resetsAt, MINUTE / 2, 'the same window')
    await fixture.fastForward(MINUTE / 2 + SLACK)
    t.equal(await attempts.read('a'), null)
    const third = await attempts.count('a', 5 * MINUTE)
    t.equal(third.count, 1)
    ahead(t, fixture, third.resetsAt, 5 * MINUTE, 'a new window')
  })

  await test('reading does not count', async (t, fixture) => {
    const { attempts } = fixture.store
    t.equal(await attempts.read('a'), null)
    await attempts.count('a', MINUTE)
    for (let i = 0; i < 3; i++) t.equal((await attempts.read('a'))?.count, 1)
    ahead(t, fixture, (await attempts.read('a'))?.resetsAt ?? null, MINUTE, 'the window')
  })

  await test('names are counted apart, however alike or long they are', async (t, { store: { attempts } }) => {
    const long = 'n'.repeat(9999)
    const names = ['a', 'A', 'a:', 'a:b', 'ä', 'a\u0308', '中文', ' a', `${long}1`, `${long}2`]
    for (const [i, name] of names.entries()) {
      for (let n = 0; n <= i; n++) await attempts.count(name, MINUTE)
    }
    for (const [i, name] of names.entries()) t.equal((await attempts.read(name))?.count, i + 1)
  })

  await test('attempts that come at once are all counted', async (t, { store: { attempts } }) => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => attempts.count('a', MINUTE)))
    t.strictSame(
      answers.map(({ count }) => count).toSorted((a, b) => a - b),
      Array.from({ length: 50 }, (_, i) => i + 1),
    )
  })

  await test('of attempts that begin at once no more than the most do, and those that end make room', async (t, fixture) => {
    const { attempts } = fixture.store
    const begin = async (ids: number[]) => {
      const answers = await Promise.all(ids.map(id => attempts.begin('a', `id ${id}`, MINUTE, 5)))
      return answers.filter(answer => answer !== null).toSorted((a, b) => a - b)
    }
    const ids = Array.from({ length: 50 }, (_, i) => i)
    t.strictSame(await begin(ids), [1, 2, 3, 4, 5], 'each answer is the number that are under way with it')
    t.strictSame(await begin(ids.slice(5)), [])
    t.equal(await attempts.begin('a', 'further', MINUTE, 6), 6)
    for (let i = 0; i < 2; i++) t.equal(await attempts.begin('a', 'further', MINUTE, 6), 6, 'a repeated call')
    for (let i = 0; i < 2; i++) await attempts.end('a', 'further')
    t.strictSame(await begin([100]), [])
    await Promise.all(ids.map(id => attempts.end('a', `id ${id}`)))
    t.strictSame(await begin([100, 101]), [1, 2])
    t.equal(await attempts.begin('b', 'id 100', MINUTE, 1), 1, 'names are apart')
    t.equal(await attempts.read('a'), null, 'and so are counters')
    await attempts.count('a', MINUTE)
    await attempts.clear('a')
    t.strictSame(await begin([102]), [3])
  })

  await test('an attempt that does not end is under way for its lifetime, whatever begins after it', async (t, fixture) => {
    const { attempts } = fixture.store
    t.equal(await attempts.begin('a', 'first', MINUTE, 2), 1)
    await fixture.fastForward(MINUTE / 2)
    t.equal(await attempts.begin('a', 'second', MINUTE, 2), 2)
    t.equal(await attempts.begin('a', 'third', MINUTE, 2), null)
    await fixture.fastForward(MINUTE / 2 + SLACK)
    t.equal(await attempts.begin('a', 'third', MINUTE / 4, 2), 2, 'the first has ended, the second has not')
    t.equal(await attempts.begin('a', 'fourth', MINUTE, 2), null)
    await fixture.fastForward(MINUTE / 4 + SLACK)
    t.equal(await attempts.begin('a', 'fourth', MINUTE, 2), 2, 'the third has ended, the second has not')
    await attempts.end('a', 'first')
    await fixture.fastForward(MINUTE + SLACK)
    t.equal(await attempts.begin('a', 'fifth', MINUTE, 1), 1)
  })

  await test('a count that was set is counted on from, until the timestamp that was set', async (t, fixture) => {
    const { attempts } = fixture.store
    await attempts.count('a', MINUTE)
    for (let i = 0; i < 2; i++) await attempts.set('a', 7, fixture.clock.now() + 5 * MINUTE)
    t.equal((await attempts.read('a'))?.count, 7)
    const next = await attempts.count('a', MINUTE)
    t.equal(next.count, 8)
    ahead(t, fixture, next.resetsAt, 5 * MINUTE, 'the window that was set')
    await attempts.set('a', 3, fixture.clock.now() + MINUTE)
    await fixture.fastForward(MINUTE + SLACK)
    t.equal(await attempts.read('a'), null)
  })

  await test('of equal counts that are set at once only one is set, and never a smaller one', async (t, fixture) => {
    const { attempts } = fixture.store
    const answers = await Promise.all(Array.from({ length: 50 }, () => attempts.raise('a', 58_000_000, MINUTE)))
    t.equal(answers.filter(Boolean).length, 1)
    t.equal(await attempts.raise('a', 57_999_999, MINUTE), false)
    t.equal(await attempts.raise('b', 57_999_999, MINUTE), true, 'other names are apart')
    await fixture.fastForward(MINUTE / 2)
    t.equal(await attempts.raise('a', 58_000_001, MINUTE), true)
    t.equal((await attempts.read('a'))?.count, 58_000_001)
    ahead(t, fixture, (await attempts.read('a'))?.resetsAt ?? null, MINUTE, 'the window of the greater count')
    await fixture.fastForward(MINUTE + SLACK)
    t.equal(await attempts.raise('a', 1, MINUTE), true, 'after its window a count is forgotten')
  })

  await test('a cleared count begins anew', async (t, { store: { attempts } }) => {
    await attempts.count('a', MINUTE)
    await attempts.count('b', MINUTE)
    for (let i = 0; i < 2; i++) await attempts.clear('a')
    t.equal(await attempts.read('a'), null)
    t.equal((await attempts.count('a', MINUTE)).count, 1)
    t.equal((await attempts.read('b'))?.count, 1)
  })
}

import t from 'tap'
import { EmbeddedFile } from '../../src/store/embedded/file/lmdb-file.ts'
import { FilterDraft } from '../../src/store/embedded/online/filters.ts'
import { type NamedUser, NameIndex } from '../../src/store/embedded/online/names.ts'
import { PATIENCE } from '../support/until.ts'

const USERS_PER_GROUP = 512 * 32
const FIRST = ['ADA', 'GRACE', '李雷', '韩梅梅', 'ÉLODIE', '🦊']

/** A name that no two users share, and one that many do. */
const user = (i: number): NamedUser => ({
  userId: `u${i}`,
  names: [`${FIRST[i % FIRST.length]}${Math.imul(i, 2654435761) >>> 0}`, FIRST[(i * 7) % FIRST.length] ?? ''],
})

/** An index with so many users, and where each of them stands. */
async function indexOf(folder: string, count: number) {
  const file = await EmbeddedFile.open(folder, PATIENCE)
  const index = new NameIndex(file)
  const blocks = new Map<string, number>()
  for (let i = 0; i < count; ) {
    await file.write(() => {
      for (const end = i + 2000; i < Math.min(end, count); i++) blocks.set(`u${i}`, index.enter('CONSUMER', user(i)))
    })
  }
  const find = (text: string, limit = 100): string[] =>
    file.read(() => Array.from({ length: limit }, next(index.find('CONSUMER', text))).filter(id => id !== ''))
  const leave = (userId: string): Promise<void> =>
    file.write(() => {
      index.leave('CONSUMER', userId, blocks.get(userId) ?? -1, (moved, block) => blocks.set(moved.userId, block))
      blocks.delete(userId)
    })
  return { file, index, blocks, find, leave }
}

function next(found: Iterable<string>): () => string {
  const iterator = found[Symbol.iterator]()
  return () => iterator.next().value ?? ''
}

async function makeFilters({ file, index }: { file: EmbeddedFile; index: NameIndex }): Promise<number[]> {
  const groups = file.read(() => index.fullGroups('CONSUMER'))
  for (const group of groups) {
    const draft = new FilterDraft()
    file.read(() => {
      for (let from: number | null = 0; from !== null; ) from = index.draft('CONSUMER', group, draft, from, 100)
    })
    await file.write(() => index.putFilter('CONSUMER', group, draft))
  }
  return groups
}

await t.test('every part of every name is found, with filters and without', async t => {
  const count = 2 * USERS_PER_GROUP + 500
  const fixture = await indexOf(t.testdir(), count)
  t.teardown(() => fixture.file.close())
  const all = Array.from({ length: count }, (_, i) => user(i)).reverse()
  const expected = (text: string): string[] =>
    all.filter(({ names }) => names.some(name => name.includes(text))).map(({ userId }) => userId)
  const parts: string[] = []
  for (let i = 0; i < 60; i++) {
    const name = user((i * 7919) % count).names[0] ?? ''
    parts.push(name, name.slice(i % 5), name.slice(2, 5 + (i % 6)), name.slice(-4))
  }
  parts.push('7777', '99999', '雷1', '梅梅', '🦊', 'É', 'Q', '\t', '\n', 'U1', 'NOBODY', '0'.repeat(40))
  const check = (when: string): void => {
    for (const part of parts) t.strictSame(fixture.find(part, 40), expected(part).slice(0, 40), `${part} ${when}`)
  }
  check('without filters')
  t.strictSame(await makeFilters(fixture), [1, 0])
  check('with filters')
})

await t.test('blocks that have lost most of their users are removed, and no user is lost', async t => {
  const count = USERS_PER_GROUP + 100
  const fixture = await indexOf(t.testdir(), count)
  t.teardown(() => fixture.file.close())
  await makeFilters(fixture)
  t.ok(fixture.index.hasFilter('CONSUMER', 0))
  const last = fixture.index.lastBlock('CONSUMER')
  for (let i = 0; i < 320; i++) if (i % 10 > 0) await fixture.leave(`u${i}`)
  t.equal(fixture.index.blockAfter('CONSUMER', -1), 10, 'the first ten blocks are gone')
  for (let i = 0; i < 320; i++) {
    const { userId, names } = user(i)
    const stays = i % 10 === 0
    t.equal(fixture.find(names[0] ?? '').includes(userId), stays, userId)
    if (stays) t.ok((fixture.blocks.get(userId) ?? 0) >= last, `${userId} has moved to the end`)
  }
})

await t.test('an empty group has no filter, and no number is used twice', async t => {
  const fixture = await indexOf(t.testdir(), USERS_PER_GROUP + 1)
  t.teardown(() => fixture.file.close())
  await makeFilters(fixture)
  const last = fixture.index.lastBlock('CONSUMER')
  await fixture.file.write(() => {
    for (let i = 0; i <= USERS_PER_GROUP; i++) {
      const block = fixture.blocks.get(`u${i}`) ?? -1
      fixture.index.leave('CONSUMER', `u${i}`, block, (moved, to) => fixture.blocks.set(moved.userId, to))
    }
  })
  t.equal(fixture.index.hasFilter('CONSUMER', 0), false)
  t.strictSame(fixture.find('ADA'), [])
  const block = await fixture.file.write(() => fixture.index.enter('CONSUMER', user(1)))
  t.ok(block >= last)
  t.strictSame(fixture.find('GRACE'), ['u1'])
  t.strictSame(
    fixture.file.read(() => [...fixture.index.find('BUSINESS', 'GRACE')]),
    [],
  )
})

await t.test('a user who enters a block twice is in it once, with the later names', async t => {
  const fixture = await indexOf(t.testdir(), 3)
  t.teardown(() => fixture.file.close())
  await fixture.file.write(() => fixture.index.enter('CONSUMER', { userId: 'u1', names: ['LATER'] }))
  t.strictSame(fixture.find('GRACE'), [])
  t.strictSame(fixture.find('LATER'), ['u1'])
})

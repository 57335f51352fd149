import type { Test } from 'tap'
import { Unavailable } from '../../src/base/refusal.ts'
import type { LoginType } from '../../src/session/sides.ts'
import type { Credential, CredentialStore } from '../../src/store/credentials.ts'
import type { StoreTest, StoreUnderTest } from './contract.ts'
import { MINUTE, SLACK } from './contract-fixture.ts'

/** Calls at once, of which a store lets few or one succeed. */
const AT_ONCE = 64
const MOST = 20
/** Of each kind: more than a store reads at once. */
const MANY = 150

let made = 0
/** An id of the form of a key's, never the same twice. */
export const freshId = (): string => String(made++).padStart(12, 'k')

type Timed = Pick<StoreUnderTest, 'clock'>

export const credential = ({ clock }: Timed, owner = '1', lifetime = MINUTE, text = 'text'): Credential => ({
  id: freshId(),
  owner,
  text,
  expiresAt: clock.now() + lifetime,
})

/** Adds a credential of the B side, and answers it. */
export async function added(
  fixture: Timed & { store: { credentials: CredentialStore } },
  owner = '1',
  lifetime = MINUTE,
  type: LoginType = 'BUSINESS',
): Promise<Credential> {
  const made = credential(fixture, owner, lifetime)
  if (!(await fixture.store.credentials.add(type, made, MOST))) throw new Error('there was no place')
  return made
}

const idsOf = async ({ store }: StoreUnderTest, owner = '1', type: LoginType = 'BUSINESS'): Promise<string[]> =>
  (await store.credentials.of(type, owner)).map(({ id }) => id)

const isFound = async ({ store }: StoreUnderTest, id: string, type: LoginType = 'BUSINESS'): Promise<boolean> =>
  (await store.credentials.find(type, id)) !== null

const ids = (credentials: readonly Credential[]): string[] => credentials.map(({ id }) => id)

/** The law of src/store/credentials.ts. */
export async function credentialLaw(test: StoreTest): Promise<void> {
  await storedCredentials(test)
  await places(test)
  await endedCredentials(test)
  await succeededCredentials(test)
  await rewrittenCredentials(test)
  await usedCredentials(test)
  await pagesOfCredentials(test)
  await simultaneousCredentials(test)
}

async function storedCredentials(test: StoreTest): Promise<void> {
  await test('a credential is found as it was stored, and in the list of its owner', async (t, fixture) => {
    const { credentials } = fixture.store
    for (const type of ['BUSINESS', 'CONSUMER'] as const) {
      const stored = credential(fixture, 'a:b@c.d', MINUTE, '{"name":"ü 中文 \\u0000\\n"}\u2028')
      t.equal(await credentials.add(type, stored, 1), true)
      for (let i = 0; i < 3; i++) t.strictSame(await credentials.find(type, stored.id), stored)
      t.strictSame(await credentials.of(type, 'a:b@c.d'), [{ ...stored, usedAt: null, isSucceeded: false }])
    }
  })

  await test('a credential has a text of up to 8 KiB, and an id of up to 64 characters', async (t, fixture) => {
    const { credentials } = fixture.store
    const id = `${'x_-9'.repeat(15)}${freshId().slice(-4)}`
    const stored = { ...credential(fixture), id, text: 'ü'.repeat(4096) }
    t.equal(await credentials.add('BUSINESS', stored, MOST), true)
    t.strictSame(await credentials.find('BUSINESS', id), stored)
    const refused: Partial<Credential>[] = [
      { text: `${stored.text}x` },
      { expiresAt: Number.POSITIVE_INFINITY },
      { expiresAt: Number.NaN },
      ...['', `${id}x`, 'a b', 'a:b', 'a\n', 'ä', '+a'].map(id => ({ id })),
    ]
    for (const wrong of refused) {
      await t.rejects(credentials.add('BUSINESS', { ...credential(fixture), ...wrong }, MOST), RangeError)
      await t.rejects(
        credentials.succeed('BUSINESS', '1', id, { ...credential(fixture), ...wrong }, fixture.clock.now()),
        RangeError,
      )
    }
    await t.rejects(credentials.rewrite('BUSINESS', id, stored.text, `${stored.text}x`), RangeError)
    t.same(await idsOf(fixture), [id])
  })

  await test('an id that exists is refused with an exception, and what has it stays', async (t, fixture) => {
    const { credentials } = fixture.store
    const [first, other] = [await added(fixture), await added(fixture, '2')]
    const again = { ...credential(fixture, '2'), id: first.id }
    await t.rejects(credentials.add('BUSINESS', again, MOST), /exists/)
    await t.rejects(credentials.succeed('BUSINESS', '2', other.id, again, fixture.clock.now()), /exists/)
    t.strictSame(await credentials.find('BUSINESS', first.id), first)
    t.same(await idsOf(fixture, '2'), [other.id])
    t.equal((await credentials.of('BUSINESS', '2'))[0]?.isSucceeded, false)
  })

  await test('an id that no credential has is absent, in any form', async (t, fixture) => {
    const { credentials } = fixture.store
    const { id } = await added(fixture)
    for (const unknown of ['', ':', `${id}:`, id.toUpperCase(), '*', `${id}\u0000`, '中', 'x'.repeat(5000)]) {
      t.equal(await credentials.find('BUSINESS', unknown), null)
      t.equal(await credentials.remove('BUSINESS', '1', unknown), false)
      t.equal(await credentials.rewrite('BUSINESS', unknown, 'text', 'other'), false)
      await credentials.used('BUSINESS', unknown, fixture.clock.now())
    }
    t.same(await credentials.of('BUSINESS', 'x'.repeat(5000)), [])
    t.same(await credentials.removeAll('BUSINESS', 'x'.repeat(5000)), [])
  })

  await test('a credential of one side is unknown to the other, whatever its id is', async (t, fixture) => {
    const { credentials } = fixture.store
    const stored = await added(fixture)
    t.equal(await credentials.find('CONSUMER', stored.id), null)
    t.same(await credentials.of('CONSUMER', '1'), [])
    t.same(await credentials.page('CONSUMER', 0, 10), { total: 0, credentials: [] })
    t.equal(await credentials.remove('CONSUMER', '1', stored.id), false)
    t.same(await credentials.removeAll('CONSUMER', '1'), [])
    t.equal(await credentials.rewrite('CONSUMER', stored.id, 'text', 'other'), false)
    const next = credential(fixture)
    t.equal(await credentials.succeed('CONSUMER', '1', stored.id, next, fixture.clock.now()), false)
    t.equal(
      await credentials.add('CONSUMER', { ...stored, text: 'theirs' }, 1),
      true,
      'the same id is another one there',
    )
    t.equal((await credentials.find('BUSINESS', stored.id))?.text, 'text')
    t.equal(await credentials.remove('CONSUMER', '1', stored.id), true)
    t.strictSame(await credentials.find('BUSINESS', stored.id), stored)
  })

  await test('a credential ends at its time, and leaves no list behind', async (t, fixture) => {
    const { credentials } = fixture.store
    const short = await added(fixture)
    const long = await added(fixture, '1', 10 * MINUTE)
    await credentials.used('BUSINESS', short.id, fixture.clock.now())
    t.same(await idsOf(fixture), [long.id, short.id])
    await fixture.fastForward(MINUTE + SLACK)
    t.equal(await credentials.find('BUSINESS', short.id), null)
    t.same(await idsOf(fixture), [long.id])
    t.same(ids((await credentials.page('BUSINESS', 0, 10)).credentials), [long.id])
    t.equal(await credentials.remove('BUSINESS', '1', short.id), false)
    t.equal(await credentials.rewrite('BUSINESS', short.id, 'text', 'other'), false)
    t.same(await credentials.removeAll('BUSINESS', '1'), [long.id])
    t.same(await credentials.of('BUSINESS', '1'), [])
  })
}

async function places(test: StoreTest): Promise<void> {
  await test('an owner has so many credentials and no more, until one of them ends', async (t, fixture) => {
    const { credentials } = fixture.store
    const add = (lifetime: number, most: number) =>
      credentials.add('BUSINESS', credential(fixture, '1', lifetime), most)
    t.equal(await add(MINUTE, 0), false)
    t.equal(await add(MINUTE, 2), true)
    t.equal(await add(10 * MINUTE, 2), true)
    t.equal(await add(MINUTE, 2), false)
    t.equal((await idsOf(fixture)).length, 2)
    t.equal(await credentials.add('BUSINESS', credential(fixture, '2'), 2), true, 'others have places of their own')
    await fixture.fastForward(MINUTE + SLACK)
    t.equal(await add(MINUTE, 2), true, 'one has expired')
    t.equal(await add(MINUTE, 2), false)
    const [newest] = await idsOf(fixture)
    t.equal(await credentials.remove('BUSINESS', '1', newest!), true)
    t.equal(await add(MINUTE, 2), true, 'one was removed')
    t.equal(await add(MINUTE, 1), false, 'a lower limit ends none')
    t.equal((await idsOf(fixture)).length, 2)
    t.equal(await add(MINUTE, 3), true)
  })

  await test('a credential that was refused for want of a place is nowhere', async (t, fixture) => {
    const { credentials } = fixture.store
    const first = await added(fixture)
    const refused = credential(fixture)
    t.equal(await credentials.add('BUSINESS', refused, 1), false)
    t.equal(await isFound(fixture, refused.id), false)
    t.same(await idsOf(fixture), [first.id])
    t.same(ids((await credentials.page('BUSINESS', 0, 10)).credentials), [first.id])
    await credentials.remove('BUSINESS', '1', first.id)
    t.equal(await credentials.add('BUSINESS', refused, 1), true, 'and can be stored later')
  })

  await test('of many simultaneous calls as many store a credential as there are places', async (t, fixture) => {
    const { credentials } = fixture.store
    for (let round = 0; round < 3; round++) {
      const owner = `owner-${round}`
      const before = await added(fixture, owner)
      const all = Array.from({ length: AT_ONCE }, () => credential(fixture, owner))
      const answers = await Promise.all(all.map(one => credentials.add('BUSINESS', one, MOST)))
      const stored = all.filter((_, i) => answers[i])
      t.equal(stored.length, MOST - 1)
      t.same(new Set(await idsOf(fixture, owner)), new Set([before.id, ...ids(stored)]))
      for (const { id } of all) t.equal(await isFound(fixture, id), ids(stored).includes(id))
    }
  })
}

async function endedCredentials(test: StoreTest): Promise<void> {
  await test('a credential that was removed is gone at once and for good', async (t, fixture) => {
    const { credentials } = fixture.store
    const [one, other] = [await added(fixture), await added(fixture)]
    for (let i = 0; i < 3; i++) t.equal(await isFound(fixture, one.id), true)
    t.equal(await credentials.remove('BUSINESS', '1', one.id), true)
    t.equal(await isFound(fixture, one.id), false)
    t.equal(await credentials.remove('BUSINESS', '1', one.id), false)
    t.same(await idsOf(fixture), [other.id])
    t.same(await credentials.page('BUSINESS', 0, 10), { total: 1, credentials: await credentials.of('BUSINESS', '1') })
    t.equal(await credentials.rewrite('BUSINESS', one.id, 'text', 'other'), false)
    t.equal(await isFound(fixture, one.id), false)
  })

  await test('a credential is removed for its owner only', async (t, fixture) => {
    const { credentials } = fixture.store
    const { id } = await added(fixture)
    for (const stranger of ['2', '', '1:', '11']) {
      t.equal(await credentials.remove('BUSINESS', stranger, id), false)
      t.same(await credentials.removeAll('BUSINESS', stranger), [])
    }
    t.equal(await isFound(fixture, id), true)
    t.same(await idsOf(fixture), [id])
  })

  await test('the end of all credentials of an owner ends each of them, and names them', async (t, fixture) => {
    const { credentials } = fixture.store
    const all = [await added(fixture), await added(fixture), await added(fixture)]
    const next = credential(fixture)
    t.equal(await credentials.succeed('BUSINESS', '1', all[0]!.id, next, fixture.clock.now() + MINUTE / 2), true)
    const [other, theirs] = [await added(fixture, '2'), await added(fixture, '1', MINUTE, 'CONSUMER')]
    for (const { id } of [...all, next, other]) t.equal(await isFound(fixture, id), true)
    const ended = await credentials.removeAll('BUSINESS', '1')
    t.same(ended.toSorted(), ids([...all, next]).toSorted())
    for (const { id } of [...all, next]) t.equal(await isFound(fixture, id), false)
    t.same(await idsOf(fixture), [])
    t.same(await credentials.removeAll('BUSINESS', '1'), [])
    t.equal(await isFound(fixture, other.id), true)
    t.equal(await isFound(fixture, theirs.id, 'CONSUMER'), true)
    const { id } = await added(fixture)
    t.equal(await isFound(fixture, id), true, 'what is stored later lives')
  })

  await test('of many simultaneous calls one removes a credential', async (t, fixture) => {
    const { id } = await added(fixture)
    const calls = Array.from({ length: AT_ONCE }, () => fixture.store.credentials.remove('BUSINESS', '1', id))
    t.equal((await Promise.all(calls)).filter(Boolean).length, 1)
    t.equal(await isFound(fixture, id), false)
  })
}

async function succeededCredentials(test: StoreTest): Promise<void> {
  await test('a credential that was succeeded lives on for a while, and no longer counts', async (t, fixture) => {
    const { credentials } = fixture.store
    const old = await added(fixture, '1', 10 * MINUTE)
    const [next, until] = [credential(fixture, '1', 20 * MINUTE), fixture.clock.now() + MINUTE]
    t.equal(await isFound(fixture, old.id), true)
    t.equal(await credentials.succeed('BUSINESS', '1', old.id, next, until), true)
    t.strictSame(await credentials.find('BUSINESS', old.id), { ...old, expiresAt: until })
    t.strictSame(await credentials.find('BUSINESS', next.id), next)
    t.strictSame(await credentials.of('BUSINESS', '1'), [
      { ...next, usedAt: null, isSucceeded: false },
      { ...old, expiresAt: until, usedAt: null, isSucceeded: true },
    ])
    t.equal(await credentials.add('BUSINESS', credential(fixture), 1), false, 'the next one counts')
    t.equal(await credentials.add('BUSINESS', credential(fixture, '1', 20 * MINUTE), 2), true, 'the old one does not')
    await fixture.fastForward(MINUTE + SLACK)
    t.equal(await isFound(fixture, old.id), false)
    t.equal(await isFound(fixture, next.id), true)
    t.equal((await idsOf(fixture)).length, 2)
  })

  await test('a credential that was succeeded ends no later than it would have', async (t, fixture) => {
    const { credentials } = fixture.store
    const [old, next] = [await added(fixture), credential(fixture, '1', 10 * MINUTE)]
    t.equal(await credentials.succeed('BUSINESS', '1', old.id, next, fixture.clock.now() + 10 * MINUTE), true)
    t.equal((await credentials.find('BUSINESS', old.id))?.expiresAt, old.expiresAt)
    await fixture.fastForward(MINUTE + SLACK)
    t.equal(await isFound(fixture, old.id), false)
    t.equal(await isFound(fixture, next.id), true)
  })

  await test('a credential is succeeded once, for its owner, while it lives', async (t, fixture) => {
    const { credentials } = fixture.store
    const [old, removed, other] = [await added(fixture), await added(fixture), await added(fixture, '2')]
    await credentials.remove('BUSINESS', '1', removed.id)
    const until = fixture.clock.now() + MINUTE
    const refused = async (owner: string, id: string, of = owner, at = until): Promise<void> => {
      const next = credential(fixture, of)
      t.equal(await credentials.succeed('BUSINESS', owner, id, next, at), false)
      t.equal(await isFound(fixture, next.id), false)
    }
    await refused('1', removed.id)
    await refused('1', freshId())
    await refused('1', other.id)
    await refused('2', old.id)
    await refused('1', old.id, '2')
    t.same(await idsOf(fixture), [old.id], 'nothing was changed')
    t.equal((await credentials.of('BUSINESS', '1'))[0]?.isSucceeded, false)
    const next = credential(fixture)
    t.equal(await credentials.succeed('BUSINESS', '1', old.id, next, until), true)
    await refused('1', old.id, '1', until - MINUTE / 2)
    t.equal((await credentials.find('BUSINESS', old.id))?.expiresAt, old.expiresAt, 'nor does it end sooner')
    t.same(await idsOf(fixture), [next.id, old.id])
    const third = credential(fixture)
    t.equal(await credentials.succeed('BUSINESS', '1', next.id, third, until), true, 'its successor is, too')
    t.same(await idsOf(fixture), [third.id, next.id, old.id])
    t.equal(await credentials.remove('BUSINESS', '1', old.id), true, 'and one that was succeeded can be ended')
    t.equal(await isFound(fixture, old.id), false)
  })

  await test('of many simultaneous calls one succeeds a credential', async (t, fixture) => {
    const { credentials } = fixture.store
    for (let round = 0; round < 3; round++) {
      const old = await added(fixture, `owner-${round}`)
      const all = Array.from({ length: AT_ONCE }, () => credential(fixture, old.owner))
      const until = fixture.clock.now() + MINUTE / 2
      const answers = await Promise.all(
        all.map(next => credentials.succeed('BUSINESS', old.owner, old.id, next, until)),
      )
      const stored = all.filter((_, i) => answers[i])
      t.equal(stored.length, 1)
      t.same(await idsOf(fixture, old.owner), [stored[0]!.id, old.id])
      for (const { id } of all) t.equal(await isFound(fixture, id), id === stored[0]!.id)
    }
  })
}

async function rewrittenCredentials(test: StoreTest): Promise<void> {
  await test('a rewritten credential has another text, and nothing else', async (t, fixture) => {
    const { credentials } = fixture.store
    const [stored, longer] = [await added(fixture), await added(fixture, '1', 10 * MINUTE)]
    await credentials.used('BUSINESS', stored.id, fixture.clock.now())
    const before = await credentials.of('BUSINESS', '1')
    t.equal(await credentials.rewrite('BUSINESS', stored.id, 'another', 'new'), false, 'the text is another one')
    t.strictSame(await credentials.find('BUSINESS', stored.id), stored)
    t.equal(await credentials.rewrite('BUSINESS', stored.id, 'text', 'new'), true)
    t.strictSame(await credentials.find('BUSINESS', stored.id), { ...stored, text: 'new' })
    t.same(
      await credentials.of('BUSINESS', '1'),
      before.map(one => (one.id === stored.id ? { ...one, text: 'new' } : one)),
    )
    await fixture.fastForward(MINUTE + SLACK)
    t.equal(await isFound(fixture, stored.id), false)
    t.same(await idsOf(fixture), [longer.id])
  })

  await test('a rewritten credential stays succeeded, and its end stays the earlier one', async (t, fixture) => {
    const { credentials } = fixture.store
    const old = await added(fixture, '1', 10 * MINUTE)
    const until = fixture.clock.now() + MINUTE
    t.equal(await credentials.succeed('BUSINESS', '1', old.id, credential(fixture), until), true)
    t.equal(await credentials.rewrite('BUSINESS', old.id, 'text', 'new'), true)
    t.strictSame(await credentials.find('BUSINESS', old.id), { ...old, text: 'new', expiresAt: until })
    t.equal(await credentials.succeed('BUSINESS', '1', old.id, credential(fixture), until), false)
    await fixture.fastForward(MINUTE + SLACK)
    t.equal(await isFound(fixture, old.id), false)
  })

  await test('of many simultaneous calls with one text before, one rewrites a credential', async (t, fixture) => {
    const { credentials } = fixture.store
    const { id } = await added(fixture)
    const texts = Array.from({ length: AT_ONCE }, (_, i) => `text ${i}`)
    const answers = await Promise.all(texts.map(to => credentials.rewrite('BUSINESS', id, 'text', to)))
    t.same(
      texts.filter((_, i) => answers[i]),
      [(await credentials.find('BUSINESS', id))?.text],
    )
  })

  await test('a rewrite and a removal at once leave no credential', async (t, fixture) => {
    const { credentials } = fixture.store
    for (let round = 0; round < 20; round++) {
      const { id } = await added(fixture)
      await Promise.all([
        credentials.rewrite('BUSINESS', id, 'text', 'new'),
        credentials.remove('BUSINESS', '1', id),
        credentials.rewrite('BUSINESS', id, 'new', 'newer'),
      ])
      t.equal(await isFound(fixture, id), false)
    }
    t.same(await idsOf(fixture), [])
  })
}

async function usedCredentials(test: StoreTest): Promise<void> {
  await test('a list says when a credential was last used', async (t, fixture) => {
    const { credentials } = fixture.store
    const [one, other] = [await added(fixture), await added(fixture)]
    const usedAt = async () => (await credentials.of('BUSINESS', '1')).map(({ usedAt }) => usedAt)
    await credentials.used('BUSINESS', one.id, 1000)
    t.same(await usedAt(), [null, 1000])
    await credentials.used('BUSINESS', one.id, 2000)
    await credentials.used('BUSINESS', other.id, 3000)
    await credentials.used('CONSUMER', one.id, 4000)
    t.same(await usedAt(), [3000, 2000])
    const { credentials: listed } = await credentials.page('BUSINESS', 0, 10)
    t.same(new Set(listed.map(({ id, usedAt }) => `${id} ${usedAt}`)), new Set([`${one.id} 2000`, `${other.id} 3000`]))
    await credentials.remove('BUSINESS', '1', one.id)
    await credentials.used('BUSINESS', one.id, 5000)
    t.equal(await isFound(fixture, one.id), false, 'a use creates none')
  })
}

async function pagesOfCredentials(test: StoreTest): Promise<void> {
  await test('the pages of a side have each credential once, those that end next first', async (t, fixture) => {
    const { credentials } = fixture.store
    const minutes = [7, 3, 12, 5, 9, 4, 6, 11, 10, 8]
    const byEnd: string[] = []
    for (const lifetime of minutes)
      byEnd[lifetime] = (await added(fixture, `owner-${lifetime % 3}`, lifetime * MINUTE)).id
    const expected = byEnd.filter(id => id !== undefined)
    await added(fixture, 'owner-1', MINUTE, 'CONSUMER')
    const pages = await Promise.all([0, 4, 8, 12].map(offset => credentials.page('BUSINESS', offset, 4)))
    t.same(
      pages.map(({ total }) => total),
      [10, 10, 10, 10],
    )
    t.same(
      pages.map(({ credentials }) => ids(credentials)),
      [expected.slice(0, 4), expected.slice(4, 8), expected.slice(8), []],
    )
    const last = pages[2]!.credentials.at(-1)!
    t.match(last, { owner: 'owner-0', text: 'text', usedAt: null, isSucceeded: false })

    const next = credential(fixture, last.owner, 20 * MINUTE)
    await credentials.succeed('BUSINESS', last.owner, last.id, next, fixture.clock.now() + MINUTE)
    const { credentials: all } = await credentials.page('BUSINESS', 0, 20)
    t.same(ids(all), [last.id, ...expected.slice(0, -1), next.id], 'one that was succeeded ends earlier')
    t.equal(all[0]!.isSucceeded, true)
    await fixture.fastForward(MINUTE + SLACK)
    t.same(ids((await credentials.page('BUSINESS', 0, 20)).credentials), [...expected.slice(0, -1), next.id])
  })

  await test('all credentials of a side are those that live, also while others are ended and added', async (t, fixture) => {
    const { credentials } = fixture.store
    const all = async (each: (some: Credential[]) => unknown = () => undefined): Promise<Credential[]> => {
      const found: Credential[] = []
      for await (const some of credentials.all('BUSINESS')) {
        found.push(...some)
        await each(some)
      }
      return found
    }
    t.same(await all(), [])
    const stay = await Promise.all(Array.from({ length: MANY }, (_, i) => added(fixture, `owner-${i}`, 9 * MINUTE)))
    const go = await Promise.all(Array.from({ length: MANY }, (_, i) => added(fixture, `owner-${i}`, 5 * MINUTE)))
    const short = await added(fixture)
    await added(fixture, '1', MINUTE, 'CONSUMER')
    t.same(new Set(ids(await all())), new Set(ids([...stay, ...go, short])))
    await fixture.fastForward(MINUTE + SLACK)
    const goes = new Set(ids(go))
    const found = await all(async some => {
      for (const { id, owner } of some) if (goes.has(id)) await credentials.remove('BUSINESS', owner, id)
      await added(fixture, 'later')
    })
    t.strictSame(
      stay.map(({ id }) => found.find(one => one.id === id)),
      stay,
    )
    t.notOk(ids(found).includes(short.id), 'it has expired')
    t.same(new Set(ids(await all()).filter(id => goes.has(id))), new Set())
  })
}

/** What a call answered, or that it had no answer: one that meets the end of all may have none. */
const answerOf = <T>(call: Promise<T>): Promise<T | null> =>
  call.catch((fault: unknown) => {
    if (fault instanceof Unavailable) return null
    throw fault
  })

async function simultaneousCredentials(test: StoreTest): Promise<void> {
  await test('whatever happens at once, what can be found is in the list of its owner, and no more than may be', async (t, fixture) => {
    const { credentials } = fixture.store
    const none: string[] = []
    for (let round = 0; round < 20; round++) {
      const owner = `owner-${round}`
      const old = [await added(fixture, owner), await added(fixture, owner)]
      const [one, two, three, four] = Array.from({ length: 4 }, () => credential(fixture, owner)) as [
        Credential,
        Credential,
        Credential,
        Credential,
      ]
      const until = fixture.clock.now() + MINUTE
      const [, , , , ended, ofOne, ofThree] = await Promise.all([
        answerOf(credentials.remove('BUSINESS', owner, old[0]!.id)),
        answerOf(credentials.succeed('BUSINESS', owner, old[0]!.id, two, until)),
        answerOf(credentials.succeed('BUSINESS', owner, old[1]!.id, four, until)),
        answerOf(credentials.rewrite('BUSINESS', old[1]!.id, 'text', 'new')),
        round % 2 === 0 ? answerOf(credentials.removeAll('BUSINESS', owner)) : none,
        answerOf(credentials.add('BUSINESS', one, 3)),
        answerOf(credentials.add('BUSINESS', three, 3)),
      ])
      await consistent(t, fixture, owner, [...old, one, two, three, four])
      t.equal(await isFound(fixture, old[0]!.id), false)
      for (const { id } of old) if (round % 2 === 0) t.equal(await isFound(fixture, id), false)
      for (const id of ended ?? []) t.equal(await isFound(fixture, id), false, 'what was named as ended')
      for (const [answer, { id }] of [[ofOne, one] as const, [ofThree, three] as const]) {
        const wasEnded = ended?.includes(id) ?? false
        t.equal(await isFound(fixture, id), answer === true && !wasEnded)
      }
      t.equal(typeof (await credentials.add('BUSINESS', credential(fixture, owner), 3)), 'boolean')
    }
  })
}

async function consistent(t: Test, fixture: StoreUnderTest, owner: string, all: readonly Credential[]): Promise<void> {
  const listed = await fixture.store.credentials.of('BUSINESS', owner)
  for (const { id } of all) t.equal(await isFound(fixture, id), ids(listed).includes(id), 'found or not listed')
  const counting = listed.filter(({ isSucceeded }) => !isSucceeded)
  t.ok(counting.length <= 3, `${counting.length} count`)
}

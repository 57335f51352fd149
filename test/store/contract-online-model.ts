import { LOGIN_TYPES, type LoginType } from '../../src/session/sides.ts'
import { fc } from '../support/random.ts'
import type { StoreTest, StoreUnderTest } from './contract.ts'
import { freshToken, record } from './contract-fixture.ts'
import { asCreatedAt, usersOnline } from './contract-online.ts'

/** Steps of time are far apart from lifetimes that end half-way between them, so that neither slack nor a busy
 * machine decides. */
const STEP = 120_000
const HALF = STEP / 2
const USERS = ['u', 'u:v', 'w', 'ada']
const NAMES = ['Ada', 'ada lovelace', '李雷', '', 'Grace']
const KEYWORDS = ['a', 'ADA', 'ada l', '雷', 'gr', 'w', 'u:v', 'lovelac']

interface Modelled {
  token: string
  type: LoginType
  user: string
  name: string
  createdAt: string
  endsAt: number
}

/** Who is online, in the simplest form: a list of all sessions ever. */
class Model {
  now = 0
  sessions: Modelled[] = []
  logins = 0

  live(type: LoginType): Modelled[] {
    return this.sessions.filter(session => session.type === type && session.endsAt > this.now)
  }

  /** The newest live session of each user, the newest first. */
  newest(type: LoginType): Modelled[] {
    const sorted = this.live(type).toSorted((a, b) => compare(b.createdAt, a.createdAt))
    const newest = sorted.filter((session, i) => sorted.findIndex(({ user }) => user === session.user) === i)
    return newest.toSorted((a, b) => compare(b.createdAt, a.createdAt) || compare(a.user, b.user))
  }

  found(type: LoginType, keyword: string): string[] {
    return this.newest(type)
      .filter(({ user, name }) => user === keyword || name.toLowerCase().includes(keyword.toLowerCase()))
      .map(({ user }) => user)
  }

  tally(type: LoginType): number[] {
    const live = this.live(type)
    const sizes = USERS.map(user => live.filter(session => session.user === user).length)
    return [sizes.filter(size => size > 0).length, live.length, Math.max(...sizes)]
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const step = fc.record({
  verb: fc.constantFrom('add', 'add', 'add', 'remove', 'removeAll', 'renew', 'wait', 'reindex'),
  type: fc.constantFrom(...LOGIN_TYPES),
  user: fc.constantFrom(...USERS),
  name: fc.constantFrom(...NAMES),
  /** Which of the live sessions of the side. */
  pick: fc.nat({ max: 5 }),
  steps: fc.integer({ min: 1, max: 4 }),
  /** Seconds before now that the record says it was created. */
  ago: fc.integer({ min: 0, max: 3 }),
})
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** After any sequence of verbs the view of a store is what a list in memory says. */
export async function onlineModelLaw(test: StoreTest): Promise<void> {
  await test('after any sequence of verbs the view shows who is online', async (t, fixture) => {
    const [start, before] = [fixture.clock.now(), new Model()]
    let [runs, logins] = [0, 0]
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async steps => {
        for (const type of LOGIN_TYPES) {
          for (const user of USERS) await fixture.store.sessions.removeAll(type, user)
        }
        const model = new Model()
        model.now = before.now
        for (const step of steps) {
          await take(fixture, model, start, step)
          before.now = model.now
          if (step.verb === 'wait') await compareView(fixture, model)
        }
        logins += model.logins
        await compareView(fixture, model)
        runs++
      }),
      { numRuns: 25 },
    )
    t.ok(runs >= 25)
    const counts = await Promise.all(LOGIN_TYPES.map(type => fixture.store.online.loginsSince(type, start)))
    t.equal(
      counts.reduce((sum, count) => sum + count, 0),
      logins,
    )
  })
}

async function take(fixture: StoreUnderTest, model: Model, start: number, step: Step): Promise<void> {
  const { type, user, name } = step
  const { sessions, online } = fixture.store
  const endsAt = fixture.clock.now() + step.steps * STEP - HALF
  const modelEndsAt = model.now + step.steps * STEP - HALF
  const picked = model.live(type).at(-1 - step.pick)
  switch (step.verb) {
    case 'add': {
      const token = freshToken()
      const createdAt = createdApart(model, start, step)
      const created = { ...record(type, user, { username: name }), created_at: createdAt }
      await sessions.add(type, token, created, endsAt)
      model.sessions.push({ token, type, user, name, createdAt, endsAt: modelEndsAt })
      model.logins++
      break
    }
    case 'remove':
      if (picked === undefined) break
      await sessions.remove(type, picked.user, picked.token)
      picked.endsAt = 0
      break
    case 'removeAll':
      await sessions.removeAll(type, user)
      for (const session of model.live(type)) if (session.user === user) session.endsAt = 0
      break
    case 'renew':
      if (picked === undefined) break
      await sessions.renew(type, picked.user, picked.token, endsAt)
      picked.endsAt = modelEndsAt
      break
    case 'reindex':
      expect(await online.reindex(type, () => undefined), model.live(type).length, 'reindex')
      break
    case 'wait':
      await fixture.fastForward(step.steps * STEP)
      model.now += step.steps * STEP
  }
}

/** Created in a second of its own among the sessions of the user: which of one second is the newest is left to the store. */
function createdApart(model: Model, start: number, { type, user, ago }: Step): string {
  const others = model.sessions.filter(session => session.type === type && session.user === user)
  for (let seconds = ago; ; seconds++) {
    const createdAt = asCreatedAt(start + model.now - seconds * 1000)
    if (others.every(session => session.createdAt !== createdAt)) return createdAt
  }
}

async function compareView(fixture: StoreUnderTest, model: Model): Promise<void> {
  for (const type of LOGIN_TYPES) {
    const { users, tokens, maxTokensPerUser } = await fixture.store.online.tally(type)
    expect([users, tokens, maxTokensPerUser], model.tally(type), `tally ${type}`)
    const everybody = model.newest(type).map(({ user }) => user)
    expect(await usersOnline(fixture, '', type), everybody, `page ${type}`)
    for (const [i, user] of everybody.entries()) {
      const page = await fixture.store.online.page(type, { offset: i, limit: 1 })
      expect(page, { total: everybody.length, userIds: [user] }, `page ${type} ${i}`)
    }
    for (const keyword of KEYWORDS) {
      expect(await usersOnline(fixture, keyword, type), model.found(type, keyword), `keyword ${keyword} ${type}`)
    }
  }
}

function expect(actual: unknown, expected: unknown, what: string): void {
  const [is, should] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (is !== should) throw new Error(`${what}: ${is} instead of ${should}`)
}

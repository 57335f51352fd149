import { LOGIN_TYPES, type LoginType } from '../../src/session/sides.ts'
import { fc } from '../support/random.ts'
import type { StoreTest, StoreUnderTest } from './contract.ts'
import { freshToken, MINUTE, record, SLACK } from './contract-fixture.ts'

/** Steps of time are far apart from lifetimes that end half-way between them, so that slack never decides. */
const STEP = 20 * MINUTE
const HALF = STEP / 2

interface Modelled {
  type: LoginType
  user: string
  endsAt: number
}

/** What a store has to hold, in the simplest form that can be wrong in nothing. Time starts at zero. */
class Model {
  readonly #began = performance.now()
  now = 0
  readonly tokens = new Map<string, Modelled>()
  readonly disabled = new Map<string, number>()

  live(token: string): Modelled | null {
    const held = this.tokens.get(token)
    return held !== undefined && held.endsAt > this.now ? held : null
  }
  ofUser(type: LoginType, user: string): string[] {
    return [...this.tokens.keys()].filter(token => {
      const held = this.live(token)
      return held !== null && held.type === type && held.user === user
    })
  }
  /** By how much timestamps may be apart: time passes for the store, and not here. */
  get slack(): number {
    return 2 * SLACK + performance.now() - this.#began
  }
  disabledUntil(type: LoginType, user: string): number | null {
    const until = this.disabled.get(type + user) ?? 0
    return until > this.now ? until : null
  }
}

const USERS = ['u', 'u:v', 'w']

const step = fc.record({
  verb: fc.constantFrom('add', 'add', 'add', 'remove', 'removeAll', 'renew', 'disable', 'untie', 'wait', 'wait'),
  type: fc.constantFrom(...LOGIN_TYPES),
  user: fc.constantFrom(...USERS),
  /** Which of all tokens ever issued. */
  pick: fc.nat({ max: 5 }),
  steps: fc.integer({ min: 1, max: 4 }),
})
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** After any sequence of verbs a store answers what a map in memory would. */
export async function modelLaw(test: StoreTest): Promise<void> {
  await test('after any sequence of verbs the store holds what was said', async (t, fixture) => {
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async steps => {
        await compareWithModel(fixture, steps, `r${run++}-`)
      }),
      { numRuns: 25 },
    )
    t.ok(run >= 25)
  })
}

async function compareWithModel(fixture: StoreUnderTest, steps: Step[], prefix: string): Promise<void> {
  const model = new Model()
  for (const step of steps) await take(fixture, model, { ...step, user: prefix + step.user })
  for (const type of LOGIN_TYPES) {
    for (const user of USERS) await compareUser(fixture, model, type, prefix + user)
  }
  for (const token of model.tokens.keys()) {
    for (const type of LOGIN_TYPES) {
      const found = await fixture.store.sessions.find(type, token)
      const held = model.live(token)
      expect(found?.user_id, held?.type === type ? held.user : undefined, `find ${type} ${token}`)
    }
  }
}

async function take(fixture: StoreUnderTest, model: Model, { verb, type, user, pick, steps }: Step): Promise<void> {
  const { sessions } = fixture.store
  const lifetime = steps * STEP - HALF
  const endsAt = fixture.clock.now() + lifetime
  const token = [...model.tokens.keys()].at(-1 - pick) ?? freshToken()
  const owned = model.live(token)?.user === user && model.live(token)?.type === type
  switch (verb) {
    case 'add': {
      const added = freshToken()
      const isDisabled = model.disabledUntil(type, user) !== null
      expect((await sessions.add(type, added, record(type, user), endsAt)).admitted, !isDisabled, 'add')
      model.tokens.set(added, { type, user, endsAt: isDisabled ? 0 : model.now + lifetime })
      break
    }
    case 'remove':
      expect(await sessions.remove(type, user, token), owned, 'remove')
      if (owned) model.tokens.set(token, { type, user, endsAt: 0 })
      break
    case 'removeAll': {
      const all = model.ofUser(type, user)
      expect(await sessions.removeAll(type, user), all.length, 'removeAll')
      for (const ended of all) model.tokens.set(ended, { type, user, endsAt: 0 })
      break
    }
    case 'renew':
      expect(await sessions.renew(type, user, token, endsAt), owned, 'renew')
      if (owned) model.tokens.set(token, { type, user, endsAt: model.now + lifetime })
      break
    case 'disable':
      await sessions.disable(type, user, endsAt)
      model.disabled.set(type + user, model.now + lifetime)
      break
    case 'untie':
      expect(await sessions.untieDisable(type, user), model.disabledUntil(type, user) !== null, 'untie')
      model.disabled.delete(type + user)
      break
    case 'wait':
      await fixture.fastForward(steps * STEP)
      model.now += steps * STEP
  }
}

async function compareUser(fixture: StoreUnderTest, model: Model, type: LoginType, user: string): Promise<void> {
  const { sessions } = fixture.store
  const left = (timestamp: number | null): number | null =>
    timestamp === null ? null : timestamp - fixture.clock.now()
  const tokens = model.ofUser(type, user)
  const listed = await sessions.tokens(type, user)
  expect(listed.map(({ token }) => token).join(), tokens.toSorted().join(), `tokens of ${user}`)
  for (const { token, expiresAt } of listed) {
    near(left(expiresAt), (model.live(token)?.endsAt ?? 0) - model.now, model.slack, `end of ${token}`)
  }
  const longest = Math.max(...tokens.map(token => model.live(token)?.endsAt ?? 0)) - model.now
  const session = left(await sessions.sessionExpiresAt(type, user))
  expect(session === null, tokens.length === 0, `session of ${user}`)
  if (session !== null && session < longest - model.slack)
    throw new Error(`the session of ${user} ends before its tokens`)
  const until = model.disabledUntil(type, user)
  const disabled = left(await sessions.disabledUntil(type, user))
  near(disabled, until === null ? null : until - model.now, model.slack, `disable of ${user}`)
}

function expect(actual: unknown, wanted: unknown, what: string): void {
  if (actual !== wanted) throw new Error(`${what}: ${String(actual)}, expected ${String(wanted)}`)
}

function near(actual: number | null, wanted: number | null, slack: number, what: string): void {
  const apart = Math.abs((actual ?? Number.NaN) - (wanted ?? Number.NaN))
  if (actual !== wanted && !(apart <= slack)) throw new Error(`${what}: ${actual}, expected ${wanted}`)
}

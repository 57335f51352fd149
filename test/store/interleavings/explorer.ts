import type { LoginType } from '../../../src/session/sides.ts'
import { Fixture, type Scenario } from './fixture.ts'
import { Violation } from './scene.ts'

type AnyAct = { verb: string; type: LoginType }

/** States after which other things in the process get their turn. */
const BREATH = 1000
/** One choice in so many may be a fault. */
const FAULT_EVERY = 7

export interface Exploration {
  /** Different states that were seen. */
  states: number
  /** The shortest way to break a law, in words; `null` without one. */
  violation: string[] | null
}

/**
 * Tries every interleaving of a scenario, each with every fault at every step, the shortest first. Ways that meet in the
 * same state go on as one; a state is reached again by doing the same steps on a new fixture.
 */
export async function explore<A extends AnyAct, V>(scenario: Scenario<A, V>): Promise<Exploration> {
  const seen = new Set<string>()
  let ways: number[][] = [[]]
  while (ways.length > 0) {
    const next: number[][] = []
    for (const way of ways) {
      const fixture = await replay(scenario, way)
      const state = fixture.print()
      if (seen.has(state)) continue
      seen.add(state)
      const options = fixture.options().length
      const violation = await violationOf(fixture)
      if (violation !== null) return { states: seen.size, violation }
      for (let option = 0; option < options; option++) next.push([...way, option])
      if (seen.size % BREATH === 0) await new Promise(resolve => setImmediate(resolve))
    }
    ways = next
  }
  return { states: seen.size, violation: null }
}

async function replay<A extends AnyAct, V>(scenario: Scenario<A, V>, way: number[]): Promise<Fixture<A, V>> {
  const fixture = new Fixture(scenario)
  await fixture.open()
  for (const option of way) await fixture.take(fixture.options()[option]!)
  return fixture
}

/** Goes one way through a scenario: a number chooses each step, and now and then a fault. Answers what was broken, if anything. */
export async function walk<A extends AnyAct, V>(
  scenario: Scenario<A, V>,
  choices: readonly number[],
): Promise<string[] | null> {
  const fixture = new Fixture(scenario)
  await fixture.open()
  for (let step = 0; !fixture.over; step++) {
    const options = fixture.options()
    const choice = choices[step % choices.length] ?? 0
    const calm = options.filter(({ fate }) => fate === 'done')
    const among = choice % FAULT_EVERY === 0 ? options : calm
    await fixture.take(among[Math.floor(choice / FAULT_EVERY) % among.length]!)
    const violation = await violationOf(fixture)
    if (violation !== null) return violation
  }
  return null
}

/** The law that a fixture breaks and how it came to it; `null` when it breaks none. A fixture that is over is closed for it. */
async function violationOf<A extends AnyAct, V>(fixture: Fixture<A, V>): Promise<string[] | null> {
  const trace = [...fixture.trace]
  try {
    fixture.check()
    if (fixture.over) await fixture.close()
    return null
  } catch (error) {
    if (error instanceof Violation) return [...trace, error.message]
    throw error
  }
}

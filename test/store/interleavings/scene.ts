import type { LoginType } from '../../../src/session/sides.ts'
import type { Wait } from './acts.ts'
import type { ModelRedis } from './model-redis.ts'

/** An act on the fixture. Steps count what happened before it began and was answered; `Infinity` when it has not been. */
export interface Scene<A> {
  act: A | Wait
  actor: number
  began: number
  answered: number
  /** The timestamps of both. */
  beganAt: number
  answeredAt: number
  answer: unknown
  /** It ended with `Unavailable`. */
  failed: boolean
  /** How many faults befell it. */
  faults: number
}

/** A part of the store, how actors use it, and the law that it keeps. */
export interface Subject<A extends { verb: string; type: LoginType }, V> {
  perform(act: A, verbs: V, now: number): Promise<unknown>
  print(act: A): string
  /** Throws a `Violation`. */
  check(redis: ModelRedis, scenes: readonly Scene<A>[]): void
  /** Whether an actor can do this now. */
  canBegin(act: A, scenes: readonly Scene<A>[]): boolean
  /** What is done when all actors are, for the last check. */
  closing(scenes: readonly Scene<A>[], redis: ModelRedis): (A | Wait)[]
}

export class Violation extends Error {}

export function expect(holds: boolean, law: string): void {
  if (!holds) throw new Violation(law)
}

export const begun = ({ began }: Scene<unknown>): boolean => began !== Infinity
export const succeeded = (scene: Scene<unknown>): boolean => scene.answered !== Infinity && !scene.failed

/** P6 and P9, which hold of everything. */
export function checkEverywhere<A>(
  redis: ModelRedis,
  scenes: readonly Scene<A>[],
  print: (act: A | Wait) => string,
): void {
  for (const key of redis.keys()) expect(redis.entry(key)!.endsAt !== Infinity, `P6: ${key} has no lifetime`)
  for (const { act, answered, failed, faults } of scenes)
    expect(faults === 0 || failed || answered === Infinity, `P9: ${print(act)} answered although Redis had not`)
}

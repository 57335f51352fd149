import type { Clock } from '../../../src/base/clock.ts'
import { Unavailable } from '../../../src/base/refusal.ts'
import type { LoginType } from '../../../src/session/sides.ts'
import type { Keys } from '../../../src/store/redis/commands/key-names.ts'
import { keys, PREFIX, type Wait } from './acts.ts'
import { type Commands, ModelRedis } from './model-redis.ts'
import { expect, type Scene, type Subject, Violation } from './scene.ts'

export type Build<V> = (redis: Commands, keys: Keys, clock: Clock) => V

type AnyAct = { verb: string; type: LoginType }

export interface Scenario<A extends AnyAct, V> {
  subject: Subject<A, V>
  build: Build<V>
  /** Done before anything else, one after the other. */
  before: (A | Wait)[]
  /** Each does its acts in order; who comes first among them is open. */
  actors: (A | Wait)[][]
  /** How many faults may happen. */
  faults: number
}

/**
 * What can become of a command: it happens; it happens and its actor gets a failure; the actor does, and it happens
 * later, or never; its actor dies before it.
 */
export type Fate = 'done' | 'unanswered' | 'late' | 'crash'
const FAULTS: Fate[] = ['unanswered', 'late', 'crash']
/** A question changes nothing when it is answered late. */
const FAULTS_OF_QUESTIONS: Fate[] = ['unanswered', 'crash']
const QUESTION = /^(?:get|read|timeLeft|endOf|someMembers|scanMembers|countMembers|listed|pageEnding|someEnding) /

interface Pending {
  scene: Scene<unknown>
  text: string
  run(): unknown
  resolve(answer: unknown): void
  reject(error: Error): void
}

const BEGINS = 'begins'
const NO_ANSWER = new Unavailable('no answer')

export interface Option {
  pending: Pending
  fate: Fate
}

/** Actors whose every command waits until a test lets it happen. */
export class Fixture<A extends AnyAct, V> {
  readonly redis = new ModelRedis()
  readonly scenes: Scene<A>[] = []
  /** What happened, in words. */
  readonly trace: string[] = []
  readonly #scenario: Scenario<A, V>
  #pending: Pending[] = []
  readonly #late: Pending[] = []
  readonly #answered: string[][]
  #faultsLeft: number
  #step = 0
  #fault: Violation | null = null

  constructor(scenario: Scenario<A, V>) {
    this.#scenario = scenario
    this.#faultsLeft = scenario.faults
    this.#answered = scenario.actors.map(() => [])
  }

  async open(): Promise<void> {
    for (const act of this.#scenario.before) await this.#undisturbed(act)
    for (const [actor, acts] of this.#scenario.actors.entries()) this.#wait(actor, acts)
    this.trace.length = 0
  }

  options(): Option[] {
    const options: Option[] = []
    for (const pending of this.#pending) {
      options.push({ pending, fate: 'done' })
      if (this.#faultsLeft === 0 || pending.text === BEGINS) continue
      const faults = QUESTION.test(pending.text) ? FAULTS_OF_QUESTIONS : FAULTS
      for (const fate of faults) options.push({ pending, fate })
    }
    for (const pending of this.#late) options.push({ pending, fate: 'done' })
    return options
  }

  async take({ pending, fate }: Option): Promise<void> {
    const { scene, text } = pending
    this.#step++
    this.trace.push(
      `${scene.actor} ${this.#print(scene.act as A | Wait)}: ${text}${fate === 'done' ? '' : ` [${fate}]`}`,
    )
    if (this.#late.includes(pending)) {
      this.#late.splice(this.#late.indexOf(pending), 1)
      pending.run()
      return
    }
    this.#pending = this.#pending.filter(other => other !== pending)
    if (fate !== 'done') {
      this.#faultsLeft--
      scene.faults++
    }
    const answer = fate === 'done' || fate === 'unanswered' ? pending.run() : undefined
    this.#answered[scene.actor]?.push(`${text} ${fate} ${JSON.stringify(answer)}`)
    if (fate === 'crash') this.#bury(scene.actor)
    else if (fate === 'done') pending.resolve(answer)
    else pending.reject(NO_ANSWER)
    if (fate === 'late') this.#late.push(pending)
    await settled()
  }

  #bury(actor: number): void {
    this.#pending = this.#pending.filter(other => other.scene.actor !== actor)
    this.#answered[actor] = ['dead']
  }

  check(): void {
    if (this.#fault !== null) throw this.#fault
    this.#scenario.subject.check(this.redis, this.scenes)
  }

  /** Only what may never happen is left. */
  get over(): boolean {
    return this.#pending.length === 0
  }

  /** Does what is done at the end, and checks what is left. */
  async close(): Promise<void> {
    for (const act of this.#scenario.subject.closing(this.scenes, this.redis)) await this.#undisturbed(act)
    this.check()
  }

  #print(act: A | Wait): string {
    return isWait(act) ? `wait ${act.lifetime}` : this.#scenario.subject.print(act)
  }

  /** Two stages with the same print go on alike. */
  print(): string {
    const order = this.scenes.map(({ began, failed, faults, answer }) => {
      const before = this.scenes.map(other => (other.answered < began ? 1 : 0)).join('')
      return `${before}${failed}${faults}${JSON.stringify(answer)}`
    })
    const late = this.#late.map(({ text }) => text)
    return JSON.stringify([this.redis.now, this.redis.print(), this.#answered, order, late, this.#faultsLeft])
  }

  /** An actor's next act begins when a test lets it. */
  #wait(actor: number, [act, ...rest]: (A | Wait)[]): void {
    if (act === undefined) return
    const scene = this.#scene(act, actor)
    const begin = (): void => {
      if (!isWait(act) && !this.#scenario.subject.canBegin(act, this.scenes)) {
        this.#wait(actor, rest)
        return
      }
      scene.began = this.#step
      scene.beganAt = this.redis.now
      const commands = this.#commandsFor(scene, (text, run) => this.#queued(scene, text, run))
      this.#play(scene, commands).then(
        () => {
          // A verb remembers nothing: the next act goes on alike, whatever this one was answered.
          this.#answered[actor] = []
          this.#wait(actor, rest)
        },
        error => {
          this.#fault = new Violation(`P9: ${this.#print(act)} threw ${String(error)}`)
        },
      )
    }
    this.#pending.push({ scene, text: BEGINS, run: begin, resolve: () => undefined, reject: () => undefined })
  }

  async #undisturbed(act: A | Wait): Promise<void> {
    const scene = this.#scene(act, -1)
    scene.began = ++this.#step
    scene.beganAt = this.redis.now
    await this.#play(
      scene,
      this.#commandsFor(scene, async (_text, run) => run()),
    )
    this.#step++
  }

  #scene(act: A | Wait, actor: number): Scene<A> {
    const scene: Scene<A> = {
      act,
      actor,
      began: Infinity,
      answered: Infinity,
      beganAt: 0,
      answeredAt: 0,
      answer: null,
      failed: false,
      faults: 0,
    }
    this.scenes.push(scene)
    return scene
  }

  async #play(scene: Scene<A>, commands: Commands): Promise<void> {
    const { act } = scene
    const verbs = this.#scenario.build(commands, keys, this.redis.clock)
    try {
      if (isWait(act)) this.redis.now += act.lifetime
      else scene.answer = (await this.#scenario.subject.perform(act, verbs, this.redis.now)) ?? null
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      scene.failed = true
    }
    scene.answered = this.#step
    scene.answeredAt = this.redis.now
  }

  #commandsFor({ act }: Scene<A>, ask: (text: string, run: () => unknown) => Promise<unknown>): Commands {
    const commands: Record<string, unknown> = {}
    for (const [name, run] of Object.entries(this.redis.commands)) {
      commands[name] = (...args: unknown[]) => {
        const [key] = args as [string]
        if (!isWait(act)) expect(key.startsWith(`${PREFIX}:${act.type}:`), `P7: ${name} on ${key}`)
        return ask(`${name} ${args.map(String).join(' ')}`, () => (run as (...args: unknown[]) => unknown)(...args))
      }
    }
    return commands as unknown as Commands
  }

  #queued(scene: Scene<A>, text: string, run: () => unknown): Promise<unknown> {
    return new Promise((resolve, reject) => this.#pending.push({ scene, text, run, resolve, reject }))
  }
}

const isWait = (act: AnyAct | Wait): act is Wait => act.verb === 'wait'

/** Until every actor waits again: Node runs these when no promise is left to go on. */
const settled = (): Promise<void> => new Promise(resolve => process.nextTick(resolve))

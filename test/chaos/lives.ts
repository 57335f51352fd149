import type { Administrator } from './administrator.ts'
import { type Editor, runAccountCommand } from './by-hand.ts'
import type { History } from './history.ts'
import type { OwnAccount } from './own-account.ts'
import { EDITED } from './people-file.ts'
import { newPassword, type PeopleRequests, pause } from './people-requests.ts'
import { type Knowledge, type Person, personOf } from './person.ts'
import type { SignIn } from './sign-in.ts'

/** Between two things that a person does, in milliseconds. */
const PAUSE = 200
/** Who is added and removed, again and again. */
const HIRED = 'person-hired'
const COMMAND = 'the command line'

export interface Parts {
  requests: PeopleRequests
  knowledge: Knowledge
  administrator: Administrator
  signIn: SignIn
  own: OwnAccount
  editor: Editor
}

/** What everybody does and what is done to them, until it is stopped. */
export class Lives {
  readonly #requests: PeopleRequests
  readonly #history: History
  readonly #knowledge: Knowledge
  readonly #administrator: Administrator
  readonly #signIn: SignIn
  readonly #own: OwnAccount
  readonly #editor: Editor
  #stopped = false

  constructor(parts: Parts) {
    this.#requests = parts.requests
    this.#history = parts.requests.history
    this.#knowledge = parts.knowledge
    this.#administrator = parts.administrator
    this.#signIn = parts.signIn
    this.#own = parts.own
    this.#editor = parts.editor
  }

  stop(): void {
    this.#stopped = true
  }

  /** A person with an account. Their changes come one after the other, and those of different persons at the same time. */
  async live(username: string): Promise<void> {
    const person = personOf(this.#knowledge.find(username)!, username)
    while (!this.#stopped) {
      await pause(PAUSE * (0.5 + Math.random()))
      if (await this.#act(person)) continue
      // What was not answered may have happened; the file shows it.
      await pause(PAUSE)
      this.#knowledge.learn(person)
    }
    this.#knowledge.agrees(person, fault => this.#history.violated(fault))
  }

  /** `false` when it is not known what came of it. */
  async #act(person: Person): Promise<boolean> {
    const dice = Math.random()
    if (person.held.length < 2 || dice < 0.22) return this.#signIn.signIn(person)
    if (dice < 0.3) return this.#own.changePassword(person)
    if (dice < 0.57) await this.#beChanged(person, dice)
    else if (dice < 0.75 && !person.hasFactor) return this.#own.enrol(person)
    else for (const token of person.held) await this.#requests.actors.request('BUSINESS', token)
    return true
  }

  async #beChanged(person: Person, dice: number): Promise<void> {
    const administrator = this.#administrator
    if (dice < 0.38) await administrator.changeRoles(person)
    else if (dice < 0.42) await this.#beLocked(person)
    else if (dice < 0.46) await administrator.edit(person, { nickname: `Name ${Math.floor(Math.random() * 1e6)}` })
    else if (dice < 0.53) await administrator.resetPassword(person, dice < 0.5)
    else if (dice < 0.55 && person.hasFactor) await administrator.resetFactor(person)
    else if (dice < 0.57) await this.#beCommanded(person)
  }

  /** A locked person cannot sign in, until the lock is lifted. */
  async #beLocked(person: Person): Promise<void> {
    await this.#administrator.change(person, 'edit', { status: 'LOCKED' }, { status: 'LOCKED' })
    await this.#signIn.signIn(person)
    await this.#administrator.edit(person, { status: 'ACTIVE' })
  }

  /** The command line resets the second factor or the password. The running gateway finds the change in the file. */
  async #beCommanded(person: Person): Promise<void> {
    const { held, username } = person
    this.#history.kicksOut('BUSINESS', person.id, 'change of the account')
    if (person.hasFactor) {
      if (!(await this.#command(['reset-second-factor', username]))) return
      Object.assign(person, { hasFactor: false, secret: null, codes: [] })
    } else {
      const password = newPassword()
      if (!(await this.#command(['passwd', username, '--must-change', '--password-stdin'], password))) return
      Object.assign(person, { password, mustChange: true })
    }
    person.held = []
    await this.#requests.untilEnded(held, COMMAND)
  }

  async #command(words: readonly string[], input?: string): Promise<boolean> {
    const { pauses } = this.#history.counts
    const errors = await runAccountCommand(this.#requests.gateway.folder, words, input)
    this.#history.counts.commands++
    if (errors === null) return true
    if (this.#history.counts.pauses > pauses) return this.#command(words, input)
    this.#history.violated(`account ${words.join(' ')} ended with ${errors}`)
    return false
  }

  /** A person is added, signs in for the first time, and is removed, by the administrator or by the command line. */
  async beHired(): Promise<void> {
    let person: Person | null = null
    while (!this.#stopped) {
      await pause(PAUSE * (0.5 + Math.random()))
      if (person === null) person = await this.#hire()
      else if (person.held.length >= 2 && Math.random() < 0.4) person = await this.#dismiss(person)
      else if (!(await this.#signIn.signIn(person))) {
        await pause(PAUSE)
        this.#knowledge.learn(person)
      } else await this.#requests.use(person.held)
    }
    if (person !== null) this.#knowledge.agrees(person, fault => this.#history.violated(fault))
  }

  async #hire(): Promise<Person | null> {
    if (Math.random() < 0.7) return this.#administrator.add(HIRED)
    const password = newPassword()
    const words = ['add', HIRED, '--must-change', '--password-stdin']
    const found = (await this.#command(words, password)) ? this.#knowledge.find(HIRED) : null
    return found === null ? null : personOf(found, password)
  }

  async #dismiss(person: Person): Promise<Person | null> {
    if (Math.random() < 0.7) await this.#administrator.remove(person)
    else {
      this.#history.kicksOut('BUSINESS', person.id, 'removal of the account')
      if (!(await this.#command(['remove', person.username]))) return person
      await this.#requests.untilEnded(person.held, COMMAND)
    }
    await this.#signIn.expectRemoved(person)
    return null
  }

  /** An account that an editor changes, also while others are changed: its sessions end each time. */
  async beEdited(): Promise<void> {
    const person = personOf(this.#knowledge.find(EDITED)!, EDITED)
    // From now on its sessions may end at any time.
    this.#history.kicksOut('BUSINESS', person.id, 'change of the account')
    while (!this.#stopped) {
      await pause(PAUSE * (0.5 + Math.random()))
      const began = this.#history.now()
      const token = (await this.#signIn.sendPassword(person))?.data?.token
      if (typeof token !== 'string') continue
      this.#history.loggedIn(token, 'BUSINESS', person.id, began)
      if (this.#editor.save()) await this.#requests.untilEnded([token], 'an editor')
    }
  }
}

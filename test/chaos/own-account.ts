import { codeAt } from '../second-factor/factor-fixture.ts'
import type { Act, History } from './history.ts'
import { type Body, newPassword, type PeopleRequests } from './people-requests.ts'
import type { Knowledge, Person } from './person.ts'

const OWN = '/api/v1/b/account'

/** What people change of their own accounts, with a session. Each answers `false` when it is not known what came of it. */
export class OwnAccount {
  readonly #requests: PeopleRequests
  readonly #history: History
  readonly #knowledge: Knowledge

  constructor(requests: PeopleRequests, knowledge: Knowledge) {
    this.#requests = requests
    this.#history = requests.history
    this.#knowledge = knowledge
  }

  /** Sets up a second factor with an old session, and tries the code of its set-up twice. */
  async enrol(person: Person): Promise<boolean> {
    const token = person.held[0]!
    const began = this.#history.now()
    const current_password = this.#requests.encrypt(person.password)
    const shown = await this.#requests.send(`${OWN}/second-factor/setup`, { current_password }, token)
    if (shown?.code !== 200) return this.#refused(person, token, shown, began)
    const { secret } = shown.data
    const now = Date.now()
    const meant = this.#knowledge.requested(person, { hasFactor: true })
    const confirm = () => this.#requests.send(`${OWN}/second-factor/confirm`, { code: codeAt(secret, now) }, token)
    const answers = await Promise.all([confirm(), confirm()])
    const done = answers.filter(answer => answer?.code === 200)
    if (done.length > 1) this.#history.violated('one code has confirmed a second factor twice')
    if (!answers.includes(null)) this.#knowledge.answered(person, meant)
    if (done.length > 0) {
      Object.assign(person, { ...{ secret, hasFactor: true }, codes: done[0]!.data.recovery_codes })
      person.step = Math.floor(now / 30_000)
      return true
    }
    if (answers.includes(null)) return false
    return this.#refused(person, token, answers.find(answer => answer?.code === 401) ?? answers[0]!, began)
  }

  async changePassword(person: Person): Promise<boolean> {
    const [token, ...others] = person.held
    const began = this.#history.now()
    const password = newPassword()
    const act = this.#history.endsOthers(token!, 'password change')
    const meant = this.#knowledge.requested(person, { password })
    const body = {
      current_password: this.#requests.encrypt(person.password),
      new_password: this.#requests.encrypt(password),
    }
    const done = await this.#requests.send(`${OWN}/password`, body, token)
    if (done !== null) this.#knowledge.answered(person, meant)
    if (done?.code !== 200) return this.#refused(person, token!, done, began, act)
    act.acked = this.#history.now()
    Object.assign(person, { password, held: [token] })
    await this.#requests.use([token!, ...others])
    return true
  }

  /** A request of a session that was refused: the session must have ended, or the account changed, by a fault at least. */
  #refused(person: Person, token: string, done: Body, began: number, act?: Act): boolean {
    if (done === null) return false
    if (act !== undefined) this.#history.withdraw(act)
    person.held = person.held.filter(held => held !== token)
    if (done.code === 401) this.#history.answered(token, began, 'refused')
    else if (this.#knowledge.agrees(person) && !this.#history.mayBeLost(began))
      this.#history.violated(`a change of the own account was refused: ${JSON.stringify(done)}`)
    else return false
    return true
  }
}

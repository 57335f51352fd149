import type { History } from './history.ts'
import { CHIEF } from './people-file.ts'
import { type Body, newPassword, type PeopleRequests, pause } from './people-requests.ts'
import { type Knowledge, type Meant, type Person, personOf } from './person.ts'

const ACCOUNTS = '/api/v1/sys/account'
/** Before a change is repeated, in milliseconds: before a worker does by itself what is missing. */
const REPEAT = 100
/** Repetitions of one change; more than any fault lasts. */
const MAX_TRIES = 600

/** Changes accounts, and repeats what was not answered with success until it is. */
export class Administrator {
  readonly #requests: PeopleRequests
  readonly #history: History
  readonly #knowledge: Knowledge
  #token: string | null = null

  constructor(requests: PeopleRequests, knowledge: Knowledge) {
    this.#requests = requests
    this.#history = requests.history
    this.#knowledge = knowledge
  }

  /** A change that ends the sessions of a person, whichever try succeeds. */
  async change(person: Person, path: string, body: object, meant: Meant): Promise<void> {
    const act = this.#history.kicksOut('BUSINESS', person.id, 'change of the account')
    if (!(await this.#apply(person, path, body, meant))) return
    act.acked = this.#history.now()
    await this.#useOld(person)
  }

  /** A change that ends no session. */
  async edit(person: Person, meant: Meant): Promise<void> {
    await this.#apply(person, 'edit', meant, meant)
  }

  changeRoles(person: Person): Promise<void> {
    const roles = person.roles.length === 0 ? ['operator'] : []
    return this.change(person, 'edit', { roles }, { roles })
  }

  /** The next login demands another password, unless the administrator says that it need not. */
  resetPassword(person: Person, mustChange: boolean): Promise<void> {
    const password = newPassword()
    const said = mustChange ? {} : { must_change_password: false }
    const body = { password: this.#requests.encrypt(password), ...said }
    return this.change(person, 'reset-password', body, { password, mustChange })
  }

  async resetFactor(person: Person): Promise<void> {
    await this.change(person, 'reset-second-factor', {}, { hasFactor: false })
    Object.assign(person, { secret: null, codes: [] })
  }

  /** An account that demands another password at its first login; `null` if it was refused. */
  async add(username: string): Promise<Person | null> {
    const password = newPassword()
    const { done, tries } = await this.#untilAnswered('add', { username, password: this.#requests.encrypt(password) })
    const isAdded = done?.code === 200 || (tries > 1 && done?.message === 'username: is taken')
    const found = this.#knowledge.find(username)
    if (!isAdded) this.#history.violated(`add was refused: ${JSON.stringify(done)}`)
    else if (found === null) this.#history.violated(`${username} was added and is not in the accounts file`)
    return isAdded && found !== null ? personOf(found, password) : null
  }

  async remove({ id, username, held }: Person): Promise<void> {
    const act = this.#history.kicksOut('BUSINESS', id, 'removal of the account')
    const { done, tries } = await this.#untilAnswered('remove', { id })
    const isRemoved = done?.code === 200 || (tries > 1 && done?.message === 'No such account')
    if (!isRemoved) return this.#history.violated(`remove was refused: ${JSON.stringify(done)}`)
    act.acked = this.#history.now()
    if (this.#knowledge.find(username) !== null)
      this.#history.violated(`${username} was removed and is in the accounts file`)
    await this.#requests.use(held)
  }

  async #apply(person: Person, path: string, body: object, meant: Meant): Promise<boolean> {
    this.#knowledge.requested(person, meant)
    const { done } = await this.#untilAnswered(path, { id: person.id, ...body })
    // Without an answer the change remains possible.
    if (done === null) return false
    this.#knowledge.answered(person, meant)
    if (done.code !== 200) {
      this.#history.violated(`${path} was refused: ${JSON.stringify(done)}`)
      return false
    }
    Object.assign(person, meant)
    return true
  }

  async #useOld(person: Person): Promise<void> {
    const { held } = person
    person.held = []
    await this.#requests.use(held)
  }

  async #untilAnswered(path: string, body: object): Promise<{ done: Body; tries: number }> {
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const done = await this.#try(path, body)
      if (done !== null) {
        this.#history.counts.changes++
        if (tries > 1) this.#history.counts.repeated++
        return { done, tries }
      }
      await pause(REPEAT)
    }
    this.#history.violated(`${path} failed ${MAX_TRIES} times`)
    return { done: null, tries: MAX_TRIES }
  }

  async #try(path: string, body: object): Promise<Body> {
    this.#token ??= await this.#requests.actors.begin(CHIEF, { roles: ['SUPER_ADMIN'] })
    if (this.#token === null) return null
    const done = await this.#requests.send(`${ACCOUNTS}/${path}`, body, this.#token)
    if (done?.code !== 401) return done
    this.#token = null
    return null
  }
}

import { codeAt } from '../second-factor/factor-fixture.ts'
import type { Administrator } from './administrator.ts'
import type { Captchas } from './captchas.ts'
import type { History } from './history.ts'
import type { Login } from './journal.ts'
import { type Body, newPassword, type PeopleRequests } from './people-requests.ts'
import type { Knowledge, Person } from './person.ts'

const LOGIN = '/api/v1/public/b/login'
/** New passwords that are sent with one ticket at once; they come to both workers. */
const COPIES = 3
/** Of a time step of RFC 6238, in milliseconds. */
const STEP = 30_000
/** Of a second factor whose codes came to nothing five times, because of faults: the copies of a code count as wrong ones. */
const LOCKED = 'Account disabled'
const CAPTCHA_LOST = 'Captcha expired or invalid'

/** The logins of people, with each of their steps, and what they must not come to. */
export class SignIn {
  /** Logins that were answered with a token. */
  readonly logins: Login[] = []
  readonly #requests: PeopleRequests
  readonly #history: History
  readonly #knowledge: Knowledge
  readonly #administrator: Administrator
  readonly #captchas: Captchas

  constructor(requests: PeopleRequests, knowledge: Knowledge, administrator: Administrator, captchas: Captchas) {
    this.#requests = requests
    this.#history = requests.history
    this.#knowledge = knowledge
    this.#administrator = administrator
    this.#captchas = captchas
  }

  /** `false` when it is not known what the login has changed. */
  async signIn(person: Person): Promise<boolean> {
    const began = this.#history.now()
    const done = await this.sendPassword(person)
    if (done === null) return true
    const { ticket, required, token } = done.data ?? {}
    if (required === undefined && token === undefined) return this.#refused(person, done, began)
    if (person.status !== 'ACTIVE') this.#history.violated(`${person.username} is ${person.status} and has signed in`)
    if (person.hasFactor !== (required === 'second-factor'))
      this.#history.violated(`a second factor: ${person.hasFactor}; the login demanded: ${required}`)
    if (required === 'second-factor') return this.#enterCode(person, ticket, began)
    return this.#proceed(person, done, began)
  }

  /** The first request of a login; `null` when it is not known what came of it. */
  async sendPassword({ username, password }: Person): Promise<Body> {
    const captcha = await this.#captchas.put().catch(() => null)
    if (captcha === null) return null
    return this.#requests.send(LOGIN, { ...captcha, username, password: this.#requests.encrypt(password) })
  }

  /** The right password was refused: the account must have changed, by a request that was not answered. */
  #refused(person: Person, done: Body, began: number): boolean {
    if (person.status !== 'ACTIVE') return true
    // A store that has lost everything has lost the captcha, too.
    if (done!.message === CAPTCHA_LOST && this.#history.mayBeLost(began)) return true
    if (this.#knowledge.agrees(person))
      this.#history.violated(`${person.username} could not sign in: ${JSON.stringify(done)}`)
    return false
  }

  /** After the second factor, or without one: the session, or a required password change. */
  #proceed(person: Person, done: Body, began: number): Promise<boolean> | boolean {
    const { ticket, required, token } = done!.data
    if (person.mustChange !== (required === 'password'))
      this.#history.violated(`a password change is required: ${person.mustChange}; the login demanded: ${required}`)
    if (required === 'password') return this.#replacePassword(person, ticket, began)
    this.#begun(person, token, began)
    return true
  }

  #begun(person: Person, token: string, began: number): void {
    this.#history.loggedIn(token, 'BUSINESS', person.id, began)
    person.held = [...person.held, token].slice(-5)
    this.logins.push({ jti: jtiOf(token), began, acked: this.#history.now() })
  }

  /** Codes and tickets that are worth one token, at once and each twice; and afterwards what is worth none any more. */
  async #enterCode(person: Person, ticket: string, began: number): Promise<boolean> {
    const found = nextCode(person)
    const trial = found === null ? null : await this.#trialOf(person, ticket, found)
    if (trial === null) return this.#resetFactor(person)
    const { what, tries } = trial
    const sent = [...tries, ...tries]
    const answers = await Promise.all(sent.map(one => this.#sendCode(one)))
    const passed = answers.flatMap((answer, index) => (hasPassed(answer) ? [index] : []))
    if (passed.length === 0 && answers.some(answer => answer?.message.startsWith(LOCKED)))
      return this.#resetFactor(person)
    this.#judge(person, what, answers, passed.length, began)
    this.#history.counts.codes++
    if (passed.length === 0) return true
    const isKnown = await this.#proceed(person, answers[passed[0]!]!, began)
    const again = trial.after(sent[passed[0]!]!)
    if (again !== null && hasPassed(await this.#sendCode(again)) && !this.#history.mayBeLost(began))
      this.#history.violated(`${what}: one was accepted again after it was used`)
    return isKnown
  }

  /** One code with two tickets, or one ticket with two codes. */
  async #trialOf(person: Person, ticket: string, { kind, code }: Code): Promise<Trial> {
    const second = Math.random() < 0.4 ? nextCode(person) : null
    if (second !== null) {
      const tries = [code, second.code].map(one => ({ ticket, code: one }))
      const after = () => {
        const unused = person.codes.shift()
        return unused === undefined ? null : { ticket, code: unused }
      }
      return { what: `one ticket and two codes`, tries, after }
    }
    const other: string = (await this.sendPassword(person))?.data?.ticket ?? ticket
    const tries = [ticket, other].map(one => ({ ticket: one, code }))
    const after = (used: Try) => (other === ticket ? null : tries.find(one => one.ticket !== used.ticket)!)
    return { what: `one ${kind} and two tickets`, tries, after }
  }

  async #resetFactor(person: Person): Promise<boolean> {
    await this.#administrator.resetFactor(person)
    return true
  }

  #sendCode(sent: Try): Promise<Body> {
    return this.#requests.send(`${LOGIN}/second-factor`, sent)
  }

  /** What is worth one token came to one, unless an answer is missing, or the store may have lost what it knew. */
  #judge(person: Person, what: string, answers: readonly Body[], tokens: number, began: number): void {
    if (tokens === 1 || this.#history.mayBeLost(began)) return
    if (tokens === 0 && (answers.includes(null) || !this.#knowledge.agrees(person))) return
    const shown = tokens === 0 ? `: ${JSON.stringify(answers.map(answer => answer?.message))}` : ''
    this.#history.violated(`${what} came to ${tokens} tokens${shown}${this.#history.placeOf(began)}`)
  }

  /** One ticket with several new passwords at once: one is set, and all older sessions end. */
  async #replacePassword(person: Person, ticket: string, began: number): Promise<boolean> {
    const older = [...person.held, (await this.#requests.beginByBackend(person.id)) ?? []].flat()
    const act = this.#history.kicksOut('BUSINESS', person.id, 'required password change')
    const meant = Array.from({ length: COPIES }, () => ({ password: newPassword(), mustChange: false }))
    for (const change of meant) this.#knowledge.requested(person, change)
    const send = ({ password }: { password: string }) =>
      this.#requests.send(`${LOGIN}/password`, { ticket, new_password: this.#requests.encrypt(password) })
    const answers = await Promise.all(meant.map(send))
    const passed = answers.flatMap((answer, index) => (hasPassed(answer) ? [index] : []))
    this.#judge(person, 'a ticket for a new password', answers, passed.length, began)
    this.#knowledge.answered(person, ...meant.filter((_, index) => answers[index] !== null))
    this.#history.counts.required++
    if (passed.length === 0) return false
    const token: string = answers[passed[0]!]!.data.token
    Object.assign(act, { acked: this.#history.now(), spared: token })
    Object.assign(person, meant[passed[0]!], { held: [] })
    this.#begun(person, token, began)
    await this.#requests.use([...older, token])
    return !answers.includes(null)
  }

  /** An account that was removed does not sign in. */
  async expectRemoved(person: Person): Promise<void> {
    const done = await this.sendPassword(person)
    if (hasPassed(done) || done?.data?.required === 'second-factor')
      this.#history.violated(`${person.username} was removed and has signed in`)
  }
}

interface Try {
  ticket: string
  code: string
}

interface Trial {
  what: string
  tries: Try[]
  /** After one of them was accepted: one more, which must not be. */
  after(used: Try): Try | null
}

interface Code {
  kind: 'code' | 'recovery code'
  code: string
}

/** A code that was not used, or `null`. Only codes that are accepted for half a minute more. */
function nextCode(person: Person): Code | null {
  const now = Math.floor(Date.now() / STEP)
  const step = Math.max(now, person.step + 1)
  if (person.secret !== null && step <= now + 1) {
    person.step = step
    return { kind: 'code', code: codeAt(person.secret, step * STEP) }
  }
  const code = person.secret === null ? undefined : person.codes.shift()
  return code === undefined ? null : { kind: 'recovery code', code }
}

/** Whether the answer of a step is a session, or the next step. */
const hasPassed = (answer: Body): boolean =>
  typeof answer?.data?.token === 'string' || answer?.data?.required === 'password'

const jtiOf = (token: string): string => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()).jti

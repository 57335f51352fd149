import { randomUUID } from 'node:crypto'
import bcrypt from 'bcrypt'
import { codeAt } from '../second-factor/factor-fixture.ts'
import { encrypt } from '../support/login-work.ts'
import type { Actors, Where } from './actors.ts'
import { ask } from './ask.ts'
import type { Captchas } from './captchas.ts'
import type { ChaosGateway } from './gateway.ts'
import type { Act, History } from './history.ts'
import { judgeJournal } from './journal.ts'
import { CHIEF, PERSONS, type Person, personIn } from './people-file.ts'

/* People with accounts: they sign in, in several steps, and change their accounts while an administrator changes them too. */

type Body = { code: number; data: any } | null

const OWN = '/api/v1/b/account'
const ACCOUNTS = '/api/v1/sys/account'
/** Between two things that a person does, in milliseconds. */
const PAUSE = 400
/** Copies of one code that are sent at once; they come to both workers. */
const COPIES = 4

/** A login that was answered with a token. */
export interface Login {
  jti: string
  acked: number
}

export class People {
  readonly #logins: Login[] = []
  readonly #gateway: ChaosGateway
  readonly #history: History
  readonly #actors: Actors
  readonly #captchas: Captchas
  #publicKey = ''
  #chief: string | null = null
  #running: Promise<unknown> | null = null
  #stopped = false

  constructor(gateway: ChaosGateway, history: History, actors: Actors, captchas: Captchas) {
    this.#gateway = gateway
    this.#history = history
    this.#actors = actors
    this.#captchas = captchas
  }

  async start(): Promise<void> {
    this.#publicKey = (await ask(this.#where.url, '/api/v1/public/b/sm2-public-key')).body.data
    this.#running = Promise.all(PERSONS.map(username => this.#live(username)))
    this.#running.catch(() => undefined)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  /** When nothing happens any more: what the journal holds. */
  async settle(): Promise<void> {
    const token = await this.#actors.begin(CHIEF, { roles: ['SUPER_ADMIN'] })
    if (token === null) return this.#history.violated('the administrator could not sign in at the end')
    await judgeJournal(this.#where.url, token, this.#logins, this.#history)
  }

  get #where(): Where {
    return this.#gateway.where
  }

  async #live(username: string): Promise<void> {
    let person = this.#found(username)
    while (!this.#stopped) {
      await pause(PAUSE * (0.5 + Math.random()))
      const known = await this.#act(person)
      if (known) continue
      // What was not acknowledged may have happened; the file tells.
      await pause(PAUSE)
      person = this.#afterUnknown(person)
    }
    this.#compare(person)
  }

  #found(username: string): Person {
    return { ...personIn(this.#gateway.folder, username), password: username, secret: null, codes: [], held: [] }
  }

  /** `false` when it is not known what came of it. */
  async #act(person: Person): Promise<boolean> {
    const dice = Math.random()
    if (person.held.length < 2) return this.#login(person)
    if (dice < 0.2) return this.#login(person)
    if (dice < 0.3) return this.#changePassword(person)
    if (dice < 0.4) return this.#changeRoles(person)
    if (dice < 0.45) return this.#lock(person)
    if (dice < 0.5) return this.#edit(person, { nickname: `Name ${Math.floor(Math.random() * 1e6)}` })
    if (dice < 0.55) return this.#resetPassword(person)
    if (dice < 0.57 && person.hasFactor) return this.#resetFactor(person)
    if (dice < 0.75 && !person.hasFactor) return this.#enrol(person)
    for (const token of person.held) await this.#actors.request('BUSINESS', token)
    return true
  }

  /** What the file holds is what was acknowledged last. */
  #compare({ username, ...person }: Person): void {
    const found = personIn(this.#gateway.folder, username)
    for (const field of ['id', 'nickname', 'roles', 'status', 'hasFactor'] as const) {
      const [is, was] = [JSON.stringify(found[field]), JSON.stringify(person[field])]
      if (is !== was)
        this.#history.violated(`the ${field} of ${username} is ${is} in the file; ${was} was acknowledged`)
    }
    if (!bcrypt.compareSync(person.password, found.hash)) {
      this.#history.violated(`the password of ${username} is not the one that was acknowledged last`)
    }
  }

  /** The new state or the old one: anything else was never requested. */
  #afterUnknown(person: Person): Person {
    const found = personIn(this.#gateway.folder, person.username)
    const passwords = [person.password, ...(person.requested?.password ?? [])] as string[]
    const password = passwords.find(one => bcrypt.compareSync(one, found.hash))
    if (password === undefined) this.#history.violated(`the password of ${person.username} was never requested`)
    for (const field of ['nickname', 'roles', 'status'] as const) {
      const possible = [person[field], ...(person.requested?.[field] ?? [])].map(value => JSON.stringify(value))
      if (!possible.includes(JSON.stringify(found[field])))
        this.#history.violated(`the ${field} of ${person.username} is ${found[field]}; possible are ${possible}`)
    }
    const secret = found.hasFactor ? person.secret : null
    const next = { ...person, ...found, password: password ?? person.password, secret }
    // Answers to earlier requests may still come.
    return { ...next, requested: person.requested ?? {} }
  }

  /** A request with a body, or `null` when it is not known what came of it. */
  async #ask(path: string, body: unknown, token?: string): Promise<Body> {
    const sent = this.#history.now()
    this.#history.counts.operations++
    const answer = await ask(this.#where.url, path, { body, ...(token !== undefined && { token }) }).catch(() => null)
    if (answer !== null && answer.status < 500) return answer.body
    if (answer?.status === 500) this.#history.violated(`${path} was a fault of the gateway`)
    if (answer !== null && this.#gateway.promises.codes !== null)
      this.#history.violated(
        `${path} failed with ${answer.status}, though neither the store nor the gateway has a fault`,
      )
    this.#history.failed(path, sent)
    return null
  }

  async #login(person: Person): Promise<boolean> {
    const asked = this.#history.now()
    const captcha = await this.#captchas.put().catch(() => null)
    if (captcha === null) return true
    const { username } = person
    const password = encrypt(person.password, this.#publicKey)
    const done = await this.#ask('/api/v1/public/b/login', { ...captcha, username, password })
    if (done?.data?.required === 'second-factor') return this.#enter(person, done.data.ticket, asked)
    if (done?.data?.token !== undefined) this.#holds(person, done.data.token, asked)
    // A store that has lost everything has lost the captcha, too.
    else if (done !== null && done.code !== 400 && person.status === 'ACTIVE')
      this.#history.violated(`${username} could not sign in: ${JSON.stringify(done)}`)
    return true
  }

  #holds(person: Person, token: string, asked: number): void {
    this.#history.loggedIn(token, 'BUSINESS', person.id, asked)
    if (person.status !== 'ACTIVE') this.#history.violated(`${person.username} is ${person.status} and has signed in`)
    person.held = [...person.held, token].slice(-5)
    this.#logins.push({ jti: jtiOf(token), acked: this.#history.now() })
  }

  /** One code and one ticket, several times at once: they are worth one token. */
  async #enter(person: Person, ticket: string, asked: number): Promise<boolean> {
    const code = person.codes.shift()
    if (code === undefined || person.secret === null) return this.#resetFactor(person)
    const enter = () => this.#ask('/api/v1/public/b/login/second-factor', { ticket, code })
    const answers = await Promise.all(Array.from({ length: COPIES }, enter))
    const tokens = answers.flatMap(answer => (typeof answer?.data?.token === 'string' ? [answer.data.token] : []))
    if (tokens.length > 1) this.#history.violated(`one recovery code and one ticket came to ${tokens.length} tokens`)
    for (const token of tokens) this.#holds(person, token, asked)
    this.#history.counts.tickets += 1
    return true
  }

  /** Sets up a second factor with an old session, and tries the code of its set-up twice. */
  async #enrol(person: Person): Promise<boolean> {
    const [token] = person.held
    const current_password = encrypt(person.password, this.#publicKey)
    const shown = await this.#ask(`${OWN}/second-factor/setup`, { current_password }, token)
    if (shown?.code !== 200) return this.#refused(person, token!, shown)
    const { secret } = shown.data
    const confirm = () => this.#ask(`${OWN}/second-factor/confirm`, { code: codeAt(secret, Date.now()) }, token)
    const answers = await Promise.all([confirm(), confirm()])
    const done = answers.filter(answer => answer?.code === 200)
    if (done.length > 1) this.#history.violated('one code has confirmed a second factor twice')
    if (done.length === 0) return !answers.includes(null)
    Object.assign(person, { secret, codes: done[0]!.data.recovery_codes, hasFactor: true })
    return true
  }

  async #changePassword(person: Person): Promise<boolean> {
    const [token, ...others] = person.held
    const password = newPassword()
    const act = this.#history.endsOthers(token!, 'password change')
    this.#asks(person, { password })
    const body = {
      current_password: encrypt(person.password, this.#publicKey),
      new_password: encrypt(password, this.#publicKey),
    }
    const done = await this.#ask(`${OWN}/password`, body, token)
    if (done?.code !== 200) return this.#refused(person, token!, done, act)
    act.acked = this.#history.now()
    Object.assign(person, { password, held: [token] })
    await this.#judgeAfter([token!, ...others])
    return true
  }

  /** A request of a session that was refused: it must have ended, by a fault at least. */
  async #refused(person: Person, token: string, done: Body, act?: Act): Promise<boolean> {
    if (done === null) return false
    if (act !== undefined) this.#history.withdraw(act)
    if (done.code === 401) this.#history.answered(token, this.#history.now(), 'refused')
    else if (this.#gateway.promises.codes !== null) this.#history.violated(`refused: ${JSON.stringify(done)}`)
    person.held = person.held.filter(held => held !== token)
    return true
  }

  /** On both workers, as far as chance has it. */
  async #judgeAfter(tokens: readonly string[]): Promise<void> {
    for (const token of [...tokens, ...tokens, ...tokens]) await this.#actors.request('BUSINESS', token)
  }

  async #chiefs(path: string, body: object): Promise<Body> {
    if (this.#chief === null) this.#chief = await this.#actors.begin(CHIEF, { roles: ['SUPER_ADMIN'] })
    if (this.#chief === null) return null
    const done = await this.#ask(`${ACCOUNTS}/${path}`, body, this.#chief)
    if (done?.code === 401) this.#chief = null
    return done?.code === 401 ? null : done
  }

  /** A change by the administrator that ends the sessions of a person. */
  async #change(person: Person, path: string, body: object, meant: Partial<Person>): Promise<boolean> {
    const act = this.#history.kicksOut('BUSINESS', person.id, 'change of the account')
    this.#asks(person, meant)
    const done = await this.#chiefs(path, { id: person.id, ...body })
    if (done === null) return false
    if (done.code !== 200) this.#history.violated(`${path} was refused: ${JSON.stringify(done)}`)
    act.acked = this.#history.now()
    const { held } = person
    Object.assign(person, meant, { held: [] })
    await this.#judgeAfter(held)
    return true
  }

  #asks(person: Person, meant: Partial<Person>): void {
    const requested = person.requested ?? {}
    for (const [field, value] of Object.entries(meant)) requested[field] = [...(requested[field] ?? []), value]
    person.requested = requested
  }

  #changeRoles(person: Person): Promise<boolean> {
    const roles = person.roles.length === 0 ? ['operator'] : []
    return this.#change(person, 'edit', { roles }, { roles })
  }

  #resetPassword(person: Person): Promise<boolean> {
    const password = newPassword()
    const body = { password: encrypt(password, this.#publicKey), must_change_password: false }
    return this.#change(person, 'reset-password', body, { password })
  }

  #resetFactor(person: Person): Promise<boolean> {
    return this.#change(person, 'reset-second-factor', {}, { secret: null, codes: [], hasFactor: false })
  }

  /** A locked person cannot sign in, until the lock is lifted. */
  async #lock(person: Person): Promise<boolean> {
    if (!(await this.#change(person, 'edit', { status: 'LOCKED' }, { status: 'LOCKED' }))) return this.#unlock(person)
    await this.#login(person)
    return this.#unlock(person)
  }

  async #unlock(person: Person): Promise<boolean> {
    for (;;) {
      if (await this.#edit(person, { status: 'ACTIVE' })) return true
      if (this.#stopped) return false
      await pause(PAUSE)
    }
  }

  /** What ends no session. */
  async #edit(person: Person, meant: Partial<Pick<Person, 'nickname' | 'status'>>): Promise<boolean> {
    this.#asks(person, meant)
    const done = await this.#chiefs('edit', { id: person.id, ...meant })
    if (done?.code === 200) Object.assign(person, meant)
    return done?.code === 200
  }
}

const jtiOf = (token: string): string => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()).jti

const newPassword = (): string => `a password ${randomUUID()}`

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

import { randomUUID } from 'node:crypto'
import { encrypt } from '../support/login-work.ts'
import type { Actors, Where } from './actors.ts'
import { ask, byChance, named } from './ask.ts'
import type { ChaosGateway } from './gateway.ts'
import type { History } from './history.ts'

/** The envelope of an answer; `null` when it is not known what came of the request. */
export type Body = { code: number; message: string; data: any } | null

export const newPassword = (): string => `a password ${randomUUID()}`

export const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

/** Between two checks whether a session has ended, in milliseconds. */
const CHECK = 50
/** So often a session may be accepted after a change of the accounts file: it has to end within a second. */
const ACCEPTED = 100

/** Half of the logins, and of their steps, ask for a cookie. */
const inCookie = (path: string, body: unknown): { body: unknown } =>
  path.startsWith('/api/v1/public/b/login') && byChance('BUSINESS') !== null
    ? { body: { ...(body as object), session: 'cookie' } }
    : { body }

/** Requests of people with accounts, as their pages send them. */
export class PeopleRequests {
  readonly gateway: ChaosGateway
  readonly history: History
  readonly actors: Actors
  #publicKey = ''

  constructor(gateway: ChaosGateway, history: History, actors: Actors) {
    this.gateway = gateway
    this.history = history
    this.actors = actors
  }

  async open(): Promise<void> {
    this.#publicKey = (await ask(this.where.url, '/api/v1/public/b/sm2-public-key')).body.data
  }

  get where(): Where {
    return this.gateway.where
  }

  encrypt(password: string): string {
    return encrypt(password, this.#publicKey)
  }

  async send(path: string, body: unknown, token?: string): Promise<Body> {
    const sent = this.history.now()
    this.history.counts.operations++
    const { pauses } = this.history.counts
    const asked = token === undefined ? inCookie(path, body) : { token, cookieOf: byChance('BUSINESS'), body }
    const answer = await ask(this.where.url, path, asked).catch(() => null)
    if (answer !== null && answer.status < 500) return answer.body
    if (answer?.status === 500) this.history.violated(`${path} was a fault of the gateway`)
    // A file of accounts that stays empty has faults.
    if (this.history.counts.pauses > pauses) return null
    if (answer !== null && this.gateway.promises.codes !== null)
      this.history.violated(
        `${path} failed with ${answer.status} ${answer.body?.message}, though neither the store nor the gateway has a fault`,
      )
    this.history.failed(named(path, answer), sent)
    return null
  }

  /** A session that a backend begins for a person: it carries no version of the account. */
  async beginByBackend(id: string): Promise<string | null> {
    const began = this.history.now()
    const token = await this.actors.begin(id, {})
    if (token !== null) this.history.loggedIn(token, 'BUSINESS', id, began)
    return token
  }

  /** Requests with these tokens, on both workers, as far as chance has it. */
  async use(tokens: readonly string[]): Promise<void> {
    for (const token of [...tokens, ...tokens, ...tokens]) await this.actors.request('BUSINESS', token)
  }

  /** Waits until these sessions have ended because the accounts file was changed by hand. */
  async untilEnded(tokens: readonly string[], by: string): Promise<void> {
    for (let accepted = 0; accepted < ACCEPTED; ) {
      const outcomes = await Promise.all(tokens.map(token => this.actors.request('BUSINESS', token)))
      if (outcomes.every(outcome => outcome === 'refused')) return
      if (outcomes.includes('passed')) accepted++
      await pause(CHECK)
    }
    this.history.violated(`a session was accepted ${ACCEPTED} times after a change of its account by ${by}`)
  }
}

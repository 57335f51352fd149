import type { LoginType } from '../../src/session/sides.ts'
import { asKey } from '../../src/token/key-form.ts'
import { until } from '../support/until.ts'
import { type Asked, ask, byChance, LATE, named } from './ask.ts'
import type { Promises } from './gateway.ts'
import type { History, Outcome } from './history.ts'

/** Where a gateway answers now; it may be another process after a restart. */
export interface Where {
  url: string
  internal: string
  secret: string
}

const SIDES = { BUSINESS: 'business', CONSUMER: 'consumer' } as const
const PATHS = { BUSINESS: '/api/v1/b/x', CONSUMER: '/api/v1/c/x' } as const
const OWN_SESSIONS = { BUSINESS: '/api/v1/b/session', CONSUMER: '/api/v1/c/session' } as const
/** Of the refusals that settings can promise. */
const MESSAGES: Readonly<Record<number, string>> = {
  503: 'Under maintenance, try again later',
  429: 'Too many requests, try again later',
}
const ACTORS = 12
/** Between two things that an actor does, in milliseconds; so many actors come to some 250 a second. */
const PAUSE = 40
const USERS = 8

type Done = { code: number; data: any } | null

/** A light load of everything that is done with sessions, and records all of it in the history. */
export class Actors {
  readonly #where: () => Where
  readonly #history: History
  readonly #promises: Promises
  #running: Promise<unknown> | null = null
  #stopped = false

  constructor(where: () => Where, history: History, promises: Promises) {
    this.#where = where
    this.#history = history
    this.#promises = promises
  }

  start(): void {
    const actors = Array.from({ length: ACTORS }, (_, i) => this.#act(i))
    this.#running = Promise.all([...actors, this.#disable('BUSINESS'), this.#disable('CONSUMER')])
    // Told by `stop`: until then there is a gateway to be ended in order.
    this.#running.catch(() => undefined)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  async #act(i: number): Promise<void> {
    const side: LoginType = i % 2 === 0 ? 'BUSINESS' : 'CONSUMER'
    let held: string[] = []
    while (!this.#stopped) {
      await pause(PAUSE * (0.5 + Math.random()))
      // Several actors share a user, so that logins and kickouts of the same user overlap.
      const user = `user-${Math.floor(Math.random() * USERS)}`
      const dice = Math.random()
      if (held.length === 0 || dice < 0.12) {
        const token = await this.#login(side, user)
        if (token !== null) held = [...held.slice(-9), token]
      } else if (dice < 0.16) await this.#kickout(side, user)
      else if (dice < 0.2) await this.#logout(side, any(held))
      else if (dice < 0.23) await this.#kickoutToken(side, any(held))
      else if (dice < 0.26) await this.#operate(side, 'renew-timeout', { token: any(held), seconds: 3600 })
      else if (dice < 0.29) await this.#exitOthers(side, any(held))
      else if (dice < 0.32) await this.#exitToken(side, any(held), any(held))
      else if (dice < 0.35) await this.request(side === 'BUSINESS' ? 'CONSUMER' : 'BUSINESS', any(held))
      else await this.request(side, any(held))
    }
  }

  /** One request; a token used on the other side must never be accepted. */
  async request(side: LoginType, token: string, cookieOf: LoginType | null = byChance(side)): Promise<Outcome> {
    const sent = this.#history.now()
    const { codes } = this.#promises
    const outcome = await ask(this.#where().url, PATHS[side], { token, cookieOf }).then(
      answer => this.#outcomeOf(answer, codes),
      (fault): Outcome => this.#unanswered(fault, codes),
    )
    const isOwn = this.#history.sideOf(token) === side
    if (isOwn || outcome === 'failed') this.#history.answered(token, sent, outcome)
    else if (outcome === 'passed')
      this.#history.violated(`a token was passed on the ${side} side, which is not its own`)
    return outcome
  }

  /** While settings change, no request is lost. A busy machine may take too long for one. */
  #unanswered(fault: Error, codes: Promises['codes']): Outcome {
    if (codes !== null && fault.message !== LATE) this.#history.violated(`no answer: ${fault.message}`)
    return 'failed'
  }

  /**
   * What a request comes to that is neither forwarded nor refused for its session. `sentUnder` was promised when it was sent: the
   * settings may have changed since, and its answer may be read after the end of the reload.
   */
  #failureOf({ status, body }: Asked, sentUnder: Promises['codes']): Outcome {
    const { codes, seen } = this.#promises
    const allows = (promised: Promises['codes']): boolean =>
      promised === null ? status >= 502 && status <= 504 : promised.has(status) && MESSAGES[status] === body?.message
    if (allows(sentUnder) || allows(codes)) seen.add(status)
    else this.#history.violated(`an unexpected answer: ${status} ${JSON.stringify(body)}`)
    return 'failed'
  }

  #outcomeOf({ status, body }: Asked, sentUnder: Promises['codes']): Outcome {
    if (status === 200 && body === 'backend') return 'passed'
    if (status === 200 && body.code === 401) return 'refused'
    return this.#failureOf({ status, body }, sentUnder)
  }

  /** `null` when it is not known whether it happened. */
  async #operate(side: LoginType, operation: string, body: unknown): Promise<Done> {
    const { internal, secret } = this.#where()
    const sent = this.#history.now()
    this.#history.counts.operations++
    const answer = await ask(internal, `/operations/v1/${SIDES[side]}/${operation}`, { token: secret, body }).catch(
      () => null,
    )
    if (answer !== null && answer.status < 500) return answer.body
    if (answer !== null && answer.status === 500) this.#history.violated(`${operation} was a fault of the gateway`)
    this.#history.failed(named(operation, answer), sent)
    return null
  }

  async #login(side: LoginType, user: string): Promise<string | null> {
    const asked = this.#history.now()
    const done = await this.#operate(side, 'login', { user_id: user, extra: { at: asked } })
    const token: string | undefined = done?.data?.token
    if (token === undefined) return null
    this.#history.loggedIn(token, side, user, asked)
    return token
  }

  /** A B-side session that a backend begins for a user with these rights; `null` when it could not. */
  async begin(user: string, extra: Record<string, unknown>): Promise<string | null> {
    return (await this.#operate('BUSINESS', 'login', { user_id: user, extra }))?.data?.token ?? null
  }

  /** The keys of the user of a session; none if that is not answered. */
  async idsOfKeys(path: string, token: string): Promise<string[]> {
    const answer = await ask(this.#where().url, path, { token }).catch(() => null)
    return answer?.status === 200 && answer.body.code === 200
      ? answer.body.data.map(({ id }: { id: string }) => id)
      : []
  }

  async #kickout(side: LoginType, user: string): Promise<void> {
    const act = this.#history.kicksOut(side, user)
    if ((await this.#operate(side, 'kickout', { user_id: user }))?.code === 200) act.acked = this.#history.now()
  }

  async #logout(side: LoginType, token: string): Promise<void> {
    const act = this.#history.ends(token)
    if ((await this.#operate(side, 'logout', { token }))?.code === 200) act.acked = this.#history.now()
  }

  async #kickoutToken(side: LoginType, token: string): Promise<void> {
    const user = this.#history.userOf(token)
    const act = this.#history.ends(token)
    // Refused when the token is not live or not that user's: then it is dead already.
    if ((await this.#operate(side, 'kickout-token', { user_id: user, token })) !== null) act.acked = this.#history.now()
  }

  /** A request about the client's own sessions, with a token that it judges; `null` when it was not answered with success. */
  async #askOwn(side: LoginType, name: string, token: string, body: unknown): Promise<Done> {
    const sent = this.#history.now()
    this.#history.counts.operations++
    const path = `${OWN_SESSIONS[side]}/${name}`
    const answer = await ask(this.#where().url, path, { token, cookieOf: byChance(side), body }).catch(() => null)
    if (answer !== null && answer.status === 200) {
      this.#history.answered(token, sent, answer.body.code === 401 ? 'refused' : 'passed')
      return answer.body
    }
    if (answer !== null && answer.status === 500) this.#history.violated(`${name} was a fault of the gateway`)
    this.#history.failed(named(name, answer), sent)
    return null
  }

  async #exitOthers(side: LoginType, token: string): Promise<void> {
    const act = this.#history.endsOthers(token)
    if ((await this.#askOwn(side, 'exit-others', token, {}))?.code === 200) act.acked = this.#history.now()
  }

  /** Ends one token with another; where they belong to two users, it has to be refused. */
  async #exitToken(side: LoginType, asking: string, ended: string): Promise<void> {
    const handle: string = JSON.parse(Buffer.from(ended.split('.')[1]!, 'base64url').toString()).jti
    const isOwn = this.#history.userOf(asking) === this.#history.userOf(ended)
    const act = isOwn ? this.#history.ends(ended) : null
    const done = await this.#askOwn(side, 'exit-token', asking, { token: handle })
    if (act === null && done?.code === 200) this.#history.violated('a token of another user was ended by its handle')
    // Refused with 400 when the token is not live: then it is dead already.
    if (act !== null && (done?.code === 200 || done?.code === 400)) act.acked = this.#history.now()
  }

  /** Disables an id of its own and unties it, and logs in at each step (P4). */
  async #disable(side: LoginType): Promise<void> {
    const user = `disabled-${side}`
    while (!this.#stopped) {
      await pause(100)
      if ((await this.#operate(side, 'disable', { user_id: user, seconds: 600 }))?.code !== 200) continue
      await this.#tryLogins(side, user, 200, 'a disabled id logged in')
      if ((await this.#operate(side, 'untie-disable', { user_id: user }))?.code !== 200) continue
      await this.#tryLogins(side, user, 403, 'an id that was untied is disabled')
    }
  }

  /** Some logins while it is known whether the id is disabled; they come to both workers. */
  async #tryLogins(side: LoginType, user: string, wrong: number, violation: string): Promise<void> {
    for (let i = 0; i < 6; i++) {
      const sent = this.#history.now()
      const done = await this.#operate(side, 'login', { user_id: user })
      if (done?.code === wrong) this.#history.violated(`${violation}${this.#history.placeOf(sent)}`)
      await pause(PAUSE)
    }
  }

  /** The tokens of a user that the gateway lists; `null` if it does not answer. */
  async #listed(side: LoginType, user: string): Promise<string[] | null> {
    const done = await this.#operate(side, 'get-token-values-by-login-id', { user_id: user })
    return done === null ? null : (done.data?.tokens ?? [])
  }

  /** What a request comes to; `null` if it fails, as on a busy machine it may at any time. */
  async #answered(side: LoginType, token: string): Promise<Outcome | null> {
    const outcome = await this.request(side, token)
    return outcome === 'failed' ? null : outcome
  }

  /**
   * When nothing happens any more: the tokens that are listed are those that live (P5), and after a kickout of everybody
   * none does (P1, P3).
   */
  async settle(): Promise<void> {
    const users = new Map<string, { side: LoginType; user: string; tokens: string[] }>()
    for (const [token, { side, user }] of this.#history.known) {
      // A key is in no list of sessions, and no kickout ends it.
      if (asKey(token) !== null) continue
      const key = `${side} ${user}`
      const entry = users.get(key) ?? { side, user, tokens: [] }
      entry.tokens.push(token)
      users.set(key, entry)
    }
    for (const { side, user, tokens } of users.values()) {
      const listed = await until(() => this.#listed(side, user))
      for (const token of tokens) {
        const lives = (await until(() => this.#answered(side, token))) === 'passed'
        if (lives !== listed.includes(token))
          this.#history.violated(`a token of ${user} ${lives ? 'lives and is not' : 'is dead and'} listed`)
      }
      await this.#kickout(side, user)
      for (const token of tokens) await this.request(side, token)
    }
  }
}

const any = <T>(items: readonly T[]): T => items[Math.floor(Math.random() * items.length)]!

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

import type { HashAccount } from '../../src/account/hash-accounts.ts'
import { Refusal } from '../../src/base/refusal.ts'
import type { Step } from '../../src/login/sign-in/attempt.ts'
import { account as accountOf, openLoginFixture, PASSWORD } from '../support/login-fixture.ts'
import { AccountChanges, rightsOf } from './login-changes.ts'
import { Codes } from './login-codes.ts'
import * as model from './login-model.ts'
import { HOSTILE, LEAPS, loginStep, type Move, USERS } from './login-moves.ts'
import { checkSequences, expect, type See, type SequenceOptions } from './model.ts'

/*
 * Logins of several users in random orders: right and wrong codes, passwords and tickets, set-ups, changes of the accounts and
 * leaps of the clock in between. A login comes to a token, a step or a refusal exactly where the model does.
 */

/** The first sets up a second factor, and the second changes the password, before anything else. */
const FIRST = [
  { isChief: true, mustChange: false },
  { isChief: false, mustChange: true },
]
const STEPS = ['second-factor', 'second-factor-setup', 'password'] as const satisfies readonly Step[]
type Fixture = Awaited<ReturnType<typeof openLoginFixture>>
type Stored = { fixture: Fixture; accounts: HashAccount[] }

export async function fuzzLoginSteps(options: SequenceOptions) {
  const accounts: HashAccount[] = []
  const fixture = await openLoginFixture({
    accounts,
    secondFactorFor: [model.CHIEF],
    maxPasswordAge: model.MAX_PASSWORD_AGE,
    // Wrong passwords have tests of their own; here they must not hide the steps.
    lockout: { failures: 1000 },
  })
  let sequence = 0
  try {
    return await checkSequences(loginStep, { minLength: 8, maxLength: 60 }, options, async (moves, see) => {
      sequence += 1
      const run = new LoginSequence({ fixture, accounts }, sequence, moves, see)
      await run.begin()
      for (const move of moves) await run.take(move)
      await run.compareSessions()
    })
  } finally {
    await fixture.close()
  }
}

class LoginSequence {
  readonly #fixture: Fixture
  readonly #accounts: HashAccount[]
  readonly #see: See
  readonly #users: model.ModelAccount[]
  readonly #tickets: model.ModelTicket[] = []
  readonly #codes = new Codes()
  readonly #changes: AccountChanges
  #requests = 0

  constructor({ fixture, accounts }: Stored, sequence: number, moves: readonly Move[], see: See) {
    this.#fixture = fixture
    this.#accounts = accounts
    this.#see = see
    this.#changes = new AccountChanges(fixture, accounts)
    this.#users = Array.from({ length: USERS }, (_, i) =>
      model.newAccount(`user-${sequence}-${i}`, { ...(FIRST[i] ?? moves[i]!.rights), password: PASSWORD }),
    )
    accounts.splice(0)
    for (const { username, mustChange, isChief } of this.#users) {
      accounts.push(accountOf(username, { ...(mustChange && { mustChangePassword: true }), extra: rightsOf(isChief) }))
    }
  }

  async begin(): Promise<void> {
    for (const user of this.#users.slice(0, FIRST.length)) {
      await this.#login(user, false)
      while (this.#open.length > 0) await this.#advance(this.#open[0]!, { user: 0, pick: 0, kind: 'right' })
    }
  }

  get #open(): model.ModelTicket[] {
    return this.#tickets.filter(({ isUsed }) => !isUsed)
  }

  async take(move: Move): Promise<void> {
    const { verb, ticket: back } = move
    const user = this.#users[move.user]!
    const ticket = (move.any ? this.#tickets : this.#open).at(-1 - back) ?? null
    if (verb === 'login') await this.#login(user, move.password === 'wrong')
    else if (verb === 'wait') this.#fixture.time.now += move.leap
    else if (verb === 'alter') await this.#alter(user, move.change)
    else if (verb === 'setUp') await this.#setUp(ticket)
    else if (verb === 'password') await this.#password(ticket, move.password, move.pick)
    else if (verb === 'enter') await this.#enter(ticket, this.#code(ticket, move))
    else if (verb === 'guess') await this.#guess(HOSTILE[move.pick % HOSTILE.length]!, move)
    else if (verb === 'rush') await this.#rush(ticket)
    else await this.#advance(ticket, move)
  }

  get #now(): number {
    return this.#fixture.time.now
  }

  /** Each from another network, so that failures of one hide nothing. */
  #origin(): { address: string; trace_id: string } {
    this.#requests += 1
    return { address: `10.${this.#requests >> 8}.${this.#requests & 255}.1`, trace_id: 'c'.repeat(32) }
  }

  async #login(user: model.ModelAccount, isWrong: boolean): Promise<void> {
    const password = isWrong ? 'another password' : user.password
    const expected = isWrong ? 'WRONG_CREDENTIALS' : model.afterPassword(user, this.#now)
    const { login, credentials } = this.#fixture
    const work = login.login(await credentials(user.username, password, this.#origin()))
    await this.#compare('login', work, expected, user, [])
  }

  /** What the ticket is for, done rightly. */
  async #advance(ticket: model.ModelTicket | null, move: Pick<Move, 'user' | 'pick' | 'kind'>): Promise<void> {
    if (ticket === null) return this.#login(this.#users[move.user]!, false)
    if (ticket.step === 'password') return this.#password(ticket, 'new', move.pick)
    if (ticket.step === 'second-factor-setup' && ticket.secret === null) return this.#setUp(ticket)
    // The code of the present half of a minute may have been used.
    if (move.pick % 2 === 1) this.#fixture.time.now += LEAPS[1]!
    const kind = move.kind === 'recovery' ? 'recovery' : 'right'
    return this.#enter(ticket, this.#code(ticket, { ...move, kind }))
  }

  async #setUp(ticket: model.ModelTicket | null): Promise<void> {
    const expected = model.setUp(ticket, this.#now)
    const work = this.#fixture.login.secondFactor!.setUp({ ticket: ticket?.text ?? '', ...this.#origin() })
    const [outcome, shown] = await outcomeOf(work)
    this.#judge('set-up', outcome, expected)
    if ('secret' in shown && ticket !== null) ticket.secret = shown.secret as string
  }

  async #enter(ticket: model.ModelTicket | null, code: string): Promise<void> {
    const expected = model.enter(ticket, code, this.#now)
    if (isSuccess(expected) && ticket !== null) this.#codes.usedOf(ticket.account).push(code)
    await this.#compare('code', this.#entering(ticket, code), expected, ticket?.account, ticket)
  }

  #entering(ticket: model.ModelTicket | null, code: string): Promise<object> {
    return this.#fixture.login.secondFactor!.enter({ ticket: ticket?.text ?? '', code, ...this.#origin() })
  }

  async #password(ticket: model.ModelTicket | null, kind: Move['password'], pick: number): Promise<void> {
    const account = ticket?.account
    const texts = { same: account?.password ?? '', short: 'short', name: account?.username ?? '' }
    const text = kind in texts ? texts[kind as keyof typeof texts] : `a new password ${this.#requests}-${pick}`
    const isHostile = kind === 'hostile'
    const expected = model.changePassword(ticket, isHostile ? null : text, this.#now)
    const new_password = isHostile ? HOSTILE[pick % HOSTILE.length]! : this.#fixture.encrypt(text)
    const request = { ticket: ticket?.text ?? '', new_password, ...this.#origin() }
    await this.#compare('new password', this.#fixture.login.changePassword!(request), expected, account, ticket)
    if (isSuccess(expected)) this.#changes.makeCheap(account!)
  }

  /** What was never a ticket, at every step. */
  async #guess(ticket: string, { pick }: Move): Promise<void> {
    const { secondFactor, changePassword } = this.#fixture.login
    const origin = this.#origin()
    const works = [
      () => secondFactor!.setUp({ ticket, ...origin }),
      () => secondFactor!.enter({ ticket, code: '123456', ...origin }),
      () => changePassword!({ ticket, new_password: this.#fixture.encrypt('a new password'), ...origin }),
    ]
    const [outcome] = await outcomeOf(works[pick % works.length]!())
    this.#judge('guess', outcome, 'TICKET_INVALID')
  }

  /** One right code, many times at once, with each ticket of the account: it is worth one success. */
  async #rush(ticket: model.ModelTicket | null): Promise<void> {
    if (ticket === null || ticket.step === 'password') return
    this.#fixture.time.now += LEAPS[1]!
    const { account } = ticket
    const code = this.#code(ticket, { kind: 'right', pick: 0 })
    const tickets = this.#tickets.filter(other => other.account === account && other.step === ticket.step)
    const isRight = [ticket, ...tickets].some(one => isSuccess(model.enter(structuredClone(one), code, this.#now)))
    const works = [ticket, ticket, ...tickets].map(one => outcomeOf(this.#entering(one, code)))
    const outcomes = (await Promise.all(works)).map(([outcome]) => outcome)
    const successes = outcomes.filter(isSuccess).length
    // Of tickets that show a secret of their own, another one may win, or the last one to be stored.
    const most = ticket.step === 'second-factor-setup' || isRight ? 1 : 0
    if (successes > most || (isRight && successes === 0)) {
      throw new Error(`one code at once came to ${outcomes.join(', ')}`)
    }
    this.#see(`rush: ${successes}`)
    this.#retire(account)
  }

  /** Which of several requests counted first is not known: another user takes the place. */
  #retire(account: model.ModelAccount): void {
    const username = `${account.username}-next`
    const next = model.newAccount(username, { isChief: account.isChief, mustChange: false, password: PASSWORD })
    this.#users[this.#users.indexOf(account)] = next
    this.#accounts.push(accountOf(username, { extra: rightsOf(next.isChief) }))
    const others = this.#tickets.filter(ticket => ticket.account !== account)
    this.#tickets.splice(0, this.#tickets.length, ...others)
  }

  async #alter(user: model.ModelAccount, change: Move['change']): Promise<void> {
    await this.#changes.make(user, change)
    this.#see(`alter ${change}`)
  }

  #code(ticket: model.ModelTicket | null, move: Pick<Move, 'kind' | 'pick'>): string {
    return this.#codes.pick(ticket?.account ?? this.#users[0]!, ticket, move, this.#users, this.#now)
  }

  async #compare(
    what: string,
    work: Promise<object>,
    expected: model.Outcome,
    account: model.ModelAccount | undefined,
    ticket: model.ModelTicket | readonly never[] | null,
  ): Promise<void> {
    const [outcome, answer] = await outcomeOf(work)
    this.#judge(what, outcome, expected)
    if (account === undefined) return
    if ('recovery_codes' in answer) account.factor!.recoveryCodes = answer.recovery_codes as string[]
    const passed = ticket !== null && 'step' in ticket ? [...ticket.passed, ticket.step] : []
    if ('ticket' in answer) {
      const text = answer.ticket as string
      this.#tickets.push(model.issued(text, outcome as Step, account, passed, this.#now))
    }
    if (outcome === 'token') await this.#compareSessionsOf(account)
  }

  #judge(what: string, outcome: model.Outcome, expected: model.Outcome): void {
    expect(outcome, expected, what)
    this.#see(`${what}: ${outcome}`)
  }

  async compareSessions(): Promise<void> {
    for (const account of this.#users) await this.#compareSessionsOf(account)
  }

  async #compareSessionsOf(account: model.ModelAccount): Promise<void> {
    const tokens = await this.#fixture.store.sessions.tokens('BUSINESS', account.id)
    expect(tokens.length, model.liveSessions(account, this.#now), `sessions of ${account.id}`)
  }
}

const isSuccess = (outcome: model.Outcome): boolean =>
  outcome === 'token' || (STEPS as readonly string[]).includes(outcome)

/** What a call answers a client with, in one word, and everything in it. */
async function outcomeOf(work: Promise<object>): Promise<[model.Outcome, object]> {
  try {
    const answer = await work
    return ['token' in answer ? 'token' : 'shown', answer]
  } catch (fault) {
    if (!(fault instanceof Refusal)) throw fault
    if (fault.reason !== 'STEP_REQUIRED') return [fault.reason, {}]
    const data = fault.data as { required: Step }
    return [data.required, data]
  }
}

import bcrypt from 'bcrypt'
import type { HashAccount } from '../../src/account/hash-accounts.ts'
import type { Step } from '../../src/login/attempt.ts'
import { Refusal } from '../../src/refusal.ts'
import { codeAt, wrongCodes } from '../second-factor/factor-fixture.ts'
import { account as accountOf, changed, openLoginFixture, PASSWORD } from '../support/login-fixture.ts'
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
      const world = new LoginWorld({ fixture, accounts }, sequence, moves, see)
      await world.begin()
      for (const move of moves) await world.take(move)
      await world.compareSessions()
    })
  } finally {
    await fixture.close()
  }
}

class LoginWorld {
  readonly #fixture: Fixture
  readonly #accounts: HashAccount[]
  readonly #see: See
  readonly #users: model.ModelAccount[]
  readonly #tickets: model.ModelTicket[] = []
  /** Codes that were accepted, or lost with their factor. */
  readonly #usedCodes = new Map<string, string[]>()
  #requests = 0

  constructor({ fixture, accounts }: Stored, sequence: number, moves: readonly Move[], see: See) {
    this.#fixture = fixture
    this.#accounts = accounts
    this.#see = see
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
    else if (verb === 'alter') await this.#alter(user, move)
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
    if (isSuccess(expected) && ticket !== null) this.#usedOf(ticket.account).push(code)
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
    if (isSuccess(expected)) this.#makeCheap(account!)
  }

  /** The same password, at the lowest cost: the next logins of a long run need not take the time of a real one. */
  #makeCheap(account: model.ModelAccount): void {
    const passwordHash = bcrypt.hashSync(account.password, 4)
    account.version += 1
    changed(this.#accounts, account.id, one => ({ ...one, passwordHash }))
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
    const isRight = isSuccess(model.enter(ticket, code, this.#now))
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

  #usedOf({ id }: model.ModelAccount): string[] {
    const used = this.#usedCodes.get(id) ?? []
    this.#usedCodes.set(id, used)
    return used
  }

  #code(ticket: model.ModelTicket | null, { kind, pick }: Pick<Move, 'kind' | 'pick'>): string {
    const account = ticket?.account ?? this.#users[0]!
    const secret = ticket?.secret ?? account.factor?.secret ?? null
    const used = this.#usedOf(account)
    const codes = account.factor?.recoveryCodes ?? []
    if (kind === 'hostile') return HOSTILE[pick % HOSTILE.length]!
    if (kind === 'recovery' && codes.length > 0) return codes[pick % codes.length]!
    if (kind === 'used recovery') return used.findLast(code => code.includes('-')) ?? 'AAAA-BBBB-CCCC-DDDD'
    if (kind === 'used') return used.at(-1) ?? '000000'
    if (kind === 'foreign') return this.#foreignCode(account, pick)
    if (secret === null) return '123456'
    if (kind === 'wrong') return wrongCodes(secret, this.#now, 20)[pick % 20]!
    return codeAt(secret, this.#now, { next: 1, previous: -1, old: -2 }[kind as string] ?? 0)
  }

  #foreignCode(account: model.ModelAccount, pick: number): string {
    const factor = this.#users.find(user => user !== account && user.factor !== null)?.factor
    if (factor == null) return '123456'
    return (pick % 2 === 0 ? factor.recoveryCodes[0] : undefined) ?? codeAt(factor.secret, this.#now)
  }

  async #alter(user: model.ModelAccount, { change }: Move): Promise<void> {
    const alter = (update: (account: HashAccount) => HashAccount) => changed(this.#accounts, user.id, update)
    const { side } = this.#fixture
    if (change === 'disable') {
      await side.disable(user.id, 61, {})
      user.disabledUntil = this.#now + 61_000
    } else if (change === 'enable') {
      await side.untieDisable(user.id, {})
      user.disabledUntil = 0
    } else if (change === 'nickname') alter(one => ({ ...one, extra: { ...one.extra, nickname: 'Other' } }))
    else if (change === 'must-change') {
      user.mustChange = true
      alter(one => ({ ...one, mustChangePassword: true }))
    } else this.#alterVersion(user, change, alter)
    this.#see(`alter ${change}`)
  }

  #alterVersion(
    user: model.ModelAccount,
    change: Move['change'],
    alter: (update: (account: HashAccount) => HashAccount) => void,
  ): void {
    if (change === 'factor' && user.factor === null) return
    if (change === 'status') {
      user.status = user.status === 'ACTIVE' ? 'LOCKED' : 'ACTIVE'
      alter(one => ({ ...one, status: user.status }))
      return
    }
    user.version += 1
    if (change === 'factor') {
      user.factor = null
      alter(({ secondFactor: _, ...one }) => one)
    } else if (change === 'roles') {
      user.isChief = !user.isChief
      alter(one => ({ ...one, extra: { ...one.extra, ...rightsOf(user.isChief, user.version) } }))
    } else {
      user.password = PASSWORD
      this.#makeCheap(user)
    }
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

const rightsOf = (isChief: boolean, version = 0) => ({
  ...{ nickname: 'User', avatar: null, permissions: [`v:${version}`] },
  roles: isChief ? [model.CHIEF] : ['operator'],
})

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

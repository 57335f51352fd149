import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { parseDocument } from 'yaml'
import { readAccounts } from '../../src/account/file/source.ts'
import { versionOf } from '../../src/account/version.ts'
import { type Fixture, startFixture } from '../support/gateway-fixture.ts'
import { until } from '../support/until.ts'
import { accountStep, type Call, type Move, REFUSED } from './accounts-calls.ts'
import { FORMS, type Form, missingIn, readFound, writeFirst } from './accounts-file.ts'
import { type Accounts, apply, EDIT, holds, type ModelAccount, SEE, SUPER_ADMIN } from './accounts-model.ts'
import { type Done, fateOf, isFound, type ModelSession, type Order, permutationsOf } from './accounts-orders.ts'
import { AccountCalls, BASE } from './accounts-ways.ts'
import { checkSequences, expect, type See, type SequenceOptions } from './model.ts'

/*
 * Administrators with different rights, the command line and an editor change one accounts file, some of them at the same
 * time. What was answered and what the file holds must come from the same changes, one after the other in some order.
 */

export async function fuzzAccounts(options: SequenceOptions) {
  const fixture = await startFixture()
  const path = join(fixture.folder, 'accounts.yaml')
  let sequence = 0
  try {
    const take = async (moves: readonly Move[], see: See): Promise<void> => {
      sequence += 1
      const run = new AccountsSequence(fixture, path, sequence, see)
      await run.begin(FORMS[moves.length % FORMS.length]!)
      for (const move of moves) await run.take(move)
    }
    return await checkSequences(accountStep, { minLength: 4, maxLength: 24 }, options, take, [FIRST_MOVES])
  } finally {
    await fixture.close()
  }
}

class AccountsSequence {
  readonly #fixture: Fixture
  readonly #path: string
  readonly #calls: AccountCalls
  readonly #see: See
  #accounts: Accounts
  #hashes = new Map<string, string>()
  readonly #first: readonly string[]
  readonly #sessions: ModelSession[] = []
  readonly #changed = new Set<string>()

  constructor(fixture: Fixture, path: string, sequence: number, see: See) {
    this.#fixture = fixture
    this.#path = path
    this.#calls = new AccountCalls(fixture, path, sequence)
    this.#see = see
    this.#accounts = FIRST.map((rights, i) => ({
      ...{ id: `${sequence}-${i}`, username: `user-${sequence}-${i}`, nickname: `User${i}`, ...rights },
      ...{ status: 'ACTIVE' as const, mustChange: false, hasFactor: false, resets: 0, password: 0 },
    }))
    this.#first = this.#accounts.map(({ id }) => id)
  }

  async begin(form: Form): Promise<void> {
    writeFirst(this.#path, this.#accounts, form)
    this.#hashes = (await readFound(this.#path)).hashes
    for (const i of [0, 1, 2, 3]) await this.#beginSession(this.#accounts[i]!, true)
    // The gateway has read the file when the first administrator is known to it.
    const [first] = this.#sessions
    await until(
      async () => (await this.#fixture.get(`${BASE}/detail?id=${first!.then.id}`, first!.token)).json().success,
    )
  }

  async take(move: Move): Promise<void> {
    if ('calls' in move) await this.#takeAll(move.calls)
    else if ('look' in move) await this.#look(move.look)
    else await this.#beginSession(this.#accounts[move.session % this.#accounts.length], move.isVersioned)
  }

  async #beginSession(then: ModelAccount | undefined, isVersioned: boolean): Promise<void> {
    if (then === undefined || then.status !== 'ACTIVE') return
    const account = (await readAccounts(this.#path)).byId.get(then.id)!
    const extra = { ...account.extra, ...(isVersioned && { account_version: versionOf(account) }) }
    const token = await this.#fixture.gateway.sides.business.login(undefined, then.id, extra)
    this.#sessions.push({ token, then, isVersioned, isLive: true })
  }

  /** Nothing of a password or a second factor is shown, and everything else as it is. */
  async #look(which: number): Promise<void> {
    const session = this.#sessions[which % this.#sessions.length]!
    const answer = await this.#fixture.get(`${BASE}/page?size=100`, session.token)
    this.#calls.expectSecrecy(answer.text)
    const { code, data } = answer.json()
    const expected = !session.isLive ? 401 : holds(session.then, SEE) ? 200 : 403
    expect(code, expected, 'the code of a page')
    if (code === 200) {
      const shown = data.records.map(({ id, nickname, status }: ModelAccount) => [id, nickname, status])
      expect(
        shown,
        this.#accounts.map(({ id, nickname, status }) => [id, nickname, status]),
        'the page',
      )
    }
    this.#see(`page: ${code}`)
  }

  async #takeAll(calls: readonly Call[]): Promise<void> {
    const reading = { isOver: false }
    const reader = calls.length > 1 ? this.#readAllTheTime(reading) : null
    const done = await Promise.all(calls.map(one => this.#calls.make(one, this.#accounts, this.#sessions)))
    reading.isOver = true
    await reader
    const before = this.#accounts
    const orders = await this.#explain(done)
    for (const { change, code } of done) if (code === 200 && 'id' in change) this.#changed.add(change.id)
    for (const { call, code } of done) this.#see(`${call.way}: ${call.kind}: ${code}`)
    if (done.some(({ session, code }) => session === null && code === 200)) await this.#letRead()
    await this.#settle(before, orders)
  }

  /**
   * Lets the gateway read the file. Sessions begin here without a login, which would read it: the gateway cannot end a session
   * for the loss of something that it has never seen.
   */
  async #letRead(): Promise<void> {
    const witness = await this.#fixture.gateway.sides.business.login(undefined, 'witness', {})
    const { status } = await this.#fixture.get('/api/v1/b/account', witness)
    expect(status, 200, 'the code of an account that is not in the file')
  }

  /** Whoever reads the file while it is changed finds a whole one. */
  async #readAllTheTime(reading: { isOver: boolean }): Promise<void> {
    for (let last = ''; !reading.isOver; await turn()) {
      const text = readFileSync(this.#path, 'utf8')
      if (text !== last && parseDocument(text).errors.length > 0) throw new Error(`a file that is not whole: ${text}`)
      last = text
    }
  }

  /** The orders of the calls that lead to their answers and to the file; at least one does. */
  async #explain(done: readonly Done[]): Promise<Order[]> {
    const text = readFileSync(this.#path, 'utf8')
    const found = await readFound(this.#path)
    const orders = permutationsOf(done).map(one => this.#inOrder(one))
    const fitting = orders.filter(
      order => order !== null && isFound(order.states.at(-1)!, found, this.#hashes, this.#accounts),
    )
    if (fitting.length === 0) {
      const calls = done.map(({ change, code }) => `${JSON.stringify(change)} came to ${code}`)
      throw new Error(`no order explains this: ${calls.join('; ')}; of ${JSON.stringify(this.#accounts)} came ${text}`)
    }
    expect(missingIn(text, this.#first, found.accounts), [], 'comments and keys that were lost')
    this.#accounts = fitting[0]!.states.at(-1)!
    this.#hashes = found.hashes
    return fitting as Order[]
  }

  /** `null` if a call would have come to another answer in this order. */
  #inOrder(done: readonly Done[]): Order | null {
    const states = [this.#accounts]
    for (const one of done) {
      const accounts = states.at(-1)!
      const after = this.#afterCall(accounts, one, states)
      if (after === null) return null
      states.push(after)
    }
    return { done, states }
  }

  #afterCall(accounts: Accounts, { session, change, call, code }: Done, states: readonly Accounts[]): Accounts | null {
    if (session !== null) {
      // The session is checked when the request comes, which is before the change is made.
      const mayHaveEnded = !session.isLive || states.length > 1
      if (code === 401) return mayHaveEnded ? accounts : null
      if (!session.isLive) return null
      if (!holds(session.then, EDIT)) return code === 403 ? accounts : null
      const isRefused = REFUSED.includes(call.fields.nickname ?? '') && (call.kind === 'edit' || call.kind === 'add')
      if (isRefused) return code === 400 ? accounts : null
    }
    const { code: expected, after } = apply(accounts, change)
    return code === expected ? after : null
  }

  /** The sessions that had to end have ended, in the end also those of changes past the gateway; the others live. */
  async #settle(before: Accounts, orders: readonly Order[]): Promise<void> {
    const isLive = async ({ token }: ModelSession): Promise<boolean> =>
      (await this.#fixture.store.sessions.find('BUSINESS', token)) !== null
    for (const session of this.#sessions.filter(one => one.isLive)) {
      const fates = new Set(orders.map(order => fateOf(session, before, order)))
      const [only = 'either'] = fates.size === 1 ? fates : []
      // A session without a version may begin before the gateway has seen an earlier change in the file, and ends with that.
      const fate = only === 'lives' && !session.isVersioned && this.#changed.has(session.then.id) ? 'either' : only
      if (fate === 'ended at once' && (await isLive(session)))
        throw new Error(`a session of ${session.then.id} survived`)
      if (fate === 'ends')
        await until(async () => !(await isLive(session))).catch(() => {
          throw new Error(`a session of ${session.then.id} lives on, ${JSON.stringify(orders[0])}`)
        })
      const lives = await isLive(session)
      if (fate === 'lives' && !lives)
        throw new Error(
          `a session of ${session.then.id} ended, which began with ${JSON.stringify(session)}, ${JSON.stringify(orders[0])}`,
        )
      session.isLive = lives
      this.#see(`session: ${fate}`)
    }
  }
}

/** The first administrator changes a name, by which no other session ends, and then locks an account. */
const FIRST_MOVES: Move[] = [
  { look: 0 },
  { calls: [editOf(4, { nickname: 'Ann' })] },
  { calls: [editOf(3, { status: 'LOCKED' })] },
]

function editOf(target: number, fields: Call['fields']): Call {
  const rest = { actor: 0, name: 0, mustChange: undefined, how: 'renamed', delay: 0 } as const
  return { way: 'administrator', kind: 'edit', target, fields, ...rest }
}

/** Of the accounts that every sequence begins with. */
const FIRST = [
  { roles: [SUPER_ADMIN], permissions: [] },
  { roles: [], permissions: ['sys:account:*', 'orders:*'] },
  { roles: ['operator'], permissions: [EDIT, SEE, 'staff:edit'] },
  { roles: [], permissions: [SEE] },
  { roles: ['operator'], permissions: ['orders:read'] },
  { roles: [SUPER_ADMIN], permissions: ['**'] },
] as const

import { setImmediate as turn } from 'node:timers/promises'
import { addAccount, removeAccount, removeSecondFactor, setPassword } from '../../src/account/file/commands.ts'
import { Refusal } from '../../src/base/refusal.ts'
import type { Fixture } from '../support/gateway-fixture.ts'
import { expectSecrecy } from '../support/secrecy.ts'
import type { Call } from './accounts-calls.ts'
import { editByHand, otherHash, SEALED } from './accounts-file.ts'
import type { Accounts, Change, ModelAccount } from './accounts-model.ts'
import type { Done, ModelSession } from './accounts-orders.ts'

export const BASE = '/api/v1/sys/account'

/** Makes the calls of one sequence: by requests of administrators, on the command line, and with an editor. */
export class AccountCalls {
  readonly #fixture: Fixture
  readonly #path: string
  readonly #sequence: number
  /** That the gateway has generated. */
  readonly #passwords = new Set<string>()
  #changes = 0

  constructor(fixture: Fixture, path: string, sequence: number) {
    this.#fixture = fixture
    this.#path = path
    this.#sequence = sequence
  }

  async make(call: Call, accounts: Accounts, sessions: readonly ModelSession[]): Promise<Done> {
    for (let i = 0; i < call.delay; i++) await turn()
    if (call.way === 'administrator' && call.kind !== 'factor')
      return this.#request(call, accounts[call.target]?.id ?? 'unknown', sessions[call.actor % sessions.length]!)
    const target = accounts[call.target]
    if (call.way === 'command line' && call.kind !== 'edit' && call.kind !== 'factor')
      return this.#command(call, target)
    return this.#edit(call, target)
  }

  async #request(call: Call, id: string, session: ModelSession): Promise<Done> {
    const username = `name-${this.#sequence}-${call.name}`
    const must_change_password = call.mustChange
    const body = {
      edit: { id, ...call.fields },
      add: { username, ...call.fields, must_change_password },
      remove: { id },
      'reset-password': { id, must_change_password },
      'reset-second-factor': { id },
      factor: {},
    }[call.kind]
    const answer = await this.#fixture.post(`${BASE}/${call.kind}`, body, session.token)
    const { code, data } = answer.json()
    this.expectSecrecy(answer.text, data?.password)
    if (typeof data?.password === 'string') this.#passwords.add(data.password)
    return { call, session, code, change: this.#changeOf(call, session.then.id, data?.id ?? 'none', id, username) }
  }

  #changeOf(
    { kind, fields, mustChange = true }: Call,
    by: string | null,
    added: string,
    id: string,
    username: string,
  ): Change {
    this.#changes += 1
    const password = this.#changes
    if (kind === 'add') {
      const rest = { nickname: username, status: 'ACTIVE' as const, roles: [], permissions: [], ...fields }
      return { kind, by, account: { id: added, username, ...rest, mustChange, hasFactor: false, resets: 0, password } }
    }
    if (kind === 'reset-password') return { kind, by, id, password, mustChange }
    if (kind === 'edit' || kind === 'factor') return { kind: 'edit', by, id, set: fields }
    return { kind, by, id }
  }

  /** As `dualgate account` does it: no law holds for who can write the file. */
  async #command(call: Call, target: ModelAccount | undefined): Promise<Done> {
    const username = call.kind === 'add' ? `name-${this.#sequence}-${call.name}` : (target?.username ?? 'unknown')
    const password = `a password ${this.#sequence} ${this.#changes}`
    const { roles = [], permissions = [] } = call.fields
    const mustChange = call.mustChange ?? true
    const add = () => addAccount(this.#path, { username, password, roles, permissions, mustChange })
    const work = {
      add: async () => (await add()).id,
      remove: () => removeAccount(this.#path, username),
      'reset-password': () => setPassword(this.#path, username, password, mustChange),
      'reset-second-factor': () => removeSecondFactor(this.#path, username),
    }[call.kind as 'add']
    const outcome: string | boolean = await work().catch(fault => {
      if (fault instanceof Refusal && fault.reason === 'INVALID') return false
      throw fault
    })
    const change = this.#changeOf(
      { ...call, fields: { roles, permissions } },
      null,
      `${outcome}`,
      target?.id ?? 'unknown',
      username,
    )
    return { call, session: null, change, code: outcome === false ? 400 : 200 }
  }

  /** A person with an editor; what is read and saved here comes between nothing. */
  #edit(call: Call, target: ModelAccount | undefined): Done {
    const isFactor = call.kind === 'factor' || call.kind === 'reset-second-factor'
    const { status = 'ACTIVE', roles = target?.roles ?? [] } = call.fields
    const hash = call.kind === 'reset-password' ? { password: otherHash() } : {}
    const set = isFactor ? { second_factor: SEALED } : { status, roles, ...hash }
    const isDone = target !== undefined && editByHand(this.#path, target.id, set, call.how)
    this.#changes += 1
    const password = 'password' in set ? { password: this.#changes } : {}
    const meant: Partial<ModelAccount> = isFactor ? { hasFactor: true } : { status, roles, ...password }
    const change: Change = { kind: 'edit', by: null, id: target?.id ?? 'unknown', set: meant }
    return { call: { ...call, way: 'editor' }, session: null, change, code: isDone ? 200 : 400 }
  }

  /** Throws if a text has a second factor, or a password other than `own`. */
  expectSecrecy(text: string, own?: string): void {
    expectSecrecy([text], { 'a second factor': SEALED })
    for (const password of this.#passwords) {
      if (password !== own && text.includes(password)) throw new Error(`a password was shown: ${text}`)
    }
  }
}

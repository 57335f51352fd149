import bcrypt from 'bcrypt'
import type { HashAccount } from '../../src/account/hash-accounts.ts'
import { changed, type openLoginFixture, PASSWORD } from '../support/login-fixture.ts'
import { CHIEF, type ModelAccount } from './login-model.ts'
import type { Move } from './login-moves.ts'

type Fixture = Awaited<ReturnType<typeof openLoginFixture>>

/** Changes accounts as administrators and the source do, in the gateway and in the model. */
export class AccountChanges {
  readonly #fixture: Fixture
  readonly #accounts: HashAccount[]

  constructor(fixture: Fixture, accounts: HashAccount[]) {
    this.#fixture = fixture
    this.#accounts = accounts
  }

  async make(user: ModelAccount, change: Move['change']): Promise<void> {
    const alter = (update: (account: HashAccount) => HashAccount) => changed(this.#accounts, user.id, update)
    const { side } = this.#fixture
    if (change === 'disable') {
      await side.disable(user.id, 61, {})
      user.disabledUntil = this.#fixture.time.now + 61_000
    } else if (change === 'enable') {
      await side.untieDisable(user.id, {})
      user.disabledUntil = 0
    } else if (change === 'nickname') alter(one => ({ ...one, extra: { ...one.extra, nickname: 'Other' } }))
    else if (change === 'must-change') {
      user.mustChange = true
      alter(one => ({ ...one, mustChangePassword: true }))
    } else this.#alterVersion(user, change, alter)
  }

  #alterVersion(
    user: ModelAccount,
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
      this.makeCheap(user)
    }
  }

  /** The same password, at the lowest cost: the next logins of a long run need not take the time of a real one. */
  makeCheap(account: ModelAccount): void {
    const passwordHash = bcrypt.hashSync(account.password, 4)
    account.version += 1
    changed(this.#accounts, account.id, one => ({ ...one, passwordHash }))
  }
}

export const rightsOf = (isChief: boolean, version = 0) => ({
  ...{ nickname: 'User', avatar: null, permissions: [`v:${version}`] },
  roles: isChief ? [CHIEF] : ['operator'],
})

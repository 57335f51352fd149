import type { Answer } from '../support/client.ts'
import type { Fixture } from '../support/gateway-fixture.ts'
import { encrypted } from '../support/keys.ts'
import { fc } from '../support/random.ts'
import { ADDRESSES, KeysModel, type ModelKey, type ModelUser, PATHS, USERS } from './keys-model.ts'
import { expect, type See } from './model.ts'

/* What is done with keys and their users, generated, and compared with the model. */

const KEYS = '/api/v1/b/account/keys'
const HOUR = 3_600_000

const user = fc.nat(USERS.length - 1)
/** Which of all keys that were ever made. */
const key = fc.nat(40)

export const keyStep = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('add' as const),
      user,
      days: fc.constantFrom(undefined, 1, 3),
      paths: fc.constantFrom(null, null, ['/api/v1/b/orders'], ['/api/v1/b/orders/7', '/api/v1/sys']),
      addresses: fc.constantFrom(null, null, ['127.0.0.9'], ['127.0.0.1', '127.0.0.9']),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('rotate' as const, 'revoke' as const), user, key }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('token' as const), key }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('use' as const),
      key,
      path: fc.constantFrom(...PATHS),
      address: fc.constantFrom(...ADDRESSES),
      as: fc.constantFrom(
        'header' as const,
        'header' as const,
        'access token' as const,
        'query' as const,
        'cookie' as const,
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('account' as const),
      user,
      change: fc.constantFrom('status', 'status', 'password', 'own password', 'presence', 'disable', 'kickout'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('list' as const), user }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('elapse' as const), hours: fc.constantFrom(0.7, 5, 25) }) },
)
export type Step = typeof keyStep extends fc.Arbitrary<infer S> ? S : never
type StepOf<K extends Step['kind']> = Extract<Step, { kind: K }>

/** Takes the steps of one sequence. */
export class Player {
  readonly #fixture: Fixture
  readonly #model = new KeysModel()
  readonly #see: See
  #passwords = 0

  constructor(fixture: Fixture, see: See) {
    this.#fixture = fixture
    this.#see = see
  }

  async take(step: Step): Promise<void> {
    if (step.kind === 'list') return this.#list(this.#model.users[step.user]!)
    if (step.kind === 'elapse') return this.#elapse(step)
    if (step.kind === 'account') return this.#change(this.#model.users[step.user]!, step.change)
    if (step.kind === 'add') return this.#add(step)
    const { keys } = this.#model
    const chosen = keys[step.key % Math.max(1, keys.length)]
    if (chosen === undefined) return
    if (step.kind === 'use') return this.#use(chosen, step)
    if (step.kind === 'token') return this.#makeToken(chosen)
    return this.#changeKey(step, chosen)
  }

  /** Brings every user back, as a sequence begins. */
  async begin(): Promise<void> {
    for (const user of this.#model.users) await this.#change(user, 'presence')
  }

  async end(): Promise<void> {
    for (const user of this.#model.users) {
      await this.#fixture.gateway.sides.business.untieDisable(user.id)
      if (user.isThere) await this.#change(user, 'presence')
    }
  }

  #now(): number {
    return this.#fixture.now()
  }

  async #administer(what: string, body: object): Promise<any> {
    const rights = { username: 'admin', roles: ['SUPER_ADMIN'] }
    const session = await this.#fixture.gateway.sides.business.login(undefined, '1', rights)
    const answer = await this.#fixture.post(`/api/v1/sys/account/${what}`, body, session)
    expect(answer.json().code, 200, `${what}: ${answer.text}`)
    return answer.json().data
  }

  /**
   * Asks as a user who can have a session. It is one of a backend, which carries no version of the account: a change from before that
   * is noticed only now may end it.
   */
  async #ask({ id, name: username }: ModelUser, path: string, body?: object): Promise<Answer> {
    for (;;) {
      const session = await this.#fixture.gateway.sides.business.login(undefined, id, { username })
      const answer = await this.#fixture.call({
        method: body === undefined ? 'GET' : 'POST',
        path,
        token: session,
        body,
      })
      if (answer.json().code !== 401) return answer
      this.#see('session ended late')
    }
  }

  async #add({ user: index, days, paths, addresses }: StepOf<'add'>): Promise<void> {
    const owner = this.#model.users[index]!
    const madeAt = this.#now()
    if (!this.#model.isIn(owner, madeAt)) return
    const hasRoom = this.#model.hasRoom(owner.id, madeAt)
    const current_password = await encrypted(this.#fixture, owner.password)
    const body = { name: 'fuzz', days, paths, addresses, current_password }
    const answer = await this.#ask(owner, `${KEYS}/add`, body)
    this.#see(hasRoom ? 'made' : 'too many')
    expect(answer.json().code, hasRoom ? 200 : 400, `add: ${answer.text}`)
    if (!hasRoom) return
    const { id, key } = answer.json().data
    const endsAt = madeAt + (days ?? 365) * 24 * HOUR
    this.#model.keys.push({
      id,
      key,
      owner: owner.id,
      paths,
      addresses,
      madeAt,
      endsAt,
      isSucceeded: false,
      token: null,
    })
  }

  async #changeKey({ kind, user: index }: StepOf<'rotate' | 'revoke'>, key: ModelKey): Promise<void> {
    const asking = this.#model.users[index]!
    const now = this.#now()
    if (!this.#model.isIn(asking, now)) return
    const isOwn = key.owner === asking.id
    const next = isOwn && kind === 'rotate' ? this.#model.successor(key, now) : null
    const isDone = kind === 'rotate' ? next !== null : isOwn && now < key.endsAt
    const current_password = await encrypted(this.#fixture, asking.password)
    const body = kind === 'rotate' ? { id: key.id, current_password } : { id: key.id }
    const answer = await this.#ask(asking, `${KEYS}/${kind}`, body)
    this.#see(`${kind}: ${isDone}`)
    expect(answer.json().success, isDone, `${kind}: ${answer.text}`)
    if (!isDone) return
    if (next === null) key.endsAt = 0
    else {
      this.#model.succeed(key, now)
      this.#model.keys.push({ ...next, isSucceeded: false, id: answer.json().data.id, key: answer.json().data.key })
    }
  }

  async #makeToken(key: ModelKey): Promise<void> {
    const now = this.#now()
    const isLive = this.#model.stateOf(key, now) === 200 && this.#model.isFor(key, ADDRESSES[1])
    const answer = await this.#fixture.call({
      method: 'POST',
      path: '/api/v1/public/b/token',
      localAddress: ADDRESSES[1],
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `grant_type=client_credentials&client_id=${key.id}&client_secret=${key.key}`,
    })
    this.#see(isLive ? 'token' : 'no token')
    expect(answer.status === 200, isLive, `token: ${answer.text}`)
    if (isLive) key.token = { text: answer.json().access_token, endsAt: this.#model.tokenEndsAt(key, now) }
  }

  async #use(key: ModelKey, { path, address, as }: StepOf<'use'>): Promise<void> {
    const wanted = this.#model.codeOf(key, { path, address, as }, this.#now())
    const what = `${key.id} of ${key.owner} as ${as} at ${path} from ${address}`
    const answer = await this.#send(key, { path, address, as })
    this.#see(`use: ${wanted}`)
    if (wanted !== 200) return expect(answer.json().code, wanted, what)
    const { headers } = answer.json()
    expect([headers?.['x-login-id'], headers?.['x-login-key']], [key.owner, key.id], what)
    expect(answer.text.includes(key.key), false, `${what} forwards the key`)
  }

  #send(key: ModelKey, { path, address: localAddress, as }: Omit<StepOf<'use'>, 'kind' | 'key'>): Promise<Answer> {
    const secret = as === 'access token' ? (key.token?.text ?? 'a.b.c') : key.key
    if (as === 'query') return this.#fixture.call({ path: `${path}?token=${secret}`, localAddress })
    if (as !== 'cookie') return this.#fixture.call({ path, localAddress, token: secret })
    return this.#fixture.call({ path, localAddress, headers: { cookie: `__Host-dualgate-b=${secret}` } })
  }

  async #list(user: ModelUser): Promise<void> {
    if (!this.#model.isIn(user, this.#now())) return
    const answer = await this.#ask(user, KEYS)
    const listed = answer.json().data.map(({ id }: { id: string }) => id)
    const live = this.#model.live(user.id, this.#now()).map(({ id }) => id)
    expect(listed.toSorted(), live.toSorted(), `keys of ${user.name}`)
  }

  async #elapse({ hours }: StepOf<'elapse'>): Promise<void> {
    // Redis has a clock of its own, and keys have ends in both.
    if (this.#fixture.kind === 'embedded') await this.#fixture.elapse(hours * HOUR)
  }

  async #change(user: ModelUser, change: string): Promise<void> {
    if (change === 'presence') return this.#changePresence(user)
    if (!user.isThere) return
    const { business } = this.#fixture.gateway.sides
    if (change === 'status') {
      user.status = user.status === 'ACTIVE' ? 'INACTIVE' : 'ACTIVE'
      return this.#administer('edit', { id: user.id, status: user.status })
    }
    if (change === 'password') {
      user.password = this.#newPassword()
      this.#model.endAll(user.id)
      const password = await encrypted(this.#fixture, user.password)
      return this.#administer('reset-password', { id: user.id, password, must_change_password: false })
    }
    if (change === 'own password') return this.#changeOwnPassword(user)
    if (change === 'kickout') return void (await business.kickout(user.id))
    if (user.disabledUntil > this.#now()) {
      user.disabledUntil = 0
      return void (await business.untieDisable(user.id))
    }
    user.disabledUntil = this.#now() + 7 * HOUR
    return business.disable(user.id, 7 * 3600)
  }

  async #changePresence(user: ModelUser): Promise<void> {
    user.isThere = !user.isThere
    this.#model.endAll(user.id)
    if (!user.isThere) return this.#administer('remove', { id: user.id })
    user.status = 'ACTIVE'
    user.password = this.#newPassword()
    const password = await encrypted(this.#fixture, user.password)
    user.id = (await this.#administer('add', { username: user.name, password, must_change_password: false })).id
  }

  async #changeOwnPassword(user: ModelUser): Promise<void> {
    if (!this.#model.isIn(user, this.#now())) return
    const current_password = await encrypted(this.#fixture, user.password)
    user.password = this.#newPassword()
    const body = { current_password, new_password: await encrypted(this.#fixture, user.password) }
    const answer = await this.#ask(user, '/api/v1/b/account/password', body)
    expect(answer.json().code, 200, `own password: ${answer.text}`)
  }

  #newPassword(): string {
    this.#passwords += 1
    return `correct horse battery ${this.#passwords}`
  }
}

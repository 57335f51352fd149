import type { Actors } from './actors.ts'
import type { History } from './history.ts'
import { CHIEF } from './people-file.ts'
import { type PeopleRequests, pause } from './people-requests.ts'

const KEYS = '/api/v1/b/account/keys'
/** Between two things that happen to the keys, in milliseconds. */
const PAUSE = 100
/** Keys that are in use at a time. */
const HELD = 6

/**
 * The keys of the administrator, whose account no other changes: made, replaced, revoked and used on both workers. For the history
 * a key is the token of a user of its own: it lives until it is revoked, whatever happens to sessions.
 */
export class Programs {
  readonly #requests: PeopleRequests
  readonly #actors: Actors
  readonly #history: History
  #held: { id: string; key: string }[] = []
  #session: string | null = null
  #stopped = false

  constructor(requests: PeopleRequests, actors: Actors) {
    this.#requests = requests
    this.#actors = actors
    this.#history = requests.history
  }

  stop(): void {
    this.#stopped = true
  }

  async run(): Promise<void> {
    while (!this.#stopped) {
      await pause(PAUSE * (0.5 + Math.random()))
      const dice = Math.random()
      const [first, ...others] = this.#held
      if (first === undefined || (this.#held.length < HELD && dice < 0.2)) await this.#make('add', { name: 'chaos' })
      else if (dice < 0.3) await this.#make('rotate', { id: first.id })
      else if (dice < 0.45) await this.#revoke(first, others)
      else for (const { key } of this.#held) await this.#actors.request('BUSINESS', key, null)
    }
  }

  /** Of a backend: it carries no version of the account, so it lives until a fault loses it. */
  async #signedIn(): Promise<string | null> {
    this.#session ??= await this.#actors.begin(CHIEF, { username: CHIEF, roles: ['SUPER_ADMIN'] })
    return this.#session
  }

  async #send(what: string, body: object) {
    const session = await this.#signedIn()
    const done = session === null ? null : await this.#requests.send(`${KEYS}/${what}`, body, session)
    if (done?.code === 401) this.#session = null
    return done
  }

  /** What is not answered may have made a key that no client knows. The old one of two lives on. */
  async #make(what: 'add' | 'rotate', fields: object): Promise<void> {
    const began = this.#history.now()
    const done = await this.#send(what, { ...fields, current_password: this.#requests.encrypt(CHIEF) })
    if (done?.code !== 200) {
      // Keys without an answer count, too: all of them are revoked.
      if (done?.code === 400) await this.#revokeAll()
      return
    }
    const { id, key } = done.data
    this.#history.loggedIn(key, 'BUSINESS', `key ${id}`, began)
    this.#held = [...this.#held, { id, key }]
  }

  async #revoke(made: { id: string; key: string }, others: { id: string; key: string }[]): Promise<void> {
    const act = this.#history.ends(made.key)
    const done = await this.#send('revoke', { id: made.id })
    // Refused with 400 when it is not live: then it has ended already.
    if (done?.code === 200 || done?.code === 400) act.acked = this.#history.now()
    this.#held = others
    await this.#actors.request('BUSINESS', made.key, null)
  }

  async #revokeAll(): Promise<void> {
    const [first, ...others] = this.#held
    if (first !== undefined) return this.#revoke(first, others)
    const session = await this.#signedIn()
    if (session === null) return
    for (const id of await this.#actors.idsOfKeys(KEYS, session)) await this.#send('revoke', { id })
  }
}

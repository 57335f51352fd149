import { until } from '../support/until.ts'
import type { Actors } from './actors.ts'
import { Administrator } from './administrator.ts'
import { Editor } from './by-hand.ts'
import type { Captchas } from './captchas.ts'
import type { ChaosGateway } from './gateway.ts'
import type { History } from './history.ts'
import { judgeJournal } from './journal.ts'
import { Lives } from './lives.ts'
import { OwnAccount } from './own-account.ts'
import { CHIEF, PERSONS } from './people-file.ts'
import { PeopleRequests } from './people-requests.ts'
import { Knowledge } from './person.ts'
import { Programs } from './programs.ts'
import { SignIn } from './sign-in.ts'

/**
 * People with accounts: they sign in, in several steps, and change their accounts while an administrator, the command line
 * and an editor change them too.
 */
export class People {
  readonly #requests: PeopleRequests
  readonly #actors: Actors
  readonly #history: History
  readonly #signIn: SignIn
  readonly #editor: Editor
  readonly #lives: Lives
  readonly #programs: Programs
  #running: Promise<unknown> | null = null
  #part: () => void = () => undefined

  constructor(gateway: ChaosGateway, history: History, actors: Actors, captchas: Captchas) {
    const { folder } = gateway
    const requests = new PeopleRequests(gateway, history, actors)
    const knowledge = new Knowledge(folder, history)
    const editor = new Editor(folder, history)
    const administrator = new Administrator(requests, knowledge)
    const signIn = new SignIn(requests, knowledge, administrator, captchas)
    const own = new OwnAccount(requests, knowledge)
    this.#lives = new Lives({ requests, knowledge, administrator, signIn, own, editor })
    this.#programs = new Programs(requests, actors)
    this.#requests = requests
    this.#actors = actors
    this.#history = history
    this.#signIn = signIn
    this.#editor = editor
  }

  async start(): Promise<void> {
    await this.#requests.open()
    this.#part = this.#editor.meet()
    const lives = [
      ...PERSONS.map(username => this.#lives.live(username)),
      this.#lives.beHired(),
      this.#lives.beEdited(),
      this.#programs.run(),
    ]
    this.#running = Promise.all(lives)
    this.#running.catch(() => undefined)
  }

  async stop(): Promise<void> {
    this.#lives.stop()
    this.#programs.stop()
    await this.#running
    this.#part()
  }

  /** When nothing happens any more: what the file and the journal hold. */
  async settle(): Promise<void> {
    this.#editor.settle()
    const token = await until(() => this.#actors.begin(CHIEF, { roles: ['SUPER_ADMIN'] }))
    await judgeJournal(this.#requests.where.url, token, this.#signIn.logins, this.#history)
  }
}

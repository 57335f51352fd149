import { Client } from 'undici'
import { type BenchGateway, operate, SECRETS } from './gateway.ts'
import { seededUser } from './seed.ts'

const BASE = '/api/v1/client/session'
const PAGE_SIZE = 10
/** Tokens of the users who have many, and how many such users there are. */
const MANY_TOKENS = 100
const MANY_USERS = 20

/** An administrator at one gateway, and a backend at its internal listener: a connection each, one request at a time. */
export class Office {
  readonly users: number
  readonly #edge: Client
  readonly #internal: Client
  readonly #token: string

  static async open(gateway: BenchGateway, users: number): Promise<Office> {
    const session = { user_id: 'bench', extra: { roles: ['SUPER_ADMIN'] } }
    const { token } = await operate(gateway, 'business/login', session)
    return new Office(gateway, users, token!)
  }

  constructor(gateway: BenchGateway, users: number, token: string) {
    this.users = users
    this.#edge = new Client(gateway.url)
    this.#internal = new Client(gateway.internal, { pipelining: 1 })
    this.#token = token
  }

  see(path: string): Promise<void> {
    return this.#ask(this.#edge, 'GET', BASE + path, this.#token)
  }

  page(current: number): Promise<void> {
    return this.see(`/page?current=${current}&size=${PAGE_SIZE}`)
  }

  get lastPage(): number {
    return Math.ceil(this.users / PAGE_SIZE)
  }

  operate(operation: string, body: object): Promise<void> {
    return this.#ask(this.#internal, 'POST', `/operations/v1/consumer/${operation}`, SECRETS.internal, body)
  }

  async #ask(client: Client, method: 'GET' | 'POST', path: string, secret: string, body?: object): Promise<void> {
    const authorization = `Bearer ${secret}`
    const sent =
      body === undefined
        ? { headers: { authorization } }
        : { headers: { authorization, 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const response = await client.request({ method, path, ...sent })
    const text = await response.body.text()
    if (!text.includes('"success":true')) throw new Error(`${method} ${path}: ${text.slice(0, 200)}`)
  }

  async close(): Promise<void> {
    await Promise.all([this.#edge.close(), this.#internal.close()])
  }
}

interface Question {
  ask(office: Office, i: number): Promise<void>
  /** How often, when not as often as the others. */
  times?: number
  /** Prepares what the request needs, unless an earlier request has used it up. */
  prepare?(office: Office): Promise<void>
}

/** The requests in order: users are listed before they are kicked out. */
function questions(times: number): Record<string, Question> {
  /** Spread over the online users, another one each time. */
  const someone = ({ users }: Office, i: number): string => seededUser(Math.floor(((i + 0.5) * users) / (2 * times)))
  const newcomer = (i: number): object => ({
    user_id: `new-${i}`,
    extra: { username: `new${i}`, nickname: 'Newcomer' },
  })
  return {
    'page, first': { ask: office => office.page(1) },
    'page, middle': { ask: office => office.page(Math.ceil(office.lastPage / 2)) },
    'page, last': { ask: office => office.page(office.lastPage) },
    'page, keyword: a username': {
      ask: (office, i) => office.see(`/page?keyword=user${Math.floor((i * office.users) / times)}`),
    },
    'page, keyword: in many nicknames': { ask: office => office.see('/page?keyword=isch') },
    analysis: { ask: office => office.see('/analysis') },
    'chart-data': { ask: office => office.see('/chart-data') },
    tokens: { ask: (office, i) => office.see(`/tokens?user_id=${someone(office, i)}`) },
    login: { ask: (office, i) => office.operate('login', newcomer(i)) },
    kickout: { ask: (office, i) => office.operate('kickout', { user_id: someone(office, i) }) },
    [`kickout of ${MANY_TOKENS} tokens`]: {
      ask: (office, i) => office.operate('kickout', { user_id: `many-${i}` }),
      times: MANY_USERS,
      prepare: giveManyTokens,
    },
  }
}

/** Milliseconds of every request, by kind of request and office. */
export async function askInTurn(offices: readonly Office[], times: number): Promise<Map<string, number[][]>> {
  const elapsed = new Map<string, number[][]>()
  for (let i = 0; i < times; i++) for (const office of offices) await office.page(1)
  for (const [name, { ask, times: count = times, prepare }] of Object.entries(questions(times))) {
    if (prepare !== undefined) await Promise.all(offices.map(prepare))
    const all = offices.map((): number[] => [])
    for (let i = 0; i < count; i++) {
      for (const [at, office] of offices.entries()) {
        const began = performance.now()
        await ask(office, i)
        all[at]!.push(performance.now() - began)
      }
    }
    elapsed.set(name, all)
  }
  return elapsed
}

async function giveManyTokens(office: Office): Promise<void> {
  for (let i = 0; i < MANY_USERS; i++) {
    for (let n = 0; n < MANY_TOKENS; n++) await office.operate('login', { user_id: `many-${i}` })
  }
}

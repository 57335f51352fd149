import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { parse, stringify } from 'yaml'
import { readAccounts } from '../../../src/account/file/source.ts'
import type { Account } from '../../../src/account/source.ts'
import { versionOf } from '../../../src/account/version.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { accountNamed, openedStore } from '../../../src/cli/open-store.ts'
import { createKeys, type Keys, type MadeKey, type NewKey } from '../../../src/key/keys.ts'
import { readConfiguration } from '../../../src/settings/load.ts'
import type { Answer, Call } from '../../support/client.ts'
import { type Outcome, run } from '../../support/command-line.ts'
import type { StoreKind } from '../../support/gateway-fixture.ts'
import { grantFor, HASH, PASSWORD, type WrittenAccount } from '../../support/keys.ts'
import { encrypt } from '../../support/login-work.ts'
import { ownPorts } from '../../support/ports.ts'
import { type Supervised, startBeside, startSupervised } from '../../support/supervised.ts'
import { startUpstream } from '../../support/upstream.ts'
import { type SocketUpstream, startSocketUpstream } from '../../support/websocket-sockets.ts'
import { connectWorkers, type WorkerClient } from '../../support/worker-clients.ts'

/** Answers with the headers that a backend gets. */
export const ECHO = '/api/v1/b/orders'
export const GUARDED = '/api/v1/b/guarded'
export const LIVE = '/api/v1/b/live'
export const EVENTS = '/api/v1/b/events'
/** Event streams of an upstream without `end_with_session`. */
export const FEED = '/api/v1/b/feed'
export const KEYS = '/api/v1/b/account/keys'

/** Live keys of one user. */
export const MOST = 4
/** Wrong keys of one address. */
export const WRONG_KEYS = 8
/** How long a key lives on that another one has replaced, in milliseconds. */
export const OVERLAP = 2000

const DAY = 86_400_000
const USERS = 40

export interface User {
  id: string
  /** Of a session. */
  token: string
}

/** The gateways of one store, with users whose keys are used at every worker. */
export interface KeyPlace {
  store: StoreKind
  gateways: readonly Supervised[]
  /** One connection to each worker of each gateway. */
  workers: readonly WorkerClient[]
  /** Where WebSockets lead. */
  live: SocketUpstream
  /** A session of an administrator. */
  chief: string
  /** `PASSWORD`, as clients send it. */
  password: string
  /** A password as clients send it. */
  encrypted(password: string): string
  /** A user whom no other test uses, with the permissions `orders:read` and `orders:write`. */
  nextUser(): Promise<User>
  /** A session of an account, as its login begins one. */
  signedIn(name: string): Promise<string>
  /** Makes a key as another process of the store does. */
  addKey(owner: string, fields?: Partial<NewKey>): Promise<MadeKey>
  /** The next worker, in turn. */
  next(): WorkerClient
  /** Asks the next worker; throws unless it agrees. */
  post(path: string, body: object, token?: string): Promise<any>
  /** One question to every worker: their answers, in the order of `workers`. */
  everywhere(options: Call): Promise<Answer[]>
  /** The code of the answer of every worker; 200 where a backend was reached. */
  codes(token: string, path?: string): Promise<number[]>
  editAccounts(change: (accounts: WrittenAccount[]) => WrittenAccount[]): void
  command(...words: string[]): Promise<Outcome>
}

export async function openKeyPlace(t: Test, store: StoreKind): Promise<KeyPlace> {
  const live = await startSocketUpstream(t)
  const gateways = await startGateways(t, store, live)
  const [first] = gateways as [Supervised]
  const workers = await connected(t, { gateways })
  const path = join(first.folder, 'config/accounts.yaml')
  const { keys, accountOf } = await openStoredKeys(t, first)
  const publicKey = (await workers[0]!.call({ path: '/api/v1/public/b/sm2/public-key' })).json().data
  let [turn, users] = [0, 0]

  const place: KeyPlace = {
    store,
    gateways,
    workers,
    live,
    chief: '',
    password: encrypt(PASSWORD, publicKey),
    encrypted: password => encrypt(password, publicKey),
    async nextUser() {
      const id = nameOf(users++)
      return { id, token: await place.signedIn(id) }
    },
    async signedIn(name) {
      const account = (await readAccounts(path)).byName.get(name)!
      const extra = { ...account.extra, username: name, account_version: versionOf(account) }
      return (await first.operate('business', 'login', { user_id: account.id, extra })).data.token
    },
    addKey: async (owner, fields = {}) =>
      keys.add(await accountOf(owner), { ...UNLIMITED, ...fields }, { id: owner, type: 'BUSINESS' }, {}),
    next: () => workers[turn++ % workers.length]!,
    async post(path, body, token = place.chief) {
      const answer = (await place.next().call({ method: 'POST', path: `/api/v1/${path}`, body, token })).json()
      if (answer.success !== true) throw new Error(`${path}: ${JSON.stringify(answer)}`)
      return answer.data
    },
    everywhere: options => Promise.all(workers.map(worker => worker.call(options))),
    codes: async (token, path = ECHO) => (await place.everywhere({ path, token })).map(codeOf),
    editAccounts: change => edit(path, change),
    command: (...words) => run(first.folder, words, { environment: first.environment, input: PASSWORD }),
  }
  place.chief = await place.signedIn('chief')
  // Only a worker that has read the accounts before reads them again.
  for (const { status } of await place.everywhere({ path: '/api/v1/b/account', token: place.chief }))
    t.equal(status, 200)
  return place
}

/** Further connections, one to each worker, from another address: wrong keys are counted for an address. */
export const connected = async (
  t: Test,
  { gateways }: Pick<KeyPlace, 'gateways'>,
  address?: string,
): Promise<WorkerClient[]> => (await Promise.all(gateways.map(gateway => connectWorkers(t, gateway, address)))).flat()

/** An access token for a key. */
export async function tokenFor(worker: WorkerClient, made: Pick<MadeKey, 'id' | 'key'>): Promise<string> {
  const answer = await worker.call(grantFor(made))
  if (answer.status !== 200) throw new Error(`no token: ${answer.text}`)
  return answer.json().access_token
}

export const codeOf = (answer: Answer): number => answer.json().code ?? 200

const UNLIMITED: NewKey = { name: 'job', lifetime: DAY, permissions: null, paths: null, addresses: null }

const nameOf = (number: number): string => `user${number}`

/** One gateway of two workers on the embedded store; two of them on one Redis. */
async function startGateways(t: Test, store: StoreKind, live: SocketUpstream): Promise<Supervised[]> {
  const events = await startUpstream({
    answer: (_request, response) => void response.writeHead(200, STREAM).write('data: first\n\n'),
  })
  t.teardown(() => events.close())
  const echo = { target: 'builtin:echo' }
  const upstreams = [
    { name: 'live', match: LIVE, target: live.url, websocket: {} },
    { name: 'events', match: EVENTS, target: events.url, end_with_session: 'on' },
    { name: 'feed', match: FEED, target: events.url },
    { name: 'guarded', match: GUARDED, ...echo, permission: 'orders:read' },
    { name: 'passing', match: '/api/v1/b/passing', ...echo, pass_authorization: true },
    { name: 'echo', match: '/api', ...echo },
  ]
  const first = await startSupervised(t, {
    store,
    environment: { LOG__ACCESS: 'on', ...(await ownPorts()) },
    files: {
      'config/gateway.yaml': stringify({ ...SETTINGS, session_cache: cacheOf(store) }),
      'config/upstreams.yaml': stringify({ upstreams }),
      'config/accounts.yaml': stringify({ accounts: ACCOUNTS }),
      'config/consumers.yaml': stringify({ accounts: CONSUMERS }),
    },
  })
  return store === 'redis' ? [first, await startBeside(t, first)] : [first]
}

const STREAM = { 'content-type': 'text/event-stream' }

/** With Redis, keys are remembered where sessions are. */
const cacheOf = (store: StoreKind) => ({ business: store === 'redis' ? 'tracking' : 'off' })

const SETTINGS = {
  data: 'data',
  // A busy machine may leave the connection to a worker alone for long.
  listen: { timeouts: { keep_alive: '1h' } },
  upstreams: 'upstreams.yaml',
  browser: { business: true },
  keys: { business: { max_per_user: MOST, overlap: `${OVERLAP / 1000}s` }, consumer: {} },
  login: {
    rate_limit: 'off',
    lockout: { address_failures: WRONG_KEYS },
    consumer: { kind: 'file', path: 'consumers.yaml' },
  },
}

const CHIEF = { id: 'chief', username: 'chief', password: HASH, roles: ['SUPER_ADMIN'] }
const ACCOUNTS = [
  CHIEF,
  ...Array.from({ length: USERS }, (_, i) => ({
    id: nameOf(i),
    username: nameOf(i),
    password: HASH,
    permissions: ['orders:read', 'orders:write'],
  })),
]

/** Beside a program the same users, with the same passwords: what tells the sides apart is the side alone. */
const CONSUMERS = [...ACCOUNTS, { id: 'shop', username: 'shop', service: true }]

/** The keys of the B side as this process, one more of the store, makes them. */
async function openStoredKeys(t: Test, { folder, environment }: Supervised) {
  const { settings } = readConfiguration('config/gateway.yaml', environment, folder, { secretsNeeded: false })
  const store = await openedStore(settings)
  t.teardown(() => store.close())
  const limits = { users: true, max_per_user: 100, max_age: DAY, overlap: OVERLAP }
  const keys: Keys = createKeys({
    type: 'BUSINESS',
    credentials: store.credentials,
    attempts: store.attempts,
    settings: limits,
    clock: systemClock,
    publish: () => undefined,
  })
  return { keys, accountOf: (name: string): Promise<Account> => accountNamed(settings.accounts, name) }
}

/** Replaces the accounts file, as an editor does. */
function edit(path: string, change: (accounts: WrittenAccount[]) => WrittenAccount[]): void {
  const { accounts } = parse(readFileSync(path, 'utf8'))
  const draft = `${path}.draft`
  writeFileSync(draft, stringify({ accounts: change(accounts) }), { mode: 0o600 })
  renameSync(draft, path)
}

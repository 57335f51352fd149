import t from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { type EmbeddedStore, openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import { random } from '../support/random.ts'
import { PATIENCE } from '../support/until.ts'
import { startWorker } from './embedded-child.ts'

const ROUNDS = 15
/** Of workers that store credentials. */
const KEY_ROUNDS = 4
const WORKERS = 4
/** A worker is killed after at most so many lines: the time that they take depends on the disk. */
const LINES = 120
/**
 * Milliseconds without a word of any worker. One that dies when the dead owner of the file's lock has just woken it takes this
 * wake-up with it, and another one that waits sleeps on.
 */
const STUCK = 20_000

/** What a worker said about one token or credential. */
interface Said {
  user: string
  loggedIn: boolean
  endAsked: boolean
  ended: boolean
}

await t.test('sixty workers killed at any time lose no login and revive no logout', async t => {
  const folder = t.testdir()
  const seen = { killed: 0, alive: 0, dead: 0, interrupted: 0 }
  const users = new Set<string>()
  for (let round = 0; round < ROUNDS; round++) {
    const said = await killWorkers('live', folder, round, seen)
    const store = await openEmbeddedStore(folder, systemClock, PATIENCE)
    for (const tokens of said.map(readSaid)) {
      await compare(store, tokens, seen)
      for (const { user } of tokens.values()) users.add(user)
    }
    await compareView(store, users)
    await store.close()
  }
  t.equal(seen.killed, ROUNDS * WORKERS)
  t.ok(seen.alive > ROUNDS * WORKERS, `${seen.alive} acknowledged logins live`)
  t.ok(seen.dead > ROUNDS * WORKERS, `${seen.dead} acknowledged logouts stayed dead`)
  t.ok(seen.interrupted > ROUNDS, `${seen.interrupted} verbs were interrupted`)
})

await t.test('workers killed at any time lose no credential and revive none', async t => {
  const folder = t.testdir()
  const seen = { killed: 0, alive: 0, dead: 0, interrupted: 0 }
  for (let round = 0; round < KEY_ROUNDS; round++) {
    const said = await killWorkers('live-keys', folder, round, seen)
    const store = await openEmbeddedStore(folder, systemClock, PATIENCE)
    const { credentials } = store
    for (const ids of said.map(readSaid)) {
      const owners = new Set(Array.from(ids.values(), ({ user }) => user))
      const listed = new Set<string>()
      for (const owner of owners) for (const { id } of await credentials.of('BUSINESS', owner)) listed.add(id)
      compareAll(ids, id => credentials.find('BUSINESS', id) !== null, listed, seen)
    }
    await store.close()
  }
  t.equal(seen.killed, KEY_ROUNDS * WORKERS)
  t.ok(seen.alive > KEY_ROUNDS * WORKERS, `${seen.alive} acknowledged credentials live`)
  t.ok(seen.dead > KEY_ROUNDS * WORKERS, `${seen.dead} acknowledged ends stayed ends`)
})

/** Starts workers, kills each at some time, and answers what they have said. */
async function killWorkers(task: string, folder: string, round: number, seen: { killed: number }): Promise<string[][]> {
  const workers = Array.from({ length: WORKERS }, (_, i) => startWorker(task, folder, `r${round}w${i}`))
  const stuck = setTimeout(() => {
    for (const worker of workers) worker.process.kill('SIGKILL')
  }, STUCK)
  const said = await Promise.all(
    workers.map(async worker => {
      const lines: string[] = []
      for (const last = 1 + random() * LINES; lines.length < last && !worker.process.killed; ) {
        lines.push(...(await worker.nextSaid()))
        stuck.refresh()
      }
      worker.process.kill('SIGKILL')
      if ((await worker.ended) === 'SIGKILL') seen.killed++
      return [...lines, ...worker.said()]
    }),
  )
  clearTimeout(stuck)
  return said
}

function readSaid(lines: string[]): Map<string, Said> {
  const tokens = new Map<string, Said>()
  for (const line of lines) {
    const [what, user = '', token = ''] = line.split(' ')
    const about = tokens.get(token) ?? { user, loggedIn: false, endAsked: false, ended: false }
    tokens.set(token, about)
    if (what === '+') about.loggedIn = true
    if (what === '-?') about.endAsked = true
    if (what === '-') about.ended = true
  }
  return tokens
}

async function compare(
  store: EmbeddedStore,
  tokens: Map<string, Said>,
  seen: { alive: number; dead: number; interrupted: number },
): Promise<void> {
  const listed = new Set<string>()
  for (const user of new Set([...tokens.values()].map(({ user }) => user))) {
    for (const { token } of await store.sessions.tokens('BUSINESS', user)) listed.add(token)
  }
  compareAll(tokens, token => store.sessions.find('BUSINESS', token) !== null, listed, seen)
}

function compareAll(
  tokens: Map<string, Said>,
  isAlive: (token: string) => boolean,
  listed: ReadonlySet<string>,
  seen: { alive: number; dead: number; interrupted: number },
): void {
  for (const [token, { loggedIn, endAsked, ended }] of tokens) {
    const alive = isAlive(token)
    if (loggedIn && !endAsked && !alive) throw new Error(`the acknowledged beginning of ${token} is lost`)
    if (ended && alive) throw new Error(`the acknowledged end of ${token} is undone`)
    if (alive !== listed.has(token)) throw new Error(`${token} is ${alive ? 'alive and not' : 'dead and'} in its set`)
    if (ended) seen.dead++
    else if (!loggedIn || endAsked) seen.interrupted++
    else seen.alive++
  }
}

/** Who is shown as online is who has tokens. */
async function compareView(store: EmbeddedStore, users: Iterable<string>): Promise<void> {
  const sizes = new Map<string, number>()
  for (const user of users) {
    const { length } = await store.sessions.tokens('BUSINESS', user)
    if (length > 0) sizes.set(user, length)
  }
  const tally = await store.online.tally('BUSINESS')
  const { userIds } = await store.online.page('BUSINESS', { offset: 0, limit: 10_000 })
  const shown = [tally.users, tally.tokens, tally.maxTokensPerUser, ...userIds.toSorted()].join(' ')
  const tokens = [...sizes.values()]
  const sum = tokens.reduce((total, length) => total + length, 0)
  const live = [sizes.size, sum, Math.max(0, ...tokens), ...[...sizes.keys()].toSorted()].join(' ')
  if (shown !== live) throw new Error(`${shown} are shown as online, but ${live} are`)
}

import { existsSync, writeSync } from 'node:fs'
import { systemClock } from '../../src/base/clock.ts'
import { type EmbeddedStore, openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import { EmbeddedFile } from '../../src/store/embedded/file/lmdb-file.ts'
import { PATIENCE } from '../support/until.ts'
import { MINUTE, record } from './contract-fixture.ts'

/*
 * Another process on the same file, started by the tests of the embedded store:
 *   embedded-worker.ts TASK FOLDER [ARGUMENT]
 * What it reports goes to standard output in whole lines, written before it goes on.
 */

const say = (line: string): void => {
  writeSync(1, `${line}\n`)
}

/** Ends one token after the other in eight lanes, and says each as soon as its end is acknowledged. */
async function revoke(store: EmbeddedStore, count: number): Promise<void> {
  const lane = async (first: number) => {
    for (let i = first; i < count; i += 8) {
      if (!(await store.sessions.remove('BUSINESS', String(i % 10), `token-${i}`))) throw new Error(`no token-${i}`)
      say(String(i))
    }
  }
  await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(lane))
}

/** Kicks out one user after the other, and says each as soon as the kickout is acknowledged. */
async function kick(store: EmbeddedStore, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    if ((await store.sessions.removeAll('CONSUMER', String(i))) === 0) throw new Error(`no user ${i}`)
    say(String(i))
  }
}

/** Logs users in, and says each login as soon as it is acknowledged. */
async function admit(store: EmbeddedStore, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    await store.sessions.add('CONSUMER', `token-${i}`, record('CONSUMER', '1'), systemClock.now() + 10 * MINUTE)
    say(String(i))
  }
}

/**
 * Logs in and out without end, three users at once, and says what it is about to do and what was acknowledged:
 * `+?` and `+` for a login, `-?` and `-` for the end of a token.
 */
async function live(store: EmbeddedStore, name: string): Promise<never> {
  const user = async (userId: string): Promise<never> => {
    let alive: string[] = []
    for (let i = 0; ; i++) {
      const token = `${userId}-token-${i}`
      say(`+? ${userId} ${token}`)
      await store.sessions.add('BUSINESS', token, record('BUSINESS', userId), systemClock.now() + 60 * MINUTE)
      say(`+ ${userId} ${token}`)
      alive.push(token)
      const ending = i % 7 === 6 ? alive : i % 3 === 2 ? alive.slice(0, 1) : []
      for (const ended of ending) say(`-? ${userId} ${ended}`)
      if (ending === alive) await store.sessions.removeAll('BUSINESS', userId)
      else if (ending[0] !== undefined) await store.sessions.remove('BUSINESS', userId, ending[0])
      for (const ended of ending) say(`- ${userId} ${ended}`)
      alive = alive.filter(kept => !ending.includes(kept))
    }
  }
  return Promise.race(['a', 'b', 'c'].map(id => user(`${name}:${id}`)))
}

const inAnHour = (): number => systemClock.now() + 60 * MINUTE

/** Ends one credential after the other, and says each as soon as its end is acknowledged. */
async function revokeKeys(store: EmbeddedStore, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    if (!(await store.credentials.remove('BUSINESS', '1', `key-${i}`))) throw new Error(`no key-${i}`)
    say(String(i))
  }
}

/** Stores credentials, and says each as soon as it is acknowledged. */
async function addKeys(store: EmbeddedStore, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const credential = { id: `key-${i}`, owner: '1', text: 'text', expiresAt: inAnHour() }
    if (!(await store.credentials.add('CONSUMER', credential, count))) throw new Error('no place')
    say(String(i))
  }
}

/**
 * Stores, replaces and ends credentials without end, three owners at once, and says what it is about to do and what was
 * acknowledged, as `live` does.
 */
async function liveKeys(store: EmbeddedStore, name: string): Promise<never> {
  const made = (owner: string, i: number) => ({ id: `${owner}-key-${i}`, owner, text: 'text', expiresAt: inAnHour() })
  const owner = async (owner: string): Promise<never> => {
    let alive: string[] = []
    for (let i = 0; ; i++) {
      const next = made(owner, i)
      const newest = alive.at(-1)
      say(`+? ${owner} ${next.id}`)
      // What has its place taken lives on.
      const isStored =
        i % 3 === 1 && newest !== undefined
          ? await store.credentials.succeed('BUSINESS', owner, newest, next, inAnHour())
          : await store.credentials.add('BUSINESS', next, 100)
      if (!isStored) throw new Error(`${next.id} was refused`)
      say(`+ ${owner} ${next.id}`)
      alive.push(next.id)
      const ending = i % 11 === 10 ? alive : i % 4 === 3 ? alive.slice(0, 1) : []
      for (const ended of ending) say(`-? ${owner} ${ended}`)
      if (ending === alive) await store.credentials.removeAll('BUSINESS', owner)
      else if (ending[0] !== undefined) await store.credentials.remove('BUSINESS', owner, ending[0])
      for (const ended of ending) say(`- ${owner} ${ended}`)
      alive = alive.filter(kept => !ending.includes(kept))
    }
  }
  return Promise.race(['a', 'b', 'c'].map(id => owner(`${name}-${id}`)))
}

/** Stores credentials until the disk is full, says how that was answered, and whether one can be ended then. */
async function fillWithKeys(store: EmbeddedStore): Promise<void> {
  for (let i = 0; ; i++) {
    const credential = { id: `key-${i}`, owner: String(i % 50), text: 'x'.repeat(8000), expiresAt: inAnHour() }
    try {
      await store.credentials.add('BUSINESS', credential, Number.POSITIVE_INFINITY)
      say(`+ ${i}`)
    } catch (error) {
      say((error as { reason?: string }).reason ?? String(error))
      break
    }
  }
  say(String(await store.credentials.remove('BUSINESS', '0', 'key-0')))
  say(store.counts().failedWrites === 0 ? 'unnoticed' : (await store.warnings()).join())
}

/** Opens the store so many times, and until a file called `release` appears, and closes it again. */
async function reopen(folder: string, times: number): Promise<void> {
  for (let i = 0; i < times || !existsSync(`${folder}/release`); i++)
    await (await openEmbeddedStore(folder, systemClock, PATIENCE)).close()
}

/** Keeps the file's lock, with its event loop stopped, until a file called `release` appears. */
async function hold(folder: string): Promise<void> {
  const file = await EmbeddedFile.open(folder, PATIENCE)
  await file.write(() => {
    say('holding')
    while (!existsSync(`${folder}/release`)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
  })
  await file.close()
}

/** Logs in until the disk is full, and says how that was answered. */
async function fill(store: EmbeddedStore): Promise<void> {
  const extra = { text: 'x'.repeat(4000) }
  for (let i = 0; ; i++) {
    try {
      await store.sessions.add(
        'BUSINESS',
        `token-${i}`,
        record('BUSINESS', '1', extra),
        systemClock.now() + 10 * MINUTE,
      )
      say(`+ ${i}`)
    } catch (error) {
      say((error as { reason?: string }).reason ?? String(error))
      break
    }
  }
  say(store.sessions.find('BUSINESS', 'token-0') === null ? 'lost' : 'kept')
}

const [task, folder = '', argument = ''] = process.argv.slice(2)
if (task === 'hold') {
  await hold(folder)
} else if (task === 'reopen') {
  await reopen(folder, Number(argument))
} else {
  const store = await openEmbeddedStore(folder, systemClock, PATIENCE)
  if (task === 'revoke') await revoke(store, Number(argument))
  else if (task === 'kick') await kick(store, Number(argument))
  else if (task === 'admit') await admit(store, Number(argument))
  else if (task === 'live') await live(store, argument)
  else if (task === 'fill') await fill(store)
  else if (task === 'revoke-keys') await revokeKeys(store, Number(argument))
  else if (task === 'add-keys') await addKeys(store, Number(argument))
  else if (task === 'live-keys') await liveKeys(store, argument)
  else if (task === 'fill-keys') await fillWithKeys(store)
  // It ends without closing the store: nothing of it may keep the process alive.
}

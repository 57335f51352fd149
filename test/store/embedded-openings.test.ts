import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import fs, {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import type { Writable } from 'node:stream'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import { OpenLock } from '../../src/store/embedded/file/open-lock.ts'
import { isRunning, ownProcessName } from '../../src/store/embedded/file/running-process.ts'
import { limitFiles, withoutFullDisk } from '../support/full-disk.ts'
import { CHANGING, RESTING } from '../support/open-lock.ts'
import { PATIENCE, until } from '../support/until.ts'
import { MINUTE, record } from './contract-fixture.ts'
import { startWorker } from './embedded-child.ts'

const SESSION_FILE = 'sessions.mdb'

/** Logins while other processes open the file. */
const ENOUGH = 100

const nextTurn = () => new Promise(resolve => setImmediate(resolve))

/** The folders of a session file in which processes say what they do. */
function foldersOf(folder: string) {
  const path = `${folder}/${SESSION_FILE}`
  const folders = { opening: `${path}-opening`, processes: `${path}-processes` }
  for (const made of Object.values(folders)) mkdirSync(made, { recursive: true })
  return { path, ...folders }
}

/** A change that is under way until the test ends it. */
function startChange(openLock: OpenLock, isGivenUp = () => false) {
  const seen = { begun: false }
  const told = new EventEmitter()
  const begin = async () => {
    seen.begun = true
    const [answer] = await once(told, 'end')
    return answer
  }
  return { seen, ended: openLock.change(begin, isGivenUp), end: () => told.emit('end', 'changed') }
}

async function endedProcess(): Promise<string> {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' })
  await once(child, 'exit')
  return `${child.pid}-1-ended`
}

await t.test('no acknowledged login is lost while other processes open the file', async t => {
  const folder = t.testdir()
  const store = await openEmbeddedStore(folder, systemClock, PATIENCE)
  t.teardown(() => store.close())
  const workers = [startWorker('reopen', folder, '300'), startWorker('reopen', folder, '300')]
  const opening = { ended: false }
  const codes = Promise.all(workers.map(worker => worker.ended)).finally(() => {
    opening.ended = true
  })
  const tokens: string[] = []
  const expiresAt = systemClock.now() + 10 * MINUTE
  while (!opening.ended) {
    const token = `token-${tokens.length}`
    await store.sessions.add('BUSINESS', token, record('BUSINESS', String(tokens.length % 7)), expiresAt)
    tokens.push(token)
    // How many of them a process opens meanwhile depends on the machine.
    if (tokens.length === ENOUGH + 1) writeFileSync(`${folder}/release`, '')
  }
  t.same(await codes, [0, 0])
  t.ok(tokens.length > ENOUGH, `${tokens.length} logins`)
  t.same(
    tokens.filter(token => store.sessions.find('BUSINESS', token) === null),
    [],
    'none is lost',
  )
  t.same(readdirSync(`${folder}/${SESSION_FILE}-processes`).length, 1, 'who closed the file left nothing behind')
  t.same(readdirSync(`${folder}/${SESSION_FILE}-opening`), [])
})

await t.test('a process opens the file between the changes of another', async t => {
  const { path, opening } = foldersOf(t.testdir())
  const { openLock } = await OpenLock.opening(path, () => undefined)
  t.teardown(() => openLock.close())
  const before = startChange(openLock)
  t.ok(before.seen.begun, 'a change begins at once when no process opens')

  const opened: string[] = []
  const other = OpenLock.opening(path, () => {
    opened.push('opened')
    // What others may do now is seen in the files alone.
    t.equal(readdirSync(opening).length, 1)
  })
  while (readdirSync(opening).length === 0) await nextTurn()
  const meanwhile = startChange(openLock)
  for (let i = 0; i < 20; i++) await nextTurn()
  t.same(opened, [], 'it waits for the change that is under way')
  t.notOk(meanwhile.seen.begun, 'and the next change waits for it')

  before.end()
  t.equal(await before.ended, 'changed')
  const { openLock: theirs } = await other
  t.teardown(() => theirs.close())
  t.same(opened, ['opened'])
  while (!meanwhile.seen.begun) await nextTurn()
  meanwhile.end()
  t.equal(await meanwhile.ended, 'changed', 'the change that waited happens afterwards')
})

await t.test('a change that is given up while another process opens the file does not happen', async t => {
  const { path, opening } = foldersOf(t.testdir())
  const { openLock } = await OpenLock.opening(path, () => undefined)
  t.teardown(() => openLock.close())
  writeFileSync(`${opening}/${ownProcessName()}-other`, '')
  const state = { givenUp: false }
  const change = startChange(openLock, () => state.givenUp)
  await nextTurn()
  state.givenUp = true
  t.equal(await change.ended, undefined)
  t.notOk(change.seen.begun)
})

await t.test('an opening names the process that keeps changing the file', async t => {
  const { path, opening, processes } = foldersOf(t.testdir())
  writeFileSync(`${processes}/${ownProcessName()}-other`, CHANGING)
  await t.rejects(
    OpenLock.opening(path, () => t.fail('not opened'), 20),
    { message: `process ${process.pid} keeps changing ${path}: it hangs, or is stopped; end it, and start again` },
  )
  t.same(readdirSync(opening), [], 'and no longer holds off the changes of others')
})

await t.test('what ended processes left behind delays no process, and is removed', async t => {
  const { path, opening, processes } = foldersOf(t.testdir())
  const ended = await endedProcess()
  writeFileSync(`${processes}/${ended}`, CHANGING)
  const { openLock } = await OpenLock.opening(path, () => undefined)
  t.teardown(() => openLock.close())
  t.notOk(existsSync(`${processes}/${ended}`))

  writeFileSync(`${opening}/${ended}`, '')
  t.equal(
    await openLock.change(
      async () => 'changed',
      () => false,
    ),
    'changed',
  )
  t.notOk(existsSync(`${opening}/${ended}`))
})

const IN_OTHER_CONTAINER = '1-1-0a1b2c3d-othercontainer'

await t.test('a file that a process of another container has open is not opened', async t => {
  const { path, opening, processes } = foldersOf(t.testdir())
  writeFileSync(`${processes}/${IN_OTHER_CONTAINER}`, RESTING)
  await t.rejects(
    OpenLock.opening(path, () => t.fail('opened'), 20),
    {
      message: `a process of another container, or of another PID namespace, has ${path} open, which only one container may have: stop the other and start again, or set store.kind: redis`,
    },
  )
  t.same(readdirSync(processes), [IN_OTHER_CONTAINER], 'it keeps its file, and this process leaves none')
  t.same(readdirSync(opening), [])
})

await t.test('a process opens a file as soon as the one of another container has closed it', async t => {
  const { path, processes } = foldersOf(t.testdir())
  writeFileSync(`${processes}/${IN_OTHER_CONTAINER}`, RESTING)
  const opened: string[] = []
  const opening = OpenLock.opening(path, () => opened.push('opened'))
  for (let i = 0; i < 20; i++) await nextTurn()
  t.same(opened, [])
  rmSync(`${processes}/${IN_OTHER_CONTAINER}`)
  const { openLock } = await opening
  openLock.close()
  t.same(opened, ['opened'])
})

for (const [when, seconds] of [
  ['some seconds ago', -6],
  ['before the clock was set back', 3600],
] as const) {
  await t.test(`what a container left behind that was killed ${when} is removed`, async t => {
    const { path, opening, processes } = foldersOf(t.testdir())
    const left = `${processes}/${IN_OTHER_CONTAINER}`
    writeFileSync(left, CHANGING)
    writeFileSync(`${opening}/${IN_OTHER_CONTAINER}`, '')
    const at = new Date(Date.now() + seconds * 1000)
    utimesSync(left, at, at)
    const { openLock } = await OpenLock.opening(path, () => undefined, 20)
    t.teardown(() => openLock.close())
    t.notOk(existsSync(left))
    t.same(readdirSync(opening), [])
  })
}

await t.test('a container that waits delays nothing in the one that has the file open', async t => {
  const { path, opening, processes } = foldersOf(t.testdir())
  const { openLock } = await OpenLock.opening(path, () => undefined)
  t.teardown(() => openLock.close())
  writeFileSync(`${processes}/${IN_OTHER_CONTAINER}`, '')
  writeFileSync(`${opening}/${IN_OTHER_CONTAINER}`, '')
  const { openLock: another } = await OpenLock.opening(path, () => undefined, 20)
  t.teardown(() => another.close())
  const changed = await openLock.change(
    async () => 'changed',
    () => false,
  )
  t.equal(changed, 'changed')
  t.ok(existsSync(`${processes}/${IN_OTHER_CONTAINER}`), 'which may still run')
})

await t.test('a process renews the file by which other containers know that it runs', async t => {
  const { path, processes } = foldersOf(t.testdir())
  const { openLock } = await OpenLock.opening(path, () => undefined)
  t.teardown(() => openLock.close())
  const own = `${processes}/${readdirSync(processes)[0]}`
  utimesSync(own, 1, 1)
  await until(() => statSync(own).mtimeMs > 1000)
  t.pass()
})

await t.test('a process that stood still while another container opened the file changes nothing any more', async t => {
  const { path, processes } = foldersOf(t.testdir())
  const { openLock } = await OpenLock.opening(path, () => undefined)
  t.teardown(() => openLock.close())
  rmSync(`${processes}/${readdirSync(processes)[0]}`)
  const change = startChange(openLock)
  await t.rejects(change.ended, { cause: { message: /another container has opened the store/ } })
  t.notOk(change.seen.begun)
})

await t.test('a process changes nothing in a file that is no longer in its place', async t => {
  const { path } = foldersOf(t.testdir())
  writeFileSync(path, '')
  const { openLock } = await OpenLock.opening(path, () => undefined)
  t.teardown(() => openLock.close())
  const message = /was moved, removed or replaced while it was open; put it back/
  const change = () =>
    openLock.change(
      async () => 'changed',
      () => false,
    )
  renameSync(path, `${path}-moved`)
  await t.rejects(change(), { cause: { message } })
  writeFileSync(path, '')
  await t.rejects(change(), { cause: { message } })
  renameSync(`${path}-moved`, path)
  t.equal(await change(), 'changed')
})

await t.test('a process is known by its number and its start', async t => {
  t.ok(isRunning(ownProcessName()))
  t.ok(isRunning(`${ownProcessName()}-more`))
  t.notOk(isRunning(await endedProcess()))
  t.notOk(isRunning(`${process.pid}-1`), 'an earlier process had this number')
})

await t.test('a process that has ended is ended, although its parent never waited for it', async t => {
  // The shell starts a child and becomes a program that waits for none. Only then the child ends, by the end of its input: the
  // shell itself would wait for it.
  const parent = spawn('/bin/sh', ['-c', 'cat <&3 & echo $!; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
  })
  t.teardown(() => parent.kill('SIGKILL'))
  const [line] = await once(parent.stdout!, 'data')
  const pid = Number(String(line))
  const stat = () => readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? []
  const name = `${pid}-${stat()[19]}`
  t.ok(isRunning(name))
  while (readFileSync(`/proc/${parent.pid}/comm`, 'latin1') !== 'sleep\n') await nextTurn()
  ;(parent.stdio[3] as Writable).end()
  while (stat()[0] !== 'Z') await nextTurn()
  t.notOk(isRunning(name))
})

t.test('on a full disk a process opens the file, and its changes hold openings off', async t => {
  const { path, processes } = foldersOf(t.testdir())
  fillDisks(t)
  const { openLock } = await OpenLock.opening(path, () => undefined)
  t.teardown(() => openLock.close())
  const change = startChange(openLock)
  t.ok(change.seen.begun)
  await t.rejects(
    OpenLock.opening(path, () => t.fail('opened'), 20),
    { message: /keeps changing/ },
  )
  change.end()
  await change.ended
  const { openLock: another } = await OpenLock.opening(path, () => undefined)
  another.close()
  t.equal(readdirSync(processes).length, 1)
})

/** From now on no file takes a byte. */
function fillDisks(t: Test): void {
  const { writeSync, writeFileSync } = fs
  t.teardown(() => {
    Object.assign(fs, { writeSync, writeFileSync })
    syncBuiltinESMExports()
  })
  const full = (): never => {
    throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
  }
  Object.assign(fs, { writeSync: full, writeFileSync: full })
  syncBuiltinESMExports()
}

t.test('after a fault of the disk, a change holds openings off as before', { skip: withoutFullDisk }, async t => {
  const { path, processes } = foldersOf(t.testdir())
  const { openLock } = await OpenLock.opening(path, () => undefined)
  t.teardown(() => openLock.close())
  t.teardown(() => limitFiles('unlimited'))
  limitFiles(0)
  await t.rejects(
    openLock.change(
      async () => t.fail('changed'),
      () => false,
    ),
    { code: 'EFBIG' },
  )
  limitFiles('unlimited')
  const change = startChange(openLock)
  await until(() => change.seen.begun)
  t.same(
    readdirSync(processes).map(name => statSync(`${processes}/${name}`).size),
    [CHANGING.length],
  )
  change.end()
  await change.ended
})

t.test('with a fault of the disk an opening fails before it opens anything', { skip: withoutFullDisk }, async t => {
  const { path, opening, processes } = foldersOf(t.testdir())
  t.teardown(() => limitFiles('unlimited'))
  limitFiles(0)
  await t.rejects(
    OpenLock.opening(path, () => t.fail('opened')),
    { code: 'EFBIG' },
  )
  for (const folder of [opening, processes]) t.same(readdirSync(folder), [])
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { AccountsReader } from '../../src/account/file/accounts-reader.ts'
import { edit } from '../../src/account/file/edit-file.ts'
import { withLock } from '../../src/account/file/lock.ts'
import { addAccount, listAccounts } from '../../src/account/file/source.ts'
import { DAY } from '../../src/base/clock.ts'
import { folderWith } from '../settings/folder.ts'
import { limitFiles, withoutFullDisk } from '../support/full-disk.ts'
import { refusalOf } from '../support/login-fixture.ts'
import { unreadable } from '../support/read-only.ts'

const MINUTE_AGO = new Date(Date.now() - 61_000)
const TOMORROW = new Date(Date.now() + DAY)

/** A lock of a process that runs or has ended, made as this process makes one. */
async function lockOf(path: string, pid: number, rest: object = {}): Promise<void> {
  let text = ''
  await withLock(path, async () => {
    text = readFileSync(`${path}.lock`, 'utf8')
  })
  writeFileSync(`${path}.lock`, JSON.stringify({ ...JSON.parse(text), pid, ...rest }))
}

t.test('the lock of a process that was killed does not keep others from the file', async t => {
  const path = join(t.testdir(), 'accounts.yaml')
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  await once(child, 'spawn')
  child.kill('SIGKILL')
  await once(child, 'exit')
  await lockOf(path, child.pid!)
  t.match(await addAccount(path, { username: 'a', password: 'correct horse' }), { id: String })
  t.same(readdirSync(join(path, '..')), ['accounts.yaml'])
})

t.test('a process that got the id of a killed one does not keep its lock', async t => {
  const path = join(t.testdir(), 'accounts.yaml')
  await lockOf(path, process.pid, { started: '1' })
  await withLock(path, async isHeld => void t.ok(isHeld()))
})

t.test('a lock without a holder, or of another machine, is void after a minute', async t => {
  const path = join(t.testdir(), 'accounts.yaml')
  for (const rest of ['', 'null', '{"pid":1,"started":"1","machine":"elsewhere","nonce":"n"}']) {
    writeFileSync(`${path}.lock`, rest)
    utimesSync(`${path}.lock`, MINUTE_AGO, MINUTE_AGO)
    await withLock(path, async isHeld => void t.ok(isHeld(), rest))
    t.notOk(existsSync(`${path}.lock`))
  }
})

t.test('so is one of before the clock was set back', async t => {
  const path = join(t.testdir(), 'accounts.yaml')
  writeFileSync(`${path}.lock`, '')
  utimesSync(`${path}.lock`, TOMORROW, TOMORROW)
  await withLock(path, async isHeld => void t.ok(isHeld()), 1)
  t.notOk(existsSync(`${path}.lock`))
})

t.test(
  'a full disk leaves no lock behind, which would keep others from the file when there is space again',
  { skip: withoutFullDisk },
  async t => {
    const path = join(t.testdir(), 'accounts.yaml')
    t.teardown(() => limitFiles('unlimited'))
    limitFiles(0)
    await t.rejects(
      withLock(path, async () => undefined),
      { code: 'EFBIG' },
    )
    limitFiles('unlimited')
    t.same(readdirSync(join(path, '..')), [])
  },
)

t.test('the lock of a process that runs is kept', async t => {
  const path = join(t.testdir(), 'accounts.yaml')
  await lockOf(path, process.pid)
  const text = readFileSync(`${path}.lock`, 'utf8')
  const work = async (): Promise<void> => void t.fail('the lock was taken over')
  t.match(await refusalOf(withLock(path, work, 1)), { reason: 'UNAVAILABLE' })
  t.equal(readFileSync(`${path}.lock`, 'utf8'), text)
})

/** A lock of another user, such as root, as this process meets it. */
async function withForeignLock(t: Test, changed: Date, work: (path: string) => Promise<unknown>): Promise<void> {
  const path = join(folderWith(t, {}), 'accounts.yaml')
  await lockOf(path, process.pid)
  utimesSync(`${path}.lock`, changed, changed)
  const giveBack = unreadable(`${path}.lock`)
  try {
    await work(path)
  } finally {
    giveBack()
  }
}

t.test('a lock that this process may not read is waited for, and kept', async t => {
  await withForeignLock(t, new Date(), async path => {
    const work = async (): Promise<void> => void t.fail('the lock was taken over')
    t.match(await refusalOf(withLock(path, work, 1)), { reason: 'UNAVAILABLE' })
    t.ok(existsSync(`${path}.lock`))
    const held = withLock(path, async isHeld => isHeld())
    rmSync(`${path}.lock`)
    t.ok(await held)
  })
})

t.test('a lock that this process may not read is void after a minute', async t => {
  await withForeignLock(t, MINUTE_AGO, async path => {
    t.ok(await withLock(path, async isHeld => isHeld(), 1))
    t.notOk(existsSync(`${path}.lock`))
  })
})

t.test('of many that find a void lock, no two hold it to the end', async t => {
  const path = join(t.testdir(), 'accounts.yaml')
  writeFileSync(`${path}.lock`, '')
  utimesSync(`${path}.lock`, MINUTE_AGO, MINUTE_AGO)
  const names = Array.from({ length: 4 }, (_, i) => `user${i}`)
  const program = join(import.meta.dirname, 'file-lock-child.js')
  const children = names.map(name => spawn(process.execPath, [program, path, name], { stdio: 'inherit' }))
  t.same(await Promise.all(children.map(async child => (await once(child, 'exit'))[0])), [0, 0, 0, 0])
  t.same((await listAccounts(path)).map(({ username }) => username).sort(), names)
})

t.test('a holder whose lock was taken over finds that before it replaces the file', async t => {
  const path = join(t.testdir(), 'accounts.yaml')
  await withLock(path, async isHeld => {
    t.equal(isHeld(), true)
    writeFileSync(`${path}.lock`, 'another holder')
    t.equal(isHeld(), false)
  })
  t.equal(readFileSync(`${path}.lock`, 'utf8'), 'another holder', 'and does not remove it')
})

t.test('an edit whose lock was taken over replaces nothing, and decides again', async t => {
  const path = join(t.testdir(), 'accounts.yaml')
  await addAccount(path, { username: 'a', password: 'correct horse' })
  const before = readFileSync(path, 'utf8')
  let decided = 0
  const { changed } = await edit({ path, reader: new AccountsReader(path) }, async () => {
    decided++
    t.equal(readFileSync(path, 'utf8'), before)
    if (decided === 1) {
      writeFileSync(`${path}.lock`, '')
      utimesSync(`${path}.lock`, MINUTE_AGO, MINUTE_AGO)
    }
    return { change: { at: 0, set: { nickname: 'A' } }, result: null }
  })
  t.ok(changed)
  t.equal(decided, 2)
})

import { appendFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { SETTLED } from '../../src/account/file/settled-text.ts'
import { addAccount, listAccounts, removeAccount } from '../../src/account/file/source.ts'
import { refusalOf } from '../support/login-fixture.ts'
import { until } from '../support/until.ts'
import { addBy, entry, open } from './file-fixture.ts'

/* An accounts file is edited while an editor saves it, or after it was emptied. */

/** The times of files are that coarse, in milliseconds. */
const TICK = 10

t.test('what an editor saves while the command line changes the file is not lost', async t => {
  const { path } = open(t.testdir(), `accounts:\n${entry('1', 'a')}${entry('2', 'b')}`)
  const saves = [
    () => writeFileSync(path, `accounts:\n${entry('1', 'a')}${entry('2', 'b')}${entry('3', 'c')}`),
    () => {
      writeFileSync(`${path}~`, `# by hand\n${readFileSync(path, 'utf8')}${entry('4', 'd')}`)
      renameSync(`${path}~`, path)
    },
  ]
  // Looked up between the reading and the writing of the command: there the editor saves.
  const name = {
    toLowerCase() {
      saves.shift()?.()
      return 'a'
    },
  }
  t.equal(await removeAccount(path, name as string), true)
  t.same(
    (await listAccounts(path)).map(({ username }) => username),
    ['b', 'c', 'd'],
  )
  t.match(readFileSync(path, 'utf8'), /^# by hand/)
})

t.test('a file that an editor is saving is neither listed nor edited before it is whole', async t => {
  const text = `accounts:\n${entry('1', 'a')}${entry('2', 'b')}`
  const { path } = open(t.testdir(), text)
  const namesIn = async () => (await listAccounts(path)).map(({ username }) => username)
  /** Each part is a valid file in which accounts are missing. Answers whether the editor paused for less than defeats the wait. */
  async function save(): Promise<boolean> {
    let longest = 0
    for (const name of ['a', 'b', 'c']) {
      const began = performance.now()
      appendFileSync(path, `${name === 'a' ? 'accounts:\n' : ''}${entry(name, name)}`)
      await setTimeout(30)
      longest = Math.max(longest, performance.now() - began)
    }
    return longest < SETTLED - TICK
  }
  /** What is done while the editor saves. Where the machine stalls the editor, that proves nothing: once more. */
  const duringSave = (empty: () => void, begin: () => Promise<unknown>[]): Promise<unknown[]> =>
    until(async () => {
      empty()
      const begun = Promise.allSettled(begin())
      const isQuick = await save()
      const results = await begun
      return isQuick && results.map(result => (result.status === 'fulfilled' ? result.value : result.reason))
    })
  for (const empty of [() => writeFileSync(path, ''), () => rmSync(path)]) {
    t.same(await duringSave(empty, () => [namesIn()]), [['a', 'b', 'c']])
    const add = () => addAccount(path, { username: 'd', password: 'correct horse' })
    t.match(await duringSave(empty, () => [add(), removeAccount(path, 'b')]), [{ id: String }, true])
    t.same(await namesIn(), ['a', 'c', 'd'])
  }
})

t.test('an empty file is not believed at once, although it looks old or was empty before', async t => {
  const { path } = open(t.testdir(), '')
  for (const before of ['it looks old', 'it was read empty']) {
    writeFileSync(path, '')
    await setTimeout(150)
    if (before === 'it was read empty') await listAccounts(path).catch(() => undefined)
    const listed = listAccounts(path)
    writeFileSync(path, `accounts:\n${entry('1', 'a')}`)
    t.match(await listed, [{ username: 'a' }], before)
  }
})

t.test('an account is not added to a file that was emptied, and the fault names the remedy', async t => {
  for (const text of ['', '# nothing\n', 'accounts:\n']) {
    const { path, source } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
    await source.find('a')
    writeFileSync(path, text)
    const remedy = { message: /write `accounts: \[\]` to have none/ }
    await t.rejects(addAccount(path, { username: 'b', password: 'correct horse' }), remedy)
    await t.rejects(listAccounts(path), remedy)
    t.match(await refusalOf(addBy(source)), { reason: 'UNAVAILABLE' })
    t.equal(readFileSync(path, 'utf8'), text)
    rmSync(path)
    t.match(await refusalOf(addBy(source)), { reason: 'UNAVAILABLE' }, 'nor to one that was removed')
    t.notOk(existsSync(path))
  }
})

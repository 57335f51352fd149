import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createLook, RETRY } from '../../src/process/configuration-watch.ts'
import { type FilesRead, readSource, recordFiles, recordIfFaulty } from '../../src/settings/files-read.ts'
import { clockOf } from '../support/clock.ts'

/* One look at the files of a configuration at a time, without waiting. */

/** A watch of these files, each of which a reload reads again. */
function watching(t: Test, names: string[]) {
  const folder = t.testdir()
  const files: FilesRead = new Map()
  const at = (name: string): string => join(folder, name)
  const read = (): void =>
    recordFiles(files, () => {
      for (const name of names) {
        try {
          readSource(at(name))
        } catch {
          // It is recorded as missing.
        }
      }
    })
  const fixture = {
    reloads: [] as string[][],
    now: 0,
    isRefused: false,
    files,
    at,
    /** The next writing of the same text is seen, too, however coarse the clock of the file system is. */
    write(name: string, text: string): void {
      writeFileSync(at(name), text)
      utimesSync(at(name), ++seconds, seconds)
    },
    read,
    async looks(count: number): Promise<string[][]> {
      for (let i = 0; i < count; i++) await look()
      return fixture.reloads.splice(0)
    },
  }
  let seconds = 1000
  const reload = async (changed: string[]): Promise<void> => {
    fixture.reloads.push(changed.map(file => file.slice(folder.length + 1)))
    read()
  }
  const look = createLook(
    fixture,
    reload,
    clockOf(() => fixture.now),
  )
  return fixture
}

t.test('a change is applied once, when two looks in a row have found the same', async t => {
  const watch = watching(t, ['one', 'two'])
  watch.write('one', 'first')
  watch.read()
  t.same(await watch.looks(3), [])

  watch.write('one', 'second')
  t.same(await watch.looks(1), [])
  watch.write('two', 'and this one')
  t.same(await watch.looks(1), [], 'they still change')
  t.same(await watch.looks(3), [['one', 'two']])

  rmSync(watch.at('two'))
  t.same(await watch.looks(4), [['two']])
})

t.test('what is changed back and changed again is a change each time', async t => {
  const watch = watching(t, ['one'])
  watch.read()
  for (let round = 0; round < 2; round++) {
    watch.write('one', 'text')
    t.same(await watch.looks(2), [['one']])
    rmSync(watch.at('one'))
    watch.read()
    t.same(await watch.looks(1), [])
  }
})

t.test('the same contents are no change, however they were written', async t => {
  const watch = watching(t, ['one', 'folder'])
  watch.write('one', 'text')
  mkdirSync(watch.at('folder'))
  watch.read()
  watch.write('one', 'text')
  writeFileSync(join(watch.at('folder'), 'entry'), '')
  t.same(await watch.looks(3), [])
  appendFileSync(watch.at('one'), ' and more')
  t.same(await watch.looks(3), [['one']])
})

t.test('a pipe has nothing left to read, so it never changes', async t => {
  const watch = watching(t, ['one'])
  watch.write('one', 'text')
  watch.read()
  rmSync(watch.at('one'))
  execFileSync('mkfifo', [watch.at('one')])
  t.same(await watch.looks(3), [])
})

t.test('a refused reload is tried again, less and less often, and a change does not wait for that', async t => {
  const watch = watching(t, ['one'])
  watch.read()
  watch.isRefused = true
  t.same(await watch.looks(3), [])
  for (const wait of [1, 2, 4, 8, 16, 30, 30].map(times => times * RETRY.first)) {
    watch.now += wait - 1
    t.same(await watch.looks(2), [])
    watch.now += 1
    t.same(await watch.looks(2), [[]], `after ${wait} ms`)
  }
  watch.write('one', 'text')
  t.same(await watch.looks(2), [['one']])
  watch.isRefused = false
  watch.now += RETRY.most
  t.same(await watch.looks(2), [], 'another reload has succeeded meanwhile')
  watch.isRefused = true
  t.same(await watch.looks(1), [])
  watch.now += RETRY.first
  t.same(await watch.looks(1), [[]], 'the next refusal is tried as early as the first one')
})

t.test('files that are followed in another way are recorded only if they are faulty', async t => {
  const folder = t.testdir({ sound: '' })
  const files: FilesRead = new Map()
  const [sound, missing] = [join(folder, 'sound'), join(folder, 'missing')]
  recordFiles(files, () => {
    recordIfFaulty(() => readSource(sound))
    t.throws(() => recordIfFaulty(() => [sound, missing].map(readSource)), { code: 'ENOENT' })
    t.same([...files.keys()], [sound, missing])
    files.clear()
    recordIfFaulty(() => readSource(sound))
    t.same([...files.keys()], [])
    readSource(sound)
  })
  t.same([...files.keys()], [sound], 'another setting may name it, too')
})

import { chmodSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { fileState } from '../../src/base/file-state.ts'

t.test('the state of a file changes with what a reader would find', async t => {
  const folder = t.testdir()
  const [file, other] = [join(folder, 'one'), join(folder, 'other')]
  const states = [fileState(file)]
  const next = (): void => void states.push(fileState(file))
  const write = (path: string, text: string, seconds: number): void => {
    writeFileSync(path, text)
    utimesSync(path, seconds, seconds)
  }
  write(file, 'one', 1000)
  next()
  write(file, 'longer', 1000)
  next()
  write(file, 'longer', 2000)
  next()
  write(other, 'longer', 2000)
  renameSync(other, file)
  next()
  chmodSync(file, 0o640)
  next()
  rmSync(file)
  symlinkSync('one', file)
  next()
  t.equal(new Set(states).size, states.length)
  t.equal(states[0], 'ENOENT')
  t.equal(states.at(-1), 'ELOOP')
  t.equal(fileState(file), fileState(file), 'and with nothing else')
})

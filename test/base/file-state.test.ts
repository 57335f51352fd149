import { chmodSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { fileState } from '../../src/base/file-state.ts'

t.test('the state of a file changes with what a reader would find', async t => {
  const folder = t.testdir()
  const [file, other] = [join(folder, 'one'), join(folder, 'other')]
  const states = [fileState(file)]
  const next = (): void => void states.push(fileState(file))
  writeFileSync(file, 'first')
  next()
  writeFileSync(file, 'second')
  next()
  const { atime, mtime } = statSync(file)
  writeFileSync(other, 'second')
  utimesSync(other, atime, mtime)
  renameSync(other, file)
  next()
  chmodSync(file, 0o600)
  next()
  rmSync(file)
  symlinkSync('one', file)
  next()
  t.equal(new Set(states).size, states.length)
  t.equal(states[0], 'ENOENT')
  t.equal(states.at(-1), 'ELOOP')
  t.equal(fileState(file), fileState(file), 'and with nothing else')
})

import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { Output } from '../../../src/base/log/output.ts'
import { type NamedPipe, openNamedPipe } from '../../support/named-pipe.ts'
import { until } from '../../support/until.ts'

/* How lines reach standard output. */

/** Begins to read; answers what was read so far. */
function readAll({ reader }: NamedPipe): () => string {
  let text = ''
  reader.on('data', chunk => {
    text += chunk
  })
  return () => text
}

/** A numbered line of this many bytes. */
const lineOf = (number: number, bytes: number): string => `${String(number).padEnd(bytes - 1, '.')}\n`

t.test('lines are written in their order with the turn in which they were logged', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-log-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'log')
  const descriptor = openSync(file, 'a')
  t.teardown(() => closeSync(descriptor))
  const output = new Output(descriptor)
  const lines = ['first\n', 'ünïcödé 漢字 🚪\n', lineOf(2, 4095), lineOf(3, 4097), lineOf(4, 20_000), 'last\n']
  for (const line of lines) output.write(line)
  t.equal(readFileSync(file, 'utf8'), '', 'in one batch')
  await nextTurn()
  t.equal(readFileSync(file, 'utf8'), lines.join(''))
})

t.test('lines wait for a slow reader, and the writer does not', async t => {
  const pipe = openNamedPipe(t)
  const output = new Output(pipe.writer)
  const written: string[] = []
  // Four times what a pipe holds.
  for (let number = 0; number < 1000; number++) {
    const line = number % 100 === 0 ? lineOf(number, 9000) : lineOf(number, 300)
    written.push(line)
    output.write(line)
    if (number % 7 === 0) await nextTurn()
  }
  const text = readAll(pipe)
  t.ok(await until(() => text().length >= written.join('').length))
  t.equal(text(), written.join(''))
})

t.test(
  'beyond 16 MiB lines are dropped, whole ones, and their number is reported when the reader has caught up',
  async t => {
    const pipe = openNamedPipe(t)
    const output = new Output(pipe.writer)
    const reports: number[] = []
    output.onDropped = lines => reports.push(lines)
    const BYTES = 1000
    const total = 20_000
    for (let number = 0; number < total; number++) output.write(lineOf(number, BYTES))
    await nextTurn()
    t.same(reports, [])
    const text = readAll(pipe)
    t.ok(await until(() => reports.length === 1))
    const kept = Math.floor((16 * 1024 * 1024) / BYTES)
    t.same(reports, [total - kept])
    // What the pipe holds has been written, and is still to be read.
    await until(() => text().length >= kept * BYTES)
    t.equal(text(), Array.from({ length: kept }, (_, number) => lineOf(number, BYTES)).join(''))
    output.write('further\n')
    t.ok(await until(() => text().endsWith('further\n')))
  },
)

t.test('when the process ends, a reader that accepts nothing is not waited for', async t => {
  const pipe = openNamedPipe(t)
  const output = new Output(pipe.writer)
  const lines = Array.from({ length: 1000 }, (_, number) => lineOf(number, 300))
  for (const line of lines) output.write(line)
  output.end(10)
  const text = readAll(pipe)
  // A pipe holds 64 KiB.
  t.ok(await until(() => text().length > 60_000))
  t.ok(lines.join('').startsWith(text()), 'what fits is written')
})

t.test('without a reader the writer goes on', async t => {
  const pipe = openNamedPipe(t)
  const output = new Output(pipe.writer)
  pipe.reader.destroy()
  for (let number = 0; number < 100; number++) output.write(lineOf(number, 300))
  await nextTurn()
  output.write('further\n')
  output.end()
  t.pass('it does not throw')
})

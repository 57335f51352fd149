import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import t, { type Test } from 'tap'
import { EmbeddedFile } from '../../src/store/embedded/file/lmdb-file.ts'
import { run, shippedFolder } from '../support/command-line.ts'
import { PATIENCE } from '../support/until.ts'

/* Changes are refused before LMDB meets a full disk. What it does there: `workarounds/lmdb-full-disk.ts`. */

const MIB = 2 ** 20
const BLOCK = 4096

/** From now on every disk has this size and so much free space, in bytes. */
function pretend(t: Test): (size: number, free: number) => void {
  const { statfsSync } = fs
  t.teardown(() => {
    fs.statfsSync = statfsSync
    syncBuiltinESMExports()
  })
  return (size, free) => {
    fs.statfsSync = (() => ({ bsize: BLOCK, blocks: size / BLOCK, bavail: free / BLOCK })) as never
    syncBuiltinESMExports()
  }
}

t.test('what is added needs 16 MiB of free space, or a sixteenth of a small disk', async t => {
  const file = await EmbeddedFile.open(t.testdir(), PATIENCE)
  t.teardown(() => file.close())
  const table = await file.creating(() => file.table('texts'))
  const put = (text: string) => file.add(() => table.putSync(Buffer.from('key'), text))
  const found = () => file.read(() => table.get(Buffer.from('key')))
  const have = pretend(t)
  for (const [size, needed] of [
    [1024 * MIB, 16 * MIB],
    [64 * MIB, 4 * MIB],
  ] as const) {
    have(size, needed)
    await put('taken')
    have(size, needed - BLOCK)
    const message = /: (15|3)\.9 MiB are free, and logins need (16|4)\.0 MiB; free space on the disk$/
    const fault = { cause: { cause: { code: 28, message } } }
    await t.rejects(put('refused'), fault)
    t.match(file.outage.warning, /sessions.mdb.*the disk is full: free space/)
    t.equal(found(), 'taken', 'reading needs none')
    await file.write(() => table.removeSync(Buffer.from('key')))
    t.equal(found(), undefined, 'and removing takes pages of the file')
  }
})

t.test('a command that needs a store where the disk is full fails with one sentence', async t => {
  const folder = shippedFolder(t)
  await run(folder, ['account', 'add', 'jane'])
  pretend(t)(1024 * MIB, 0)
  const errors = `dualgate: ${folder}/data: 0.0 MiB are free, and logins need 16.0 MiB; free space on the disk\n`
  t.same(await run(folder, ['key', 'add', 'jane']), { code: 1, output: '', errors })
})

t.test('without the space to add something no file is made, and a file that is there is opened', async t => {
  const folder = t.testdir()
  const have = pretend(t)
  have(1024 * MIB, 0)
  await t.rejects(EmbeddedFile.open(folder, PATIENCE), /MiB are free/)
  have(1024 * MIB, 100 * MIB)
  await (await EmbeddedFile.open(folder, PATIENCE)).close()
  have(1024 * MIB, 0)
  const file = await EmbeddedFile.open(folder, PATIENCE)
  await file.write(() => undefined)
  await file.close()
})

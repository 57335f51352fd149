import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { crc32, crc32OfGzip } from '../../src/workarounds/node-crc32.ts'
import { launch, shippedFolder } from '../support/command-line.ts'

/* What Node 22.0 does not have, and Node 20.19 has. */

t.test('the program starts without what Node 22.0 does not have', async t => {
  const folder = shippedFolder(t)
  const preloaded = join(folder, 'without.cjs')
  writeFileSync(preloaded, "delete process.getBuiltinModule\ndelete require('node:zlib').crc32\n")
  const child = launch(folder, ['--version'], { NODE_OPTIONS: `--require=${preloaded}` })
  const [errors, [code]] = await Promise.all([text(child.stderr!), once(child, 'exit')])
  t.equal(code, 0, errors)
})

t.test('a checksum is the same with and without the function of Node', async t => {
  // The value that catalogues of checksums name.
  for (const sum of [crc32, crc32OfGzip]) t.equal(sum('123456789'), 0xcbf43926)
  const key = 'dgb_0123456789abcdefghij_Zz'
  t.equal(crc32OfGzip(key), crc32(key))
})

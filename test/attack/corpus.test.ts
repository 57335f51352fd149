import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import type { Attack } from './attack.ts'
import { openStage } from './stage.ts'

/* Every file in corpus/ is a table of attacks: a new attack is a new row, a new kind a new file. */

const CORPUS = join(import.meta.dirname, 'corpus')

const tables = await Promise.all(
  readdirSync(CORPUS).map(async file => {
    const { default: attacks } = (await import(join(CORPUS, file))) as { default: Attack[] }
    return { kind: basename(file, '.ts').replaceAll('-', ' '), attacks }
  }),
)
const stage = await openStage(t)

for (const { kind, attacks } of tables) {
  t.test(kind, async t => {
    for (const attack of attacks) {
      await t.test(attack.claim, async t => {
        await stage.attempt(t, attack)
      })
    }
  })
}

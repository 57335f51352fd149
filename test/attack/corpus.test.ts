import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { openAttackFixture } from '../support/attack-fixture.ts'
import type { Attack } from './attack.ts'

/*
 * Every file in corpus/ is a table of attacks: a new attack is a new row, a new kind a new file. One of them is for a gateway
 * with exceptions; the others hold with these exceptions as without.
 */

const CORPUS = join(import.meta.dirname, 'corpus')

interface Table {
  default: Attack[]
  /** What the gateway has to except. */
  exceptions?: object[]
}

const tables = await Promise.all(
  readdirSync(CORPUS)
    .filter(file => file.endsWith('.js'))
    .map(async file => {
      const { default: attacks, exceptions } = (await import(join(CORPUS, file))) as Table
      return { kind: basename(file, '.js').replaceAll('-', ' '), attacks, exceptions }
    }),
)
const exceptions = tables.flatMap(table => table.exceptions ?? [])
const STAGES = [
  { name: '', fixture: await openAttackFixture(t), tables: tables.filter(table => table.exceptions === undefined) },
  { name: ', with exceptions', fixture: await openAttackFixture(t, { config: { gate: { exceptions } } }), tables },
]

for (const { name, fixture, tables } of STAGES) {
  for (const { kind, attacks } of tables) {
    t.test(kind + name, async t => {
      for (const attack of attacks) {
        await t.test(attack.claim, async t => {
          await fixture.attempt(t, attack)
        })
      }
    })
  }
}

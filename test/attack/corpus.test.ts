import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { openAttackFixture } from '../support/attack-fixture.ts'
import { withoutStrictParser } from '../support/strict-parser.ts'
import type { Attack } from './attack.ts'

/*
 * Every file in corpus/ is a table of attacks: a new attack is a new row, a new kind a new file. One of them is for a gateway
 * with exceptions, and one for a gateway with rules about client addresses; the others hold with these as without.
 */

const CORPUS = join(import.meta.dirname, 'corpus')

interface Table {
  default: Attack[]
  /** What the gateway has to except. */
  exceptions?: object[]
  /** Its rules about client addresses. */
  access?: object[]
}

const tables = await Promise.all(
  readdirSync(CORPUS)
    .filter(file => file.endsWith('.js'))
    .map(async file => {
      const { default: attacks, exceptions, access } = (await import(join(CORPUS, file))) as Table
      return { kind: basename(file, '.js').replaceAll('-', ' '), attacks, exceptions, access }
    }),
)
const exceptions = tables.flatMap(table => table.exceptions ?? [])
const access = tables.flatMap(table => table.access ?? [])
const isPlain = (table: (typeof tables)[number]): boolean =>
  table.exceptions === undefined && table.access === undefined
const STAGES = [
  { name: '', fixture: await openAttackFixture(t), tables: tables.filter(isPlain) },
  {
    name: ', with exceptions and rules about client addresses',
    fixture: await openAttackFixture(t, { config: { gate: { exceptions }, access } }),
    tables,
  },
]

for (const { name, fixture, tables } of STAGES) {
  for (const { kind, attacks } of tables) {
    t.test(kind + name, async t => {
      for (const attack of attacks) {
        if (attack.isOverlooked && withoutStrictParser) {
          t.pass(attack.claim, { skip: withoutStrictParser })
          continue
        }
        const faults = await fixture.attempt(attack).catch((fault: unknown) => [String(fault)])
        t.same(faults, [], attack.claim)
      }
    })
  }
}

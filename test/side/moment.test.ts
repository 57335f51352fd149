import t from 'tap'
import { createMomentFormat } from '../../src/side/moment.ts'

t.test('a moment is written YYYY-MM-DD HH:MM:SS in the configured zone', async t => {
  const moment = Date.UTC(2026, 0, 2, 23, 4, 5)
  t.equal(createMomentFormat('UTC').write(moment), '2026-01-02 23:04:05')
  t.equal(createMomentFormat('Asia/Shanghai').write(moment), '2026-01-03 07:04:05')
  t.equal(createMomentFormat('Asia/Shanghai').day(moment), '2026-01-03')
})

t.test('midnight is hour 00', async t => {
  t.equal(createMomentFormat('UTC').write(Date.UTC(2026, 5, 1)), '2026-06-01 00:00:00')
})

const SHANGHAI = createMomentFormat('Asia/Shanghai')
const ROWS: [text: string, moment: number | null][] = [
  ['2026-01-03 07:04:05', Date.UTC(2026, 0, 2, 23, 4, 5)],
  ['2026-01-03T07:04:05', Date.UTC(2026, 0, 2, 23, 4, 5)],
  ['2026-01-03T07:04:05.123456', Date.UTC(2026, 0, 2, 23, 4, 5)],
  ['2026-01-02T23:04:05Z', Date.UTC(2026, 0, 2, 23, 4, 5)],
  ['2026-01-02T23:04:05+00:00', Date.UTC(2026, 0, 2, 23, 4, 5)],
  ['2026-01-03T07:04:05+0800', Date.UTC(2026, 0, 2, 23, 4, 5)],
  ['2026-01-03', null],
  ['yesterday', null],
  ['2026-13-03 07:04:05', null],
  ['', null],
]

for (const [text, moment] of ROWS) {
  t.test(`the time ${JSON.stringify(text)} reads as ${moment}`, async t => t.equal(SHANGHAI.read(text), moment))
}

t.test('every hour of a year reads back as it was written, also where clocks change', async t => {
  const format = createMomentFormat('Europe/Berlin')
  const ambiguous: number[] = []
  for (let moment = Date.UTC(2026, 0, 1); moment < Date.UTC(2027, 0, 1); moment += 3_600_000) {
    if (format.read(format.write(moment)) !== moment) ambiguous.push(moment)
  }
  t.ok(ambiguous.length <= 1, 'only the hour that the clock shows twice has two readings')
})

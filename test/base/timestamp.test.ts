import t from 'tap'
import { createTimestampFormat } from '../../src/base/timestamp.ts'

t.test('a timestamp is written YYYY-MM-DD HH:MM:SS in the configured zone', async t => {
  const timestamp = Date.UTC(2026, 0, 2, 23, 4, 5)
  t.equal(createTimestampFormat('UTC').write(timestamp), '2026-01-02 23:04:05')
  t.equal(createTimestampFormat('Asia/Shanghai').write(timestamp), '2026-01-03 07:04:05')
  t.equal(createTimestampFormat('Asia/Shanghai').day(timestamp), '2026-01-03')
})

t.test('midnight is hour 00', async t => {
  t.equal(createTimestampFormat('UTC').write(Date.UTC(2026, 5, 1)), '2026-06-01 00:00:00')
})

const SHANGHAI = createTimestampFormat('Asia/Shanghai')
const ROWS: [text: string, timestamp: number | null][] = [
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

for (const [text, timestamp] of ROWS) {
  t.test(`the time ${JSON.stringify(text)} reads as ${timestamp}`, async t => t.equal(SHANGHAI.read(text), timestamp))
}

t.test('every hour of a year reads back as it was written, also where clocks change', async t => {
  for (const [zone, twice] of [
    ['Europe/Berlin', Date.UTC(2026, 9, 25)],
    ['America/New_York', Date.UTC(2026, 10, 1, 5)],
  ] as const) {
    const { read, readLast, write } = createTimestampFormat(zone)
    const [first, last]: number[][] = [[], []]
    for (let timestamp = Date.UTC(2026, 0, 1); timestamp < Date.UTC(2027, 0, 1); timestamp += 3_600_000) {
      if (readLast(write(timestamp)) !== timestamp) first!.push(timestamp)
      if (read(write(timestamp)) !== timestamp) last!.push(timestamp)
    }
    t.same([first, last], [[twice], [twice + 3_600_000]], 'only the hour that the clock shows twice has two readings')
  }
  const { read, readLast } = createTimestampFormat('Europe/Berlin')
  t.equal(read('2026-03-29 02:30:00'), Date.UTC(2026, 2, 29, 1, 30), 'a time that the clock does not show')
  t.equal(readLast('2026-03-29 02:30:00'), Date.UTC(2026, 2, 29, 1, 30))
})

t.test('a time whose year has not four digits in the zone is not a time, and no fault', async t => {
  for (const zone of ['UTC', 'America/New_York', 'Asia/Shanghai']) {
    const { read, normalize } = createTimestampFormat(zone)
    for (const text of ['0000-01-01 00:00:00', '0001-01-01T00:00:00', '0999-06-01 00:00:00']) {
      t.equal(read(text), null, `${text} ${zone}`)
    }
    t.equal(normalize('0000-01-01T00:00:00'), null)
    t.equal(read('1901-06-01 00:00:00') === null, false)
  }
  t.equal(SHANGHAI.read('9999-12-31 23:59:59'), Date.UTC(9999, 11, 31, 15, 59, 59))
})

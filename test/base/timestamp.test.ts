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
  const format = createTimestampFormat('Europe/Berlin')
  const ambiguous: number[] = []
  for (let timestamp = Date.UTC(2026, 0, 1); timestamp < Date.UTC(2027, 0, 1); timestamp += 3_600_000) {
    if (format.read(format.write(timestamp)) !== timestamp) ambiguous.push(timestamp)
  }
  t.ok(ambiguous.length <= 1, 'only the hour that the clock shows twice has two readings')
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
  t.equal(createTimestampFormat('Asia/Shanghai').read('9999-12-31 23:59:59'), null)
  t.equal(createTimestampFormat('America/New_York').read('1000-01-01 00:00:00'), null)
})

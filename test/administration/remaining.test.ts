import t from 'tap'
import { remainingText } from '../../src/administration/remaining-time.ts'

const ROWS: [seconds: number, zh: string, en: string][] = [
  [-1, '已过期', 'Expired'],
  [0, '剩余 0秒', '0 seconds left'],
  [1, '剩余 1秒', '1 second left'],
  [59, '剩余 59秒', '59 seconds left'],
  [60, '剩余 1分钟', '1 minute left'],
  [3599, '剩余 59分钟', '59 minutes left'],
  [3600, '剩余 1小时 0分钟', '1 hour 0 minutes left'],
  [86_399, '剩余 23小时 59分钟', '23 hours 59 minutes left'],
  [86_400, '剩余 1天 0小时', '1 day 0 hours left'],
  [2_588_400, '剩余 29天 23小时', '29 days 23 hours left'],
]

for (const [seconds, zh, en] of ROWS) {
  t.test(`${seconds} seconds are shown as ${zh} and as ${en}`, async t => {
    t.equal(remainingText(seconds, 'zh-CN'), zh)
    t.equal(remainingText(seconds, 'en'), en)
  })
}

import t from 'tap'
import { FailureTime } from '../../../src/account/ldap/failure-time.ts'

function open() {
  const waits: number[] = []
  const time = new FailureTime(async wait => void waits.push(wait))
  const waited = async (...pass: Parameters<FailureTime['pass']>): Promise<number> => {
    waits.length = 0
    await time.pass(...pass)
    return waits[0] ?? 0
  }
  return { time, waited }
}

t.test('a failed login of an unknown name takes as long as that of a known one', async t => {
  const { time, waited } = open()
  t.equal(await waited(2, false, 3000), 0, 'nothing is known yet')
  for (let i = 0; i < 64; i++) await time.pass(10, true, 3000)
  t.equal(await waited(2, false, 3000), 13)
  t.equal(await waited(10, true, 3000), 5)
  t.equal(await waited(15, true, 3000), 0)
})

t.test('unknown names do not make failures quicker, and a single slow one does not make them slower', async t => {
  const { time, waited } = open()
  for (let i = 0; i < 64; i++) await time.pass(10, true, 3000)
  for (let i = 0; i < 1000; i++) await time.pass(1, false, 3000)
  await time.pass(2000, true, 3000)
  t.equal(await waited(0, false, 3000), 15)
})

t.test('the time of failures follows the directory, and never exceeds the limit', async t => {
  const { time, waited } = open()
  for (let i = 0; i < 64; i++) await time.pass(10, true, 3000)
  for (let i = 0; i < 64; i++) await time.pass(100, true, 3000)
  t.equal(await waited(0, false, 3000), 150)
  t.equal(await waited(0, false, 120), 120)
  for (let i = 0; i < 64; i++) await time.pass(4, true, 3000)
  t.equal(await waited(0, false, 3000), 6)
})

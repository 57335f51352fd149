import t from 'tap'
import { Standing } from '../../src/upstream/standing.ts'

const RULES = { failures: 3, duration: 10_000, limit: 40_000 }

/** A target that was ejected at 0. */
function ejected(): Standing {
  const standing = new Standing(RULES)
  for (let i = 0; i < 3; i++) standing.failed(standing.era, 0)
  return standing
}

t.test('failures in a row eject a target; an answer between them starts the count anew', async t => {
  const standing = new Standing(RULES)
  for (const [isGood, change] of [
    [false, null],
    [false, null],
    [true, null],
    [false, null],
    [false, null],
    [false, 'ejected'],
  ] as const) {
    t.equal(isGood ? standing.succeeded(0, 0) : standing.failed(0, 0), change)
  }
  t.notOk(standing.isUp)
  t.equal(standing.state(9_999), 'ejected')
})

t.test('when its time is over it is tried by one request a second', async t => {
  const standing = ejected()
  t.notOk(standing.admitsTrial(9_999))
  t.equal(standing.state(10_000), 'on-trial')
  t.ok(standing.admitsTrial(10_000))
  t.notOk(standing.admitsTrial(10_999))
  t.ok(standing.admitsTrial(11_000))
  t.notOk(standing.isUp, 'and gets no share of the others')
})

t.test('the first answer brings it back', async t => {
  const standing = ejected()
  t.equal(standing.succeeded(standing.era, 10_000), 'returned')
  t.ok(standing.isUp)
  t.equal(standing.state(10_000), 'up')
  t.equal(standing.failed(standing.era, 10_001), null, 'and its failures are counted from nothing')
})

t.test('each failure on trial doubles the time, up to the limit', async t => {
  const standing = ejected()
  let now = 0
  for (const duration of [10_000, 20_000, 40_000, 40_000]) {
    t.equal(standing.duration, duration)
    now += duration
    t.equal(standing.state(now - 1), 'ejected')
    t.equal(standing.failed(standing.era, now), 'ejected')
  }
})

t.test('one that fails again soon after its return is out for longer, one that held out is not', async t => {
  for (const [held, duration] of [
    [39_999, 20_000],
    [40_000, 10_000],
  ] as const) {
    const standing = ejected()
    standing.succeeded(standing.era, 10_000)
    for (let i = 0; i < 3; i++) standing.failed(standing.era, 10_000 + held)
    t.equal(standing.duration, duration)
  }
})

t.test('what comes of requests that were sent before an ejection changes nothing', async t => {
  const standing = ejected()
  t.equal(standing.succeeded(0, 10_000), null)
  t.equal(standing.failed(0, 10_000), null)
  t.equal(standing.state(10_000), 'on-trial')
})

t.test('a failure while its time is not over does not prolong it', async t => {
  const standing = ejected()
  for (let i = 0; i < 10; i++) t.equal(standing.failed(standing.era, 5_000), null)
  t.equal(standing.state(10_000), 'on-trial')
})

t.test('without rules nothing ejects', async t => {
  const standing = new Standing(null)
  for (let i = 0; i < 100; i++) standing.failed(0, 0)
  t.ok(standing.isUp)
})

t.test('checks take a target out and bring it back, and requests alone do not', async t => {
  const standing = new Standing(RULES)
  t.equal(standing.checked(true), null)
  t.equal(standing.checked(false), 'unhealthy')
  t.equal(standing.checked(false), null)
  t.notOk(standing.isUp)
  t.notOk(standing.admitsTrial(100_000))
  t.equal(standing.succeeded(0, 0), null)
  t.equal(standing.state(0), 'unhealthy')
  t.equal(standing.checked(true), 'healthy')
  t.ok(standing.isUp)
})

t.test('a target that is out for both reasons is back when both are over', async t => {
  const standing = ejected()
  standing.checked(false)
  standing.checked(true)
  t.notOk(standing.isUp)
  standing.checked(false)
  t.equal(standing.succeeded(standing.era, 10_000), 'returned')
  t.notOk(standing.isUp)
  standing.checked(true)
  t.ok(standing.isUp)
})

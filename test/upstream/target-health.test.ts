import t from 'tap'
import { TargetHealth } from '../../src/upstream/target-health.ts'

const RULES = { failures: 3, duration: 10_000, limit: 40_000 }

/** A target that was ejected at 0. */
function ejected(): TargetHealth {
  const health = new TargetHealth(RULES)
  for (let i = 0; i < 3; i++) health.failed(health.era, 0)
  return health
}

t.test('failures in a row eject a target; an answer between them starts the count anew', async t => {
  const health = new TargetHealth(RULES)
  for (const [isGood, change] of [
    [false, null],
    [false, null],
    [true, null],
    [false, null],
    [false, null],
    [false, 'ejected'],
  ] as const) {
    t.equal(isGood ? health.succeeded(0, 0) : health.failed(0, 0), change)
  }
  t.notOk(health.isUp)
  t.equal(health.state(9_999), 'ejected')
})

t.test('when its time is over it is tried by one request a second', async t => {
  const health = ejected()
  t.notOk(health.admitsTrial(9_999))
  t.equal(health.state(10_000), 'on-trial')
  t.ok(health.admitsTrial(10_000))
  t.notOk(health.admitsTrial(10_999))
  t.ok(health.admitsTrial(11_000))
  t.notOk(health.isUp, 'and gets no share of the others')
})

t.test('the first answer brings it back', async t => {
  const health = ejected()
  t.equal(health.succeeded(health.era, 10_000), 'returned')
  t.ok(health.isUp)
  t.equal(health.state(10_000), 'up')
  t.equal(health.failed(health.era, 10_001), null, 'and its failures are counted from nothing')
})

t.test('each failure on trial doubles the time, up to the limit', async t => {
  const health = ejected()
  let now = 0
  for (const duration of [10_000, 20_000, 40_000, 40_000]) {
    t.equal(health.duration, duration)
    now += duration
    t.equal(health.state(now - 1), 'ejected')
    t.equal(health.failed(health.era, now), 'ejected')
  }
})

t.test('one that fails again soon after its return is out for longer, one that held out is not', async t => {
  for (const [held, duration] of [
    [39_999, 20_000],
    [40_000, 10_000],
  ] as const) {
    const health = ejected()
    health.succeeded(health.era, 10_000)
    for (let i = 0; i < 3; i++) health.failed(health.era, 10_000 + held)
    t.equal(health.duration, duration)
  }
})

t.test('what comes of requests that were sent before an ejection changes nothing', async t => {
  const health = ejected()
  t.equal(health.succeeded(0, 10_000), null)
  t.equal(health.failed(0, 10_000), null)
  t.equal(health.state(10_000), 'on-trial')
})

t.test('a failure while its time is not over does not prolong it', async t => {
  const health = ejected()
  for (let i = 0; i < 10; i++) t.equal(health.failed(health.era, 5_000), null)
  t.equal(health.state(10_000), 'on-trial')
})

t.test('without rules nothing ejects', async t => {
  const health = new TargetHealth(null)
  for (let i = 0; i < 100; i++) health.failed(0, 0)
  t.ok(health.isUp)
})

t.test('checks eject a target and bring it back, and requests alone do not', async t => {
  const health = new TargetHealth(RULES)
  t.equal(health.checked(true), null)
  t.equal(health.checked(false), 'unhealthy')
  t.equal(health.checked(false), null)
  t.notOk(health.isUp)
  t.notOk(health.admitsTrial(100_000))
  t.equal(health.succeeded(0, 0), null)
  t.equal(health.state(0), 'unhealthy')
  t.equal(health.checked(true), 'healthy')
  t.ok(health.isUp)
})

t.test('a target that is out for both reasons is back when both are over', async t => {
  const health = ejected()
  health.checked(false)
  health.checked(true)
  t.notOk(health.isUp)
  health.checked(false)
  t.equal(health.succeeded(health.era, 10_000), 'returned')
  t.notOk(health.isUp)
  health.checked(true)
  t.ok(health.isUp)
})

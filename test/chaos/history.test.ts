import t from 'tap'
import { History } from './history.ts'
import { Withheld } from './withheld.ts'

/* The judge of the chaos runs, judged: it must see what is wrong, and nothing else. */

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

function historyWithTokens(heartbeat = 0): History {
  const history = new History({ heartbeat })
  history.loggedIn('b', 'BUSINESS', 'u', history.now())
  history.loggedIn('c', 'CONSUMER', 'u', history.now())
  return history
}

t.test('correct answers are not violations', async t => {
  const history = historyWithTokens()
  history.answered('b', history.now(), 'passed')
  const logout = history.ends('b')
  history.answered('b', history.now(), 'passed')
  history.answered('b', history.now(), 'refused')
  logout.acked = history.now()
  await pause(2)
  history.answered('b', history.now(), 'refused')
  history.answered('unknown', history.now(), 'refused')
  t.same(history.violations, [])
})

t.test('a token accepted after its acknowledged end is a violation', async t => {
  for (const end of [(h: History) => h.ends('b'), (h: History) => h.kicksOut('BUSINESS', 'u')]) {
    const history = historyWithTokens()
    await pause(2)
    const act = end(history)
    act.acked = history.now()
    await pause(2)
    history.answered('b', history.now(), 'passed')
    t.match(history.violations, [/passed on/])
    history.answered('c', history.now(), 'passed')
    t.equal(history.violations.length, 1, 'the other side is not touched')
  }
})

t.test('an end of all others is an end for the others, and none for the session that it spares', async t => {
  const history = historyWithTokens()
  history.loggedIn('other', 'BUSINESS', 'u', history.now())
  await pause(2)
  history.endsOthers('b').acked = history.now()
  await pause(2)
  history.answered('b', history.now(), 'passed')
  history.answered('other', history.now(), 'refused')
  t.same(history.violations, [])
  history.answered('other', history.now(), 'passed')
  t.match(history.violations, [/passed on .* after its end of all others/])
  history.answered('b', history.now(), 'refused')
  t.match(history.violations.slice(1), [/refused as not logged in/])
})

t.test('a consumer’s token may be cached for a heartbeat, and is counted', async t => {
  const history = historyWithTokens(60_000)
  history.ends('c').acked = history.now()
  await pause(2)
  history.answered('c', history.now(), 'passed')
  t.same(history.violations, [])
  t.equal(history.counts.late, 1)
})

t.test('a live token that is refused is a violation, unless a fault may have lost it', async t => {
  const history = historyWithTokens()
  history.answered('b', history.now(), 'refused')
  t.match(history.violations, [/refused as not logged in/])
  const fault = history.beginFault('empty', 'everything')
  fault.ended = history.now()
  history.answered('b', history.now(), 'refused')
  t.equal(history.violations.length, 1)
  await pause(2)
  history.loggedIn('later', 'BUSINESS', 'u', history.now())
  history.answered('later', history.now(), 'refused')
  t.equal(history.violations.length, 2)
})

t.test('an accepted token that was never issued is a violation', async t => {
  const history = historyWithTokens()
  history.answered('forged', history.now(), 'passed')
  t.match(history.violations, [/never issued/])
})

t.test('a failed request needs a recent fault', async t => {
  const history = new History({ heartbeat: 0, patience: 5 })
  history.failed('a request', history.now())
  t.match(history.violations, [/no fault yet/])
  const fault = history.beginFault('one', 'nothing')
  history.failed('a request', history.now())
  fault.ended = history.now()
  await pause(20)
  history.failed('a request', history.now())
  t.match(history.violations.slice(1), [/after the end of: one/])
  t.equal(fault.failed, 2)
  t.ok(history.recoveryOf(fault) >= 5)
})

t.test(
  'a token from before a change of its account is a violation, and a change that was refused ends nothing',
  async t => {
    const history = historyWithTokens()
    await pause(2)
    history.withdraw(history.endsOthers('b', 'password change'))
    history.answered('b', history.now(), 'refused')
    t.match(history.violations, [/was refused as not logged in/])
    history.kicksOut('BUSINESS', 'u', 'change of the account').acked = history.now()
    await pause(2)
    history.answered('b', history.now(), 'passed')
    t.match(history.violations[1], /passed on .* after its change of the account/)
  },
)

t.test('only what a process knew shortly before it was killed may be missing', async t => {
  const history = historyWithTokens()
  const early = history.now()
  await pause(80)
  const fault = history.beginFault('a worker is killed', 'nothing', true)
  fault.ended = history.now()
  // Not read from the clock: between two looks at it the machine may stall.
  const late = fault.began - 1
  await pause(2)
  const after = history.now()
  const times = [
    [early, early],
    [late, late],
    // Answered by the process that died, and read here later.
    [late, after],
    [after, after],
  ] as const
  t.same(
    times.map(([began, acked]) => history.wasKilled({ began, acked }, 60)),
    [false, true, true, false],
  )
})

t.test('on a busy machine a recovery may take longer by the time that was withheld, and by no more', async t => {
  const clock = { withheld: 100 }
  const history = new History({ heartbeat: 0, patience: 0, withheld: () => clock.withheld })
  const fault = history.beginFault('a fault', 'nothing')
  history.endFault(fault)
  const late = fault.ended! + 400
  history.failed('a request', late)
  t.match(history.violations, [/a request failed 400 ms after the end of: a fault \(the machine withheld 0 ms\)/])
  clock.withheld += 399
  history.failed('a request', late)
  t.equal(history.violations.length, 2)
  clock.withheld += 2
  history.failed('a request', late)
  t.equal(history.violations.length, 2)
  t.equal(history.counts.excused, 1)
})

t.test('what is withheld is counted', async t => {
  const withheld = new Withheld()
  t.teardown(() => withheld.stop())
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
  t.ok(withheld.total >= 150)
  const until = withheld.total
  await pause(1)
  t.ok(withheld.total >= until, 'the look that follows keeps it')
})

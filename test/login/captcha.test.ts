import t from 'tap'
import { createCaptcha } from '../../src/login/captcha/captcha.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import { clockOf } from '../support/clock.ts'
import { inFullWidth } from '../support/full-width.ts'
import { reasonOf, refusalOf } from '../support/login-fixture.ts'
import { PATIENCE } from '../support/until.ts'

const PICTURES = { alternative: 'off', difficulty: 12 } as const

/** Captchas whose picture is the text itself, with a clock that the test moves. */
async function openCaptchas(folder: string, draw = async (text: string) => text) {
  const time = { now: Date.UTC(2025, 0, 31, 12) }
  const clock = clockOf(() => time.now)
  const store = await openEmbeddedStore(folder, clock, PATIENCE)
  const of = (type: 'BUSINESS' | 'CONSUMER', length = 4) =>
    createCaptcha({
      type,
      store: store.captchas,
      attempts: store.attempts,
      ttl: 300_000,
      length,
      ...PICTURES,
      clock,
      draw,
    })
  return { time, store, of, captcha: of('BUSINESS') }
}

t.test('the answer is the text as drawn, in any case in full width, and with spaces around it', async t => {
  const { captcha, store } = await openCaptchas(t.testdir())
  t.teardown(() => store.close())
  const writings = [
    (text: string) => text,
    (text: string) => text.toLowerCase(),
    (text: string) => ` ${text}\t`,
    (text: string) => `\u3000${inFullWidth(text)}`,
  ]
  for (const write of writings) {
    const { captcha_id, captcha_base64 } = await captcha.issue('192.0.2.1')
    t.equal(await reasonOf(captcha.verify(captcha_id, write(captcha_base64))), 'granted')
  }
})

t.test('the first try consumes a captcha, right or wrong', async t => {
  const { captcha, store } = await openCaptchas(t.testdir())
  t.teardown(() => store.close())
  const first = await captcha.issue('192.0.2.1')
  t.equal(await reasonOf(captcha.verify(first.captcha_id, first.captcha_base64)), 'granted')
  t.equal(await reasonOf(captcha.verify(first.captcha_id, first.captcha_base64)), 'CAPTCHA_GONE')
  const second = await captcha.issue('192.0.2.1')
  t.equal(await reasonOf(captcha.verify(second.captcha_id, 'no')), 'CAPTCHA_WRONG')
  t.equal(await reasonOf(captcha.verify(second.captcha_id, second.captcha_base64)), 'CAPTCHA_GONE')
})

t.test('of many simultaneous tries only one is checked', async t => {
  const { captcha, store } = await openCaptchas(t.testdir())
  t.teardown(() => store.close())
  const { captcha_id, captcha_base64 } = await captcha.issue('192.0.2.1')
  const tries = Array.from({ length: 20 }, () => reasonOf(captcha.verify(captcha_id, captcha_base64)))
  t.equal((await Promise.all(tries)).filter(reason => reason === 'granted').length, 1)
})

t.test('a captcha ends after its lifetime, and is not valid on the other side', async t => {
  const { captcha, of, store, time } = await openCaptchas(t.testdir())
  t.teardown(() => store.close())
  const late = await captcha.issue('192.0.2.1')
  const crossing = await captcha.issue('192.0.2.1')
  t.equal(await reasonOf(of('CONSUMER').verify(crossing.captcha_id, crossing.captcha_base64)), 'CAPTCHA_GONE')
  time.now += 300_000
  t.equal(await reasonOf(captcha.verify(late.captcha_id, late.captcha_base64)), 'CAPTCHA_GONE')
})

t.test('an invalid id never becomes part of a key', async t => {
  const { captcha, store } = await openCaptchas(t.testdir())
  t.teardown(() => store.close())
  const { captcha_id, captcha_base64 } = await captcha.issue('192.0.2.1')
  const ids = ['x', '*', `../${captcha_id}`, `${captcha_id}\n`, captcha_id.toUpperCase(), 'x'.repeat(8000), '__proto__']
  for (const id of ids) t.equal(await reasonOf(captcha.verify(id, captcha_base64)), 'CAPTCHA_GONE')
  for (const id of [undefined, '']) t.equal(await reasonOf(captcha.verify(id, 'x')), 'CAPTCHA_BLANK')
  for (const value of [undefined, '', ' \n'])
    t.equal(await reasonOf(captcha.verify(captcha_id, value)), 'CAPTCHA_BLANK')
  t.equal(await reasonOf(captcha.verify(captcha_id, captcha_base64)), 'granted', 'and none of that was a try')
})

t.test('texts have the configured length, no look-alikes, and do not repeat', async t => {
  const { of, store } = await openCaptchas(t.testdir())
  t.teardown(() => store.close())
  const texts = new Set<string>()
  for (let i = 0; i < 200; i++) texts.add((await of('BUSINESS', 6).issue('192.0.2.1')).captcha_base64)
  for (const text of texts) t.match(text, /^[ACDFGHMPQRTUWXY34679]{6}$/)
  t.equal(texts.size, 200)
})

/** A store that says how many captchas are outstanding, and otherwise does what the real one does. */
async function crowded(folder: string) {
  const fixture = await openCaptchas(folder)
  const outstanding = { count: 0 }
  const store = {
    put: fixture.store.captchas.put.bind(fixture.store.captchas),
    take: fixture.store.captchas.take.bind(fixture.store.captchas),
    outstanding: async () => outstanding.count,
  }
  const captcha = createCaptcha({
    type: 'BUSINESS',
    store,
    attempts: fixture.store.attempts,
    ttl: 300_000,
    length: 4,
    ...PICTURES,
    clock: clockOf(() => fixture.time.now),
    draw: async text => text,
  })
  return { ...fixture, captcha, outstanding }
}

t.test('captchas are bounded by those that can still be answered, and no refusal counts', async t => {
  const { captcha, outstanding, store } = await crowded(t.testdir())
  t.teardown(() => store.close())
  outstanding.count = 100_000
  for (let i = 0; i < 20; i++) {
    t.match(await refusalOf(captcha.issue(`192.0.${i}.1`)), { reason: 'BUSY', retryAfter: 10 })
  }
  outstanding.count = 99_999
  t.ok(await captcha.issue('192.0.2.1'), 'as soon as there is room again')
})

t.test('while many captchas are outstanding, a site gets a few, and every other site gets them too', async t => {
  const { captcha, outstanding, store, time } = await crowded(t.testdir())
  t.teardown(() => store.close())
  for (let i = 0; i < 20; i++) await captcha.issue('192.0.2.1')
  outstanding.count = 50_000
  for (let i = 0; i < 5; i++) await captcha.issue(`192.0.2.${i}`)
  t.equal(await reasonOf(captcha.issue('192.0.2.77')), 'BUSY')
  t.equal(await reasonOf(captcha.issue('198.51.100.1')), 'granted')
  for (let i = 0; i < 5; i++) await captcha.issue(`2001:db8:1:${i}::1`)
  t.equal(await reasonOf(captcha.issue('2001:db8:1:ff::1')), 'BUSY')
  t.equal(await reasonOf(captcha.issue('2001:db8:2::1')), 'granted')
  time.now += 300_000
  t.equal(await reasonOf(captcha.issue('192.0.2.1')), 'granted')
})

/** Stores that forget nothing, for more captchas than a test has time to write. */
function inMemory() {
  const answers = new Map<string, string>()
  const counts = new Map<string, number>()
  return {
    store: {
      put: async (_: unknown, id: string, answer: string) => void answers.set(id, answer),
      take: async () => null,
      outstanding: async () => answers.size,
    },
    attempts: {
      async count(name: string, window: number) {
        counts.set(name, (counts.get(name) ?? 0) + 1)
        return { count: counts.get(name)!, resetsAt: window }
      },
    },
  }
}

t.test('after 105 000 requests from 3500 sites, a new client still gets a captcha', async t => {
  const clock = clockOf(() => 0)
  const draw = async (text: string) => text
  const captcha = createCaptcha({ type: 'BUSINESS', ...inMemory(), ttl: 300_000, length: 4, ...PICTURES, clock, draw })
  for (let round = 0; round < 30; round++) {
    for (let site = 0; site < 3500; site++) await reasonOf(captcha.issue(`10.${site >> 8}.${site & 255}.1`))
  }
  t.equal(await reasonOf(captcha.issue('192.0.2.1')), 'granted')
})

t.test('a captcha that could not be drawn cannot be answered', async t => {
  const drawn: string[] = []
  const { captcha, store } = await openCaptchas(t.testdir(), async text => {
    drawn.push(text)
    throw new Error('no picture')
  })
  t.teardown(() => store.close())
  await t.rejects(captcha.issue('192.0.2.1'), { message: 'no picture' })
  t.equal(drawn.length, 1)
})

import t from 'tap'
import { createCaptcha } from '../../src/login/captcha.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import { reasonOf, refusalOf } from './desk.ts'

/** Captchas whose picture is the text itself, with a clock that the test moves. */
async function openCaptchas(folder: string, draw = async (text: string) => text) {
  const time = { now: Date.UTC(2025, 0, 31, 12) }
  const clock = { now: () => time.now }
  const store = await openEmbeddedStore(folder, clock)
  const of = (type: 'BUSINESS' | 'CONSUMER', length = 4) =>
    createCaptcha({ type, store: store.captchas, attempts: store.attempts, ttl: 300_000, length, clock, draw })
  return { time, store, of, captcha: of('BUSINESS') }
}

t.test('the answer is the text as drawn, in any case and with spaces around it', async t => {
  const { captcha, store } = await openCaptchas(t.testdir())
  t.teardown(() => store.close())
  for (const write of [(text: string) => text, (text: string) => text.toLowerCase(), (text: string) => ` ${text}\t`]) {
    const { captcha_id, captcha_base64 } = await captcha.issue()
    t.equal(await reasonOf(captcha.verify(captcha_id, write(captcha_base64))), 'granted')
  }
})

t.test('the first try uses a captcha up, right or wrong', async t => {
  const { captcha, store } = await openCaptchas(t.testdir())
  t.teardown(() => store.close())
  const first = await captcha.issue()
  t.equal(await reasonOf(captcha.verify(first.captcha_id, first.captcha_base64)), 'granted')
  t.equal(await reasonOf(captcha.verify(first.captcha_id, first.captcha_base64)), 'CAPTCHA_GONE')
  const second = await captcha.issue()
  t.equal(await reasonOf(captcha.verify(second.captcha_id, 'no')), 'CAPTCHA_WRONG')
  t.equal(await reasonOf(captcha.verify(second.captcha_id, second.captcha_base64)), 'CAPTCHA_GONE')
})

t.test('of many tries at once one is judged', async t => {
  const { captcha, store } = await openCaptchas(t.testdir())
  t.teardown(() => store.close())
  const { captcha_id, captcha_base64 } = await captcha.issue()
  const tries = Array.from({ length: 20 }, () => reasonOf(captcha.verify(captcha_id, captcha_base64)))
  t.equal((await Promise.all(tries)).filter(reason => reason === 'granted').length, 1)
})

t.test('a captcha ends after its lifetime, and none is of use on the other side', async t => {
  const { captcha, of, store, time } = await openCaptchas(t.testdir())
  t.teardown(() => store.close())
  const late = await captcha.issue()
  const crossing = await captcha.issue()
  t.equal(await reasonOf(of('CONSUMER').verify(crossing.captcha_id, crossing.captcha_base64)), 'CAPTCHA_GONE')
  time.now += 300_000
  t.equal(await reasonOf(captcha.verify(late.captcha_id, late.captcha_base64)), 'CAPTCHA_GONE')
})

t.test('what is no id of ours never becomes part of a key', async t => {
  const { captcha, store } = await openCaptchas(t.testdir())
  t.teardown(() => store.close())
  const { captcha_id, captcha_base64 } = await captcha.issue()
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
  for (let i = 0; i < 200; i++) texts.add((await of('BUSINESS', 6).issue()).captcha_base64)
  for (const text of texts) t.match(text, /^[ACDEFGHJKLMNPQRTUWXY34679]{6}$/)
  t.equal(texts.size, 200)
})

t.test('outstanding captchas are bounded', async t => {
  const { captcha, store, time } = await openCaptchas(t.testdir())
  t.teardown(() => store.close())
  await store.attempts.set('captchas:BUSINESS', 100_000, time.now + 200_000)
  t.match(await refusalOf(captcha.issue()), { reason: 'BUSY', retryAfter: 200 })
  time.now += 200_000
  t.ok(await captcha.issue())
})

t.test('a captcha that could not be drawn cannot be answered', async t => {
  const drawn: string[] = []
  const { captcha, store } = await openCaptchas(t.testdir(), async text => {
    drawn.push(text)
    throw new Error('no picture')
  })
  t.teardown(() => store.close())
  await t.rejects(captcha.issue(), { message: 'no picture' })
  t.equal(drawn.length, 1)
})

import t from 'tap'
import { within } from '../../src/base/deadline.ts'

t.test('other work starts only after the limit of the first, and the first to end decides', async t => {
  const never = new Promise<string>(() => undefined)
  t.equal(await within(1000, Promise.resolve('first'), async () => 'substitute'), 'first')
  t.equal(await within(0, never, async () => 'substitute'), 'substitute')
  await t.rejects(
    within(1000, Promise.reject(new Error('first')), async () => 'substitute'),
    { message: 'first' },
  )
  let end = (_: string): void => undefined
  const slow = new Promise<string>(resolve => {
    end = resolve
  })
  const substitute = async (): Promise<string> => {
    end('first')
    return never
  }
  t.equal(await within(0, slow, substitute), 'first')
})

t.test('no timer is left when the work has ended, or when its limit is over', async t => {
  const before = timers()
  await within(60_000, Promise.resolve(), () => undefined)
  await t.rejects(within(60_000, Promise.reject(new Error('failed')), () => undefined))
  await within(0, new Promise<void>(() => undefined), () => undefined)
  t.equal(timers(), before)
})

const timers = (): number => process.getActiveResourcesInfo().filter(kind => kind === 'Timeout').length

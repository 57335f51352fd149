import t from 'tap'
import { Meter } from '../../src/metrics/meter.ts'
import type { CredentialStore } from '../../src/store/credentials.ts'
import { measureStore } from '../../src/store/measured-store.ts'
import type { SessionStore } from '../../src/store/store.ts'
import { clockOf } from '../support/clock.ts'
import { credential } from './contract-credentials.ts'

t.test('verbs of credentials that are not answered at once are measured, each by its name', async t => {
  const meter = new Meter()
  const made = credential({ clock: clockOf(() => 0) })
  const calls: string[] = []
  const credentials = new Proxy({} as CredentialStore, {
    get:
      (_, verb: string) =>
      (...args: unknown[]) => {
        calls.push([verb, ...args].join(' '))
        if (verb === 'find') return args[1] === 'remembered' ? made : Promise.resolve(made)
        return verb === 'remove' ? Promise.reject(new Error('away')) : Promise.resolve(true)
      },
  })
  const measured = measureStore({ sessions: {} as SessionStore, credentials }, meter).credentials
  t.equal(measured.find('BUSINESS', 'remembered'), made)
  t.equal(await measured.find('BUSINESS', 'a'), made)
  t.equal(await measured.add('BUSINESS', made, 7), true)
  await t.rejects(measured.remove('BUSINESS', '1', 'a'), /away/)
  await measured.removeAll('BUSINESS', '1')
  await measured.succeed('BUSINESS', '1', 'a', made, 5)
  await measured.rewrite('BUSINESS', 'a', 'from', 'to')
  await measured.of('BUSINESS', '1')
  await measured.page('BUSINESS', 2, 3)
  await measured.used('BUSINESS', 'a', 9)
  t.same(calls, [
    'find BUSINESS remembered',
    'find BUSINESS a',
    `add BUSINESS ${made} 7`,
    'remove BUSINESS 1 a',
    'removeAll BUSINESS 1',
    `succeed BUSINESS 1 a ${made} 5`,
    'rewrite BUSINESS a from to',
    'of BUSINESS 1',
    'page BUSINESS 2 3',
    'used BUSINESS a 9',
  ])
  const metrics = await meter.snapshot()
  type Value = { metricName?: string; labels: Record<string, string>; value: number }
  const counted = (metric: string, named = metric): Record<string, number> => {
    const values = metrics.find(({ name }) => name === metric)!.values as Value[]
    const ours = values.filter(
      ({ labels, metricName = metric }) => metricName === named && labels.verb?.startsWith('credential_'),
    )
    return Object.fromEntries(ours.map(({ labels, value }) => [labels.verb, value]))
  }
  t.same(counted('dualgate_store_duration_seconds', 'dualgate_store_duration_seconds_count'), {
    credential_add: 1,
    credential_find: 1,
    credential_remove: 1,
  })
  t.same(counted('dualgate_store_errors_total'), {
    credential_add: 0,
    credential_find: 0,
    credential_remove: 1,
  })
})

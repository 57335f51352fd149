import t from 'tap'
import { countRequests } from '../../src/http/server/request-metrics.ts'
import { Meter } from '../../src/metrics/meter.ts'

t.test('requests are counted apart by rule, side, upstream and class of the status', async t => {
  const meter = new Meter()
  const counts = countRequests(meter)
  const expected: Record<string, string>[] = []
  for (const upstream of ['gateway', 'orders'])
    for (const rule of ['exception', 0, 1, 2, 3, 4, 5, 6] as const)
      for (const side of ['none', 'BUSINESS', 'CONSUMER'] as const)
        for (const statusClass of [1, 2, 3, 4, 5]) {
          expected.push({ rule: `${rule}`, side, upstream, status: `${statusClass}xx` })
          for (const status of [0, 99])
            counts.answered({ rule, side, upstream, status: statusClass * 100 + status, seconds: 1 })
        }
  const [requests] = await meter.snapshot()
  t.strictSame(
    requests!.values,
    expected.map(labels => ({ labels, value: 2 })),
  )
})

t.test('durations are counted for each upstream, those of slow requests only in its total', async t => {
  const meter = new Meter()
  const counts = countRequests(meter)
  for (const seconds of [0.001, 0.0011, 31]) {
    counts.answered({ rule: 4, side: 'CONSUMER', upstream: 'orders', status: 200, seconds })
  }
  const values = (await meter.snapshot())[2]!.values as unknown as {
    labels: { le?: string }
    value: number
    metricName: string
  }[]
  const atMost = (le: string): number | undefined => values.find(({ labels }) => labels.le === le)?.value
  t.same(['0.001', '0.0025', '30', '+Inf'].map(atMost), [1, 2, 2, 3])
  t.same(
    values.slice(-2).map(({ value }) => value),
    [31.0021, 3],
  )
})

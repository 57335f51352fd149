import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { textOf } from '../../support/image.ts'
import { runPromtool, withoutPromtool } from '../../support/promtool.ts'
import { ROOT } from '../../support/root.ts'

/* The alerts of config/examples/prometheus, as Prometheus reads them. test/http/metrics.test.ts compares their metrics. */

const FOLDER = 'config/examples/prometheus'
const fileOf = (name: string): string => join(ROOT, FOLDER, name)

interface Rule {
  alert: string
  labels: Record<string, string>
  annotations: Record<string, string>
}

const RULES: Rule[] = parse(textOf(`${FOLDER}/alerts.yaml`)).groups[0].rules

t.test('the alerts begin and end as their tests say', { skip: withoutPromtool }, async t => {
  const { code, said } = runPromtool(['test', 'rules', fileOf('alerts-test.yaml')])
  t.equal(code, 0, said)
  t.match(said, 'SUCCESS')
})

t.test('Prometheus accepts the example of its configuration', { skip: withoutPromtool }, async t => {
  const { code, said } = runPromtool(['check', 'config', '--lint-fatal', fileOf('prometheus.yml')])
  t.equal(code, 0, said)
  t.equal(parse(textOf(`${FOLDER}/prometheus.yml`)).scrape_configs[0].job_name, 'dualgate', 'the job that alerts name')
})

t.test('every alert says how grave it is, what happened and what to do, and a test shows it', async t => {
  const shown = textOf(`${FOLDER}/alerts-test.yaml`)
  for (const { alert, labels, annotations } of RULES) {
    t.match(labels.severity, /^(?:critical|warning)$/, alert)
    for (const what of ['summary', 'action']) t.match(annotations[what], /^\S.*\.$/, `${alert}: ${what}`)
    t.match(shown, new RegExp(`\\b${alert}\\b`), `${alert} is tested`)
  }
  t.equal(new Set(RULES.map(({ alert }) => alert)).size, RULES.length)
})

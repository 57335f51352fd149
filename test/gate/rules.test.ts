import t from 'tap'
import { readTarget } from '../../src/gate/path.ts'
import { RULES, verdictOf } from '../../src/gate/rules.ts'
import { PROFILES } from '../../src/settings/profile.ts'

type Row = [method: string, target: string, profile1: string, profile2: string]

/** "Authentication gate": which rule decides, as `rule need`, or `no rule`. */
const ROWS: Row[] = [
  ['GET', '/favicon.ico', '1 none', '1 none'],
  ['GET', '/docs', '1 none', '1 none'],
  ['GET', '/docs?x=1', '1 none', '1 none'],
  ['GET', '/redoc', '1 none', '1 none'],
  ['GET', '/openapi.json', '1 none', '1 none'],
  ['GET', '/v3/api-docs', 'no rule', '1 none'],
  ['OPTIONS', '/api/v1/sys/u', '2 none', '2 none'],
  ['OPTIONS', '/api/v1/c/x', '2 none', '2 none'],
  ['GET', '/api/v1/public/b/captcha', '3 none', '3 none'],
  ['GET', '/api/v7/public/c/x', '3 none', '3 none'],
  ['GET', '/api/v1/public/b/', '3 none', '3 none'],
  ['GET', '/api/v1/public/x/y', '6 BUSINESS', '3 none'],
  ['GET', '/api/v1/public/b', '6 BUSINESS', '3 none'],
  ['GET', '/api/v1/public/', '6 BUSINESS', '3 none'],
  ['GET', '/api/v1/public', '6 BUSINESS', '6 BUSINESS'],
  ['GET', '/api/v1/c/x', '4 CONSUMER', '4 CONSUMER'],
  ['GET', '/api/v1/c/', '4 CONSUMER', '4 CONSUMER'],
  ['GET', '/api/v1/c', '6 BUSINESS', '6 BUSINESS'],
  ['GET', '/api/v1/c?/x', '6 BUSINESS', '6 BUSINESS'],
  ['GET', '/api/v1/C/x', '6 BUSINESS', '6 BUSINESS'],
  ['GET', '/api/v1/PUBLIC/b/x', '6 BUSINESS', '6 BUSINESS'],
  ['GET', '/api/v1/b/x', '5 BUSINESS', '5 BUSINESS'],
  ['GET', '/api/v1/sys/session/page', '6 BUSINESS', '6 BUSINESS'],
  ['GET', '/api/v1/client/session/page', '6 BUSINESS', '6 BUSINESS'],
  ['GET', '/api/v1/sys', '6 BUSINESS', '6 BUSINESS'],
  ['GET', '/api/v1', '6 BUSINESS', '6 BUSINESS'],
  ['GET', '/api/v1/', '6 BUSINESS', '6 BUSINESS'],
  ['GET', '/api/v1/sys/u?/api/v1/public/b/', '6 BUSINESS', '6 BUSINESS'],
  ['GET', '/api/v0/c/x', '4 CONSUMER', '4 CONSUMER'],
  ['GET', '/api/v01/c/x', '4 CONSUMER', '4 CONSUMER'],
  ['GET', '/api/v99999999999999999999/c/x', '4 CONSUMER', '4 CONSUMER'],
  ['GET', '/API/V1/sys/u', 'no rule', 'no rule'],
  ['GET', '/api/V1/sys/u', 'no rule', 'no rule'],
  ['GET', '/docsx', 'no rule', 'no rule'],
  ['GET', '/DOCS', 'no rule', 'no rule'],
  ['GET', '/docs/', 'no rule', 'no rule'],
  ['GET', '/api/v1.0/c/x', 'no rule', 'no rule'],
  ['GET', '/api/v-1/c/x', 'no rule', 'no rule'],
  ['GET', '/api/v/c/x', 'no rule', 'no rule'],
  ['GET', '/api', 'no rule', 'no rule'],
  ['GET', '/', 'no rule', 'no rule'],
  ['GET', '/sys', 'no rule', 'no rule'],
  ['GET', '/x/api/v1/public/b/y', 'no rule', 'no rule'],
]

for (const [method, target, ...expected] of ROWS) {
  for (const number of [1, 2] as const) {
    t.test(`profile ${number}: ${method} ${target} is decided as ${expected[number - 1]}`, async t => {
      const verdict = verdictOf(readTarget(target).path, method, PROFILES[number].paths)
      t.equal(verdict === null ? 'no rule' : `${verdict.rule.number} ${verdict.need}`, expected[number - 1])
    })
  }
}

t.test('each rule has its meaning in its row', async t => {
  t.same(
    RULES.map(({ number, side, carries, exceptable }) => [number, side, carries, exceptable]),
    [
      [1, null, 'everything', false],
      [2, null, 'nothing', false],
      [3, null, 'everything', false],
      [4, 'CONSUMER', 'everything', true],
      [5, 'BUSINESS', 'everything', true],
      [6, 'BUSINESS', 'everything', true],
      [7, null, 'everything', false],
    ],
  )
})

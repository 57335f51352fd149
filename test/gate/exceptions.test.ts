import t from 'tap'
import { Refusal, Unavailable } from '../../src/base/refusal.ts'
import { judge } from '../../src/gate/decide.ts'
import { createExceptions, type WrittenException } from '../../src/gate/exceptions.ts'
import { admit, isAdmitted } from '../../src/gate/live-session.ts'
import type { Verdict } from '../../src/gate/rules.ts'
import type { LoginType } from '../../src/session/sides.ts'
import { PROFILES } from '../../src/settings/profile.ts'
import type { Session } from '../../src/side/side.ts'
import { asToken } from '../../src/token/bearer.ts'
import { ruleNumbered } from '../support/gate-rules.ts'

const EXCEPTIONS: WrittenException[] = [
  { path: '/api/v1/sys/dict/tree', methods: ['GET'], needs: 'none' },
  { path: '/api/v1/file/secret/*', methods: ['GET'], needs: 'business' },
  { path: '/api/v1/file/*', methods: ['GET', 'POST'], needs: 'either' },
  { path: '/api/v1/c/office', methods: ['DELETE'], needs: 'business' },
  { path: '/api/v1/b/help', methods: ['HEAD'], needs: 'consumer' },
  { path: '/api/v2/*', methods: ['GET'], needs: 'consumer' },
  { path: '/api/v1/sys/', methods: ['GET'], needs: 'none' },
]
const exceptions = createExceptions(EXCEPTIONS)

/** What is judged, as `rule need`, with the position of the exception that decided. */
const ROWS: [method: string, target: string, expected: string][] = [
  ['GET', '/api/v1/sys/dict/tree', '6 none by 0'],
  ['HEAD', '/api/v1/sys/dict/tree', '6 none by 0'],
  ['GET', '/api/v1/sys/dict/tree?x=/../y', '6 none by 0'],
  ['POST', '/api/v1/sys/dict/tree', '6 BUSINESS'],
  ['OPTIONS', '/api/v1/sys/dict/tree', '2 none'],
  ['GET', '/api/v1/sys/dict/tree/', '6 BUSINESS'],
  ['GET', '/api/v1/sys/dict/tree/x', '6 BUSINESS'],
  ['GET', '/api/v1/sys/dict/trees', '6 BUSINESS'],
  ['GET', '/api/v1/sys/dict', '6 BUSINESS'],
  ['GET', '/api/v1/sys/DICT/tree', '6 BUSINESS'],
  ['GET', '/api/v2/sys/dict/tree', '6 CONSUMER by 5'],
  ['GET', '/api/v01/sys/dict/tree', '6 BUSINESS'],
  ['GET', '/x/api/v1/sys/dict/tree', 'no rule'],
  ['GET', '/API/v1/sys/dict/tree', 'no rule'],
  ['GET', '/api/v1/file/', '6 either by 2'],
  ['POST', '/api/v1/file/x/y', '6 either by 2'],
  ['PUT', '/api/v1/file/x', '6 BUSINESS'],
  ['GET', '/api/v1/file', '6 BUSINESS'],
  ['GET', '/api/v1/files/x', '6 BUSINESS'],
  ['GET', '/api/v1/file/secret/x', '6 BUSINESS by 1'],
  ['POST', '/api/v1/file/secret/x', '6 either by 2'],
  ['GET', '/api/v1/file/secret', '6 either by 2'],
  ['DELETE', '/api/v1/c/office', '4 BUSINESS by 3'],
  ['GET', '/api/v1/c/office', '4 CONSUMER'],
  ['HEAD', '/api/v1/b/help', '5 CONSUMER by 4'],
  ['GET', '/api/v1/b/help', '5 BUSINESS'],
  ['GET', '/api/v2/public/b/x', '3 none'],
  ['GET', '/api/v2/public/x/y', '6 CONSUMER by 5'],
  ['GET', '/api/v2/c/x', '4 CONSUMER by 5'],
  ['GET', '/api/v2/b/x', '5 CONSUMER by 5'],
  ['GET', '/api/v2', '6 BUSINESS'],
  ['GET', '/api/v1/sys/', '6 none by 6'],
  ['GET', '/api/v1/sys', '6 BUSINESS'],
  ['GET', '/api/v1/sys/x', '6 BUSINESS'],
  ['GET', '/docs', '1 none'],
]

for (const [method, target, expected] of ROWS) {
  t.test(`with exceptions, ${method} ${target} is decided as ${expected}`, async t => {
    const { verdict } = judge(target, method, { ...PROFILES[1].paths, exceptions })
    const by = verdict?.exception === undefined ? '' : ` by ${exceptions.indexOf(verdict.exception)}`
    t.equal(verdict === null ? 'no rule' : `${verdict.rule.number} ${verdict.need}${by}`, expected)
  })
}

const TOKEN = asToken('a.b.c')!
const sessionOf = (type: LoginType): Session => ({
  token: TOKEN,
  claims: { jti: 'j', iat: 1 },
  record: { user_id: '7', type, created_at: '', extra: {} },
})
type Found = Session | null | Promise<Session | null>

/** The type of the session that is found where the sides answer this, and in which order the sides were asked. */
async function find(verdict: Verdict, answers: Record<LoginType, () => Found>) {
  const asked: string[] = []
  const side = (type: LoginType) => ({
    authenticate: () => {
      asked.push(type)
      return answers[type]()
    },
  })
  const sides = { BUSINESS: side('BUSINESS'), CONSUMER: side('CONSUMER') }
  try {
    const session = await admit(verdict, TOKEN, sides)
    return { type: session?.record.type ?? null, asked, isAdmitted: isAdmitted(verdict, session) }
  } catch (refusal) {
    if (refusal instanceof Refusal && refusal.reason === 'NOT_LOGGED_IN')
      return { type: null, asked, isAdmitted: false }
    throw refusal
  }
}

const EITHER: Verdict = { rule: ruleNumbered(6), need: 'either' }
const absent = (): Found => null
const fails = async (): Promise<never> => {
  throw new Unavailable('the store is away')
}

t.test('with `either`, a session of one side or the other is accepted, and a request without one is not', async t => {
  for (const answer of [(found: Found) => found, async (found: Found) => found]) {
    const business = { BUSINESS: () => answer(sessionOf('BUSINESS')), CONSUMER: absent }
    t.same(await find(EITHER, business), { type: 'BUSINESS', asked: ['BUSINESS'], isAdmitted: true })
    const consumer = { BUSINESS: () => answer(null), CONSUMER: () => answer(sessionOf('CONSUMER')) }
    t.same(await find(EITHER, consumer), { type: 'CONSUMER', asked: ['BUSINESS', 'CONSUMER'], isAdmitted: true })
    const none = { BUSINESS: () => answer(null), CONSUMER: () => answer(null) }
    t.match(await find(EITHER, none), { type: null, isAdmitted: false })
  }
})

t.test('where either side will do below /c/, the C side is tried first', async t => {
  const both = { BUSINESS: () => sessionOf('BUSINESS'), CONSUMER: () => sessionOf('CONSUMER') }
  t.same((await find({ rule: ruleNumbered(4), need: 'either' }, both)).asked, ['CONSUMER'])
})

t.test('a failing store never leads to a session of the other side', async t => {
  await t.rejects(find(EITHER, { BUSINESS: fails, CONSUMER: () => sessionOf('CONSUMER') }), { message: 'UNAVAILABLE' })
  await t.rejects(find(EITHER, { BUSINESS: absent, CONSUMER: fails }), { message: 'UNAVAILABLE' })
})

t.test('a session of the other side does not satisfy a verdict of one side', async t => {
  t.notOk(isAdmitted({ rule: ruleNumbered(6), need: 'BUSINESS' }, sessionOf('CONSUMER')))
  t.notOk(isAdmitted({ rule: ruleNumbered(4), need: 'CONSUMER' }, sessionOf('BUSINESS')))
  t.notOk(isAdmitted({ rule: ruleNumbered(4), need: 'CONSUMER' }, null))
  t.ok(isAdmitted({ rule: ruleNumbered(6), need: 'none' }, null))
})

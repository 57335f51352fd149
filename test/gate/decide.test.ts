import t from 'tap'
import { createPermissions } from '../../src/account/permissions.ts'
import { Refusal } from '../../src/base/refusal.ts'
import { createAccess } from '../../src/gate/address-rules.ts'
import { decide, type Gate, type GatedUpstream, judge } from '../../src/gate/decide.ts'
import { createMaintenance } from '../../src/gate/maintenance.ts'
import { RateLimit } from '../../src/gate/rate-limit.ts'
import type { SessionRecord } from '../../src/session/record.ts'
import type { LoginType } from '../../src/session/sides.ts'
import { PROFILES } from '../../src/settings/profile.ts'
import type { Token } from '../../src/token/bearer.ts'
import { clockOf } from '../support/clock.ts'

/* The whole decision, as `/verify` asks for it. A token here is the side of its session and the permissions in it. */

const sideOf = (type: LoginType) => ({
  authenticate(token: Token): { record: SessionRecord } | null {
    const [side, ...permissions] = token.split(' ')
    if (side !== type) return null
    return { record: { user_id: '7', type, created_at: '', extra: { permissions } } }
  },
})

/** One request of each client, and no further one. */
const few = new RateLimit(
  { requests: 1, window: 1000, per: 'login-id' },
  1,
  clockOf(() => 0),
)

const RULES = { ...PROFILES[1].paths, access: createAccess([{ path: '/api/v1/near/*', allow: ['10.0.0.0/8'] }]) }

const GATE: Gate<{ record: SessionRecord }> = {
  rules: RULES,
  sides: { BUSINESS: sideOf('BUSINESS'), CONSUMER: sideOf('CONSUMER') },
  permissions: createPermissions({}),
}

function upstreamOf(path: string): GatedUpstream | null {
  if (path.startsWith('/api/v1/none')) return null
  const codes = path.includes('/guarded') ? ['orders:view', 'orders:edit'] : null
  const maintenance = path.startsWith('/api/v1/c/maintained')
    ? createMaintenance({ retry_after: 1000, allow: ['10.0.0.1'] })
    : null
  return {
    permission: codes === null ? null : { codes, mode: 'all' },
    maintenance,
    rateLimit: path.startsWith('/api/v1/c/few') ? few : null,
    findsOptional: path.startsWith('/api/v1/public/c/told'),
  }
}

interface Asked {
  target: string
  token: string | null
  address?: string | null
}

/** The decision about a GET, and the session with which it passed the gate; `undefined` for none. */
async function decisionOf({ target, token, address = null }: Asked, gate = GATE) {
  const {
    target: { path },
    verdict,
  } = judge(target, 'GET', RULES)
  const upstream = upstreamOf(path)
  let admitted: { record: SessionRecord } | null | undefined
  const onAdmitted = (session: { record: SessionRecord } | null) => {
    admitted = session
  }
  const asked = { path, verdict, upstream, address, network: address, credential: token as Token | null, onAdmitted }
  const session = await decide(asked, gate)
  if (admitted !== session) throw new Error('a request passes with the session that was admitted')
  return session
}

const DECISIONS: [what: string, target: string, token: string | null, decision: string | null, address?: string][] = [
  ['a path that needs no session', '/api/v1/public/c/x', null, null],
  ['a session of the side of the path', '/api/v1/c/x', 'CONSUMER', 'CONSUMER'],
  ['a path without an upstream, whose session alone decides', '/api/v1/none/x', 'BUSINESS', 'BUSINESS'],
  ['an upstream under maintenance, and an unknown address', '/api/v1/c/maintained', 'CONSUMER', 'MAINTENANCE'],
  ['an upstream under maintenance and no token', '/api/v1/c/maintained', null, 'MAINTENANCE'],
  [
    'an upstream under maintenance, and an address that it allows',
    '/api/v1/c/maintained',
    'CONSUMER',
    'CONSUMER',
    '10.0.0.1',
  ],
  ['a rule about addresses, and an unknown address', '/api/v1/near/x', 'BUSINESS', 'ADDRESS_NOT_ALLOWED'],
  ['a rule about addresses, ahead of tokens', '/api/v1/near/x', null, 'ADDRESS_NOT_ALLOWED', '11.0.0.1'],
  ['an address that a rule allows', '/api/v1/near/x', 'BUSINESS', 'BUSINESS', '10.0.0.7'],
  ['no token', '/api/v1/c/x', null, 'NOT_LOGGED_IN'],
  ['a session of the other side', '/api/v1/c/x', 'BUSINESS', 'NOT_LOGGED_IN'],
  ['a path without a rule', '/other', 'BUSINESS', 'NOT_FOUND'],
  ['an ambiguous path', '/api/v1/c//x', 'CONSUMER', 'BAD_PATH'],
  ['the first request of a client, which the limit of the upstream admits', '/api/v1/c/few', 'CONSUMER', 'CONSUMER'],
  ['a further request of it', '/api/v1/c/few', 'CONSUMER', 'RATE_LIMITED'],
  ['a further request of it without the session', '/api/v1/c/few', null, 'NOT_LOGGED_IN'],
  ['an upstream that learns of sessions where none is needed', '/api/v1/public/c/told', 'CONSUMER', 'CONSUMER'],
  ['a session of the other side there', '/api/v1/public/c/told', 'BUSINESS', 'BUSINESS'],
  ['no session there', '/api/v1/public/c/told', 'dead', null],
  ['an upstream that does not', '/api/v1/public/c/x', 'CONSUMER', null],
  ['the permissions that the upstream requires', '/api/v1/c/guarded', 'CONSUMER orders:*', 'CONSUMER'],
  ['one of two required permissions', '/api/v1/c/guarded', 'CONSUMER orders:view', 'NOT_PERMITTED'],
  ['a required permission and no session to have it', '/api/v1/public/c/guarded', null, 'NOT_LOGGED_IN'],
]

for (const [what, target, token, decision, address = null] of DECISIONS) {
  t.test(`${what}: ${decision ?? 'it passes without a session'}`, async t => {
    const found = await decisionOf({ target, token, address }).then(
      session => session?.record.type ?? null,
      fault => (fault instanceof Refusal ? fault.reason : fault),
    )
    t.equal(found, decision)
  })
}

t.test('a refusal for want of permissions names those that are missing', async t => {
  const refusal = await decisionOf({ target: '/api/v1/c/guarded', token: 'CONSUMER orders:view' }).catch(fault => fault)
  t.match(refusal, { reason: 'NOT_PERMITTED', params: { permissions: "['orders:edit']" } })
})

t.test('a store that fails is no missing session', async t => {
  const fails = { authenticate: async () => Promise.reject(new Error('down')) }
  const gate = { ...GATE, sides: { BUSINESS: fails, CONSUMER: fails } }
  await t.rejects(decisionOf({ target: '/api/v1/c/x', token: 'CONSUMER' }, gate), { message: 'down' })
})

t.test('a request whose store and rights are known at once is decided without a promise', t => {
  const { target, verdict } = judge('/api/v1/c/x', 'GET', RULES)
  const asked = { path: target.path, verdict, address: null, network: null, credential: 'CONSUMER' as Token }
  const upstream = upstreamOf(target.path)
  t.match(decide({ ...asked, upstream, onAdmitted: () => undefined }, GATE), { record: { type: 'CONSUMER' } })
  t.end()
})

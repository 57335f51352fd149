import t from 'tap'
import { createPermissions } from '../../src/account/permissions.ts'
import {
  type Actor,
  type Proposal,
  refuseEscalation,
  type Subject,
} from '../../src/administration/accounts/escalation.ts'
import { Refusal } from '../../src/base/refusal.ts'
import { SUPER_ADMIN } from '../../src/session/record.ts'
import { refusalOf as refusedBy } from '../support/login-fixture.ts'

/* The laws against escalation, for every combination of small accounts, beside an independent statement of each law. */

const ROLES = { clerk: ['orders:read'], chief: ['orders:**', 'staff:*'] }
const { lacking, allows } = createPermissions(ROLES)

const RIGHTS: readonly (readonly [roles: string[], permissions: string[]])[] = [
  [[], []],
  [['clerk'], []],
  [['chief'], []],
  [['clerk', 'chief'], []],
  [[SUPER_ADMIN], []],
  [[], ['orders:read']],
  [[], ['orders:*']],
  [[], ['**']],
  [[], ['*']],
  [['clerk'], ['staff:edit']],
]
const STATUSES = ['ACTIVE', 'LOCKED'] as const
/** Every code that one of the rights names, and some that none names. */
const CODES = ['orders:read', 'orders:edit', 'orders:a:b', 'staff:edit', 'staff:a:b', 'other', 'a:b:c:d']

const subjects = (id: string): Subject[] =>
  RIGHTS.flatMap(([roles, permissions]) => STATUSES.map(status => ({ id, status, roles, permissions })))

function refusalOf(...input: Parameters<typeof refuseEscalation>): string | null {
  try {
    refuseEscalation(...input)
    return null
  } catch (fault) {
    if (fault instanceof Refusal) return fault.reason
    throw fault
  }
}

const canDo = ({ roles, permissions }: Pick<Subject, 'roles' | 'permissions'>, code: string): boolean =>
  allows({ user_id: '', type: 'BUSINESS', created_at: '', extra: { roles, permissions } }, [code], 'all')

/** Whether one holds what another does not: a role, or a code that it may use. */
const holdsMore = (one: Omit<Subject, 'id' | 'status'>, other: Omit<Subject, 'id' | 'status'>): boolean =>
  !other.roles.includes(SUPER_ADMIN) &&
  (one.roles.some(role => !other.roles.includes(role)) || CODES.some(code => canDo(one, code) && !canDo(other, code)))

const isMighty = (account: Subject | null): boolean =>
  account?.status === 'ACTIVE' && account.roles.includes(SUPER_ADMIN)

const MIGHTY = { status: 'ACTIVE', roles: [SUPER_ADMIN], permissions: [] } as const

t.test('no actor gets more rights by any change, nor touches an account that holds more', async t => {
  let admitted = 0
  for (const actor of subjects('actor')) {
    for (const before of [null, ...subjects('target')]) {
      for (const after of before === null ? subjects('target') : [null, ...subjects('target')]) {
        for (const resets of [false, true]) {
          const accounts = [actor, ...(before === null ? [] : [before]), { ...actor, id: 'chief', ...MIGHTY }]
          const refusal = refusalOf({ id: 'actor', rights: actor }, { before, after, resets }, lacking, accounts)
          const isEscalation =
            (before !== null && holdsMore(before, actor)) || (after !== null && holdsMore(after, actor))
          // In doubt, a change is refused that is no escalation.
          if (isEscalation && refusal === null) t.fail(JSON.stringify({ actor, before, after }))
          if (refusal === null) admitted += 1
        }
      }
    }
  }
  t.ok(admitted > 1000, `${admitted} changes are admitted`)
})

t.test('no actor locks, demotes, removes or resets their own account', async t => {
  for (const before of subjects('a').filter(({ status }) => status === 'ACTIVE')) {
    const actor: Actor = { id: 'a', rights: before }
    const others = [before, { id: 'b', ...MIGHTY }]
    const propose = (proposal: Partial<Proposal>) =>
      refusalOf(actor, { before, after: before, resets: false, ...proposal }, lacking, others)
    t.equal(propose({}), null)
    t.equal(propose({ after: null }), 'OWN_ACCOUNT')
    t.equal(propose({ after: { ...before, status: 'INACTIVE' } }), 'OWN_ACCOUNT')
    t.equal(propose({ resets: true }), 'OWN_ACCOUNT')
    for (const after of subjects('a').filter(({ status }) => status === 'ACTIVE')) {
      if (holdsMore(before, after)) t.match(propose({ after }), /OWN_ACCOUNT|RIGHTS_NOT_HELD/)
    }
    // The same id on the other side is another user.
    const foreign = { before, after: null, resets: false }
    t.equal(refusalOf({ id: null, rights: before }, foreign, lacking, others), null)
  }
})

t.test('the last active SUPER_ADMIN stays, and any other may go', async t => {
  const actor: Actor = { id: null, rights: MIGHTY }
  let refused = 0
  for (const before of subjects('a')) {
    for (const other of subjects('b')) {
      for (const after of [null, ...subjects('a')]) {
        const refusal = refusalOf(actor, { before, after, resets: false }, lacking, [before, other])
        const isLast = isMighty(before) && !isMighty(other) && !isMighty(after)
        refused += Number(isLast)
        if (refusal !== (isLast ? 'LAST_SUPER_ADMIN' : null)) t.fail(JSON.stringify({ before, after, other, refusal }))
      }
    }
  }
  t.ok(refused > 100, `${refused} changes are refused`)
})

t.test('a service account is not the last SUPER_ADMIN that stays, and may always go', async t => {
  const actor: Actor = { id: null, rights: MIGHTY }
  const [person, robot] = [
    { id: 'a', ...MIGHTY },
    { id: 'b', ...MIGHTY, service: true },
  ]
  const refusal = (before: Subject, after: Subject | null, all: Subject[]) =>
    refusalOf(actor, { before, after, resets: false }, lacking, all)
  for (const after of [null, { ...person, status: 'LOCKED' }, { ...person, roles: [] }] as (Subject | null)[]) {
    t.equal(refusal(person, after, [person, robot]), 'LAST_SUPER_ADMIN')
    t.equal(refusal(person, after, [person, robot, { ...person, id: 'c' }]), null)
  }
  for (const all of [[robot], [robot, person]]) t.equal(refusal(robot, null, all), null)
})

t.test('no actor grants a service account what they do not hold, nor changes one that holds more', async t => {
  const actor: Actor = { id: 'x', rights: { roles: ['clerk'], permissions: [] } }
  const robot = { id: 'a', status: 'ACTIVE', service: true, roles: ['chief'], permissions: [] } as const
  const lesser = { ...robot, roles: ['clerk'] }
  const all = [{ id: 'b', ...MIGHTY }]
  const refusal = (before: Subject | null, after: Subject | null) =>
    refusalOf(actor, { before, after, resets: false }, lacking, all)
  t.equal(refusal(null, robot), 'RIGHTS_NOT_HELD')
  t.equal(refusal(lesser, robot), 'RIGHTS_NOT_HELD')
  t.equal(refusal(robot, lesser), 'ACCOUNT_HOLDS_MORE')
  t.equal(refusal(robot, null), 'ACCOUNT_HOLDS_MORE')
  t.equal(refusal(null, lesser), null)
})

t.test('a refusal of rights names those that are missing', async t => {
  const rights = { roles: ['clerk'], permissions: ['a:*'] }
  const after = { id: 'a', status: 'ACTIVE', roles: ['clerk', 'chief'], permissions: ['a:b', 'b:**'] } as const
  const work = async () => refuseEscalation({ id: 'x', rights }, { before: null, after, resets: false }, lacking, [])
  t.match(await refusedBy(work()), { params: { rights: 'chief, b:**' } })
})

import t from 'tap'
import {
  accountOf,
  isMatched,
  matchValueOf,
  requirementFault,
  wantedClaims,
} from '../../../src/login/identity/claims.ts'
import type { ProviderSettings } from '../../../src/settings/schema/providers.ts'

/* What the claims of a provider mean: the account, its roles, and what its users must have. */

const STAFF: ProviderSettings = {
  name: 'staff',
  side: 'business',
  label: 'Company account',
  issuer: 'https://sso.example.com',
  client_id: 'dualgate',
  client_secret: 'a secret of the client',
  client_auth: 'basic',
  scopes: ['openid'],
  account: 'claims',
  claims: { username: 'preferred_username', nickname: 'name', avatar: 'picture' },
  second_factor: 'provider',
  session: 43_200_000,
  logout: 'user',
  algorithms: ['RS256'],
  clock_tolerance: 30_000,
  timeout: 5000,
}
const GROUPS = {
  claim: 'groups',
  map: { '/staff/admins': 'SUPER_ADMIN', '/staff/ops': 'operator', '/old/ops': 'operator' },
}

const ANNA = { preferred_username: 'anna', name: 'Anna Müller', picture: 'https://img.example.com/a.png' }

const account = (claims: Record<string, unknown>, settings: Partial<ProviderSettings> = {}) =>
  accountOf({ ...STAFF, ...settings }, { sub: '7', claims })

const refused = (reason: string) => ({ refused: reason })

t.test('claims are an active account with the login id of the provider', async t => {
  t.same(account(ANNA), {
    account: {
      id: 'staff:7',
      username: 'anna',
      status: 'ACTIVE',
      extra: {
        nickname: 'Anna Müller',
        avatar: 'https://img.example.com/a.png',
        roles: [],
        permissions: [],
      },
    },
  })
  t.match(account({ preferred_username: 'anna' }), { account: { extra: { nickname: 'anna', avatar: null } } })
})

t.test('claims that are not configured are not in the session', async t => {
  const found = account({
    ...ANNA,
    email: 'a@example.com',
    roles: ['SUPER_ADMIN'],
    permissions: ['**'],
    id: '1',
    status: 'X',
  })
  t.same(found, account(ANNA))
})

t.test('an account needs a username that can be one', async t => {
  for (const preferred_username of [undefined, null, ''])
    t.same(account({ ...ANNA, preferred_username }), refused('claim-missing'))
  for (const preferred_username of [
    ' anna',
    'anna\n',
    'an\u0000na',
    'an\u0085na',
    '\ud800',
    'x'.repeat(129),
    true,
    {},
    ['anna'],
    1.5,
    2 ** 53,
  ])
    t.same(account({ ...ANNA, preferred_username }), refused('claim-form'), JSON.stringify(preferred_username))
  t.match(account({ ...ANNA, preferred_username: 'x'.repeat(128) }), { account: { username: 'x'.repeat(128) } })
  t.match(account({ ...ANNA, preferred_username: 4711 }), { account: { username: '4711' } })
})

t.test('a sub that is no text of its own is refused', async t => {
  for (const sub of ['', '\ud800', 'a\udc00'])
    t.same(accountOf(STAFF, { sub, claims: ANNA }), refused('subject-form'), JSON.stringify(sub))
})

t.test('other claims lose control characters, may be any JSON, and are left out where they are too large', async t => {
  const claims = { username: 'preferred_username', nickname: 'name', place: 'address', level: 'level', photo: 'photo' }
  const found = account(
    { ...ANNA, name: 'An\u0007na\ud800', address: { country: 'DE' }, level: 3, photo: 'x'.repeat(7000) },
    { claims },
  )
  t.match(found, {
    account: {
      extra: { nickname: 'Anna', place: { country: 'DE' }, level: 3 },
      leftOut: { columns: ['photo'], source: 'provider' },
    },
  })
  t.notOk('account' in found && 'photo' in found.account.extra)
  let deep: unknown = 'x'
  for (let level = 0; level < 100_000; level++) deep = [deep]
  t.same(account({ ...ANNA, address: deep }, { claims }), refused('claim-form'))
})

t.test('groups give roles by their whole name, each once, in the order of the settings', async t => {
  const rolesOf = (groups: unknown) => {
    const found = account({ ...ANNA, groups }, { roles: GROUPS })
    return 'account' in found ? found.account.extra.roles : found.refused
  }
  t.same(rolesOf(['/old/ops', '/staff/ops', '/staff/admins', '/staff']), ['SUPER_ADMIN', 'operator'])
  t.same(rolesOf('/staff/ops'), ['operator'])
  for (const groups of [
    undefined,
    null,
    [],
    '',
    ['/staff'],
    ['/STAFF/OPS'],
    [' /staff/ops'],
    ['/staff/ops/x'],
    '/staff/ops /x',
    ['constructor', '__proto__'],
  ])
    t.same(rolesOf(groups), [], JSON.stringify(groups))
  for (const groups of [7, true, {}, { '/staff/ops': true }, [7], [['/staff/ops']], ['/staff/ops', null]])
    t.same(rolesOf(groups), 'group-form', JSON.stringify(groups))
})

t.test('a dotted name leads into objects, and a claim whose own name has the dots counts first', async t => {
  const map = { a: 'operator' }
  const rolesBy = (claim: string, claims: object) => {
    const found = account({ ...ANNA, ...claims }, { roles: { claim, map } })
    return 'account' in found ? found.account.extra.roles : found.refused
  }
  t.same(rolesBy('realm_access.roles', { realm_access: { roles: ['a'] } }), ['operator'])
  t.same(rolesBy('https://example.com/groups', { 'https://example.com/groups': ['a'] }), ['operator'])
  t.same(rolesBy('x.y', { 'x.y': [], x: { y: ['a'] } }), [])
  for (const claims of [{ x: 'a' }, { x: ['a'] }, { x: null }, { x: { z: 1 } }, {}])
    t.same(rolesBy('x.y', claims), [], JSON.stringify(claims))
  t.same(rolesBy('constructor.name', {}), [], 'nothing is inherited')
})

t.test('groups that the provider keeps elsewhere are refused with a reason of their own', async t => {
  const overages = [
    { _claim_names: { groups: 'src1' } },
    { _claim_names: {} },
    { hasgroups: true },
    { hasgroups: 'true' },
  ]
  for (const overage of overages) {
    t.same(account({ ...ANNA, ...overage }, { roles: GROUPS }), refused('group-overage'))
    t.match(account({ ...ANNA, ...overage, groups: ['/staff/ops'] }, { roles: GROUPS }), {
      account: { extra: { roles: ['operator'] } },
    })
    t.match(account({ ...ANNA, ...overage }), { account: {} }, 'where no group counts')
    const required = { ...STAFF, roles: GROUPS, require: { groups: ['/staff'] } }
    t.equal(requirementFault(required, overage), 'group-overage')
  }
  t.match(account({ ...ANNA, hasgroups: false }, { roles: GROUPS }), { account: {} })
})

t.test('without requirements every user may sign in', async t => {
  t.equal(requirementFault(STAFF, {}), null)
  t.equal(requirementFault({ ...STAFF, require: {} }, {}), null)
})

t.test('one of the required groups is needed', async t => {
  const settings = { ...STAFF, roles: GROUPS, require: { groups: ['/staff', '/partners'] } }
  for (const groups of ['/staff', ['/x', '/partners']]) t.equal(requirementFault(settings, { groups }), null)
  for (const groups of [undefined, null, [], '', '/STAFF', '/staff/ops', ['/staff ']])
    t.equal(requirementFault(settings, { groups }), 'group-required', JSON.stringify(groups))
  t.equal(requirementFault(settings, { groups: { '/staff': 1 } }), 'group-form')
  const { roles: _, ...without } = settings
  t.equal(requirementFault(without, { groups: ['/staff'] }), 'group-required', 'without the name of the claim')
})

t.test('one of the required domains is needed, in a verified address', async t => {
  const settings = { ...STAFF, require: { email_domains: ['example.com', 'example.org'] } }
  const faultOf = (email: unknown, email_verified: unknown = true) =>
    requirementFault(settings, { email, email_verified })
  for (const email of ['anna@example.com', 'Anna@EXAMPLE.com', 'a+b@example.org']) t.equal(faultOf(email), null, email)
  for (const verified of [false, 'true', 1, null, undefined, {}])
    t.equal(requirementFault(settings, { email: 'a@example.com', email_verified: verified }), 'email-unverified')
  for (const email of [undefined, null, '']) t.equal(faultOf(email), 'email-missing')
  for (const email of [
    'a@b@example.com',
    '"a@x"@example.com',
    'example.com',
    '@example.com',
    'a@',
    'a b@example.com',
    'a@example.com\n',
    'a@e\u212aample.com',
    ['a@example.com'],
    7,
    `${'x'.repeat(250)}@example.com`,
  ])
    t.equal(faultOf(email), 'email-form', JSON.stringify(email))
  for (const email of ['a@sub.example.com', 'a@example.com.', 'a@notexample.com', 'a@example.com.evil.net'])
    t.equal(faultOf(email), 'email-required', email)
})

t.test('each line of require must hold', async t => {
  const settings = { ...STAFF, roles: GROUPS, require: { groups: ['/staff'], email_domains: ['example.com'] } }
  const all = { groups: ['/staff'], email: 'a@example.com', email_verified: true }
  t.equal(requirementFault(settings, all), null)
  t.equal(requirementFault(settings, { ...all, groups: [] }), 'group-required')
  t.equal(requirementFault(settings, { ...all, email: 'a@example.net' }), 'email-required')
})

t.test('an account is found by the whole text of a claim', async t => {
  const settings = { ...STAFF, account: 'match', match: { claim: 'employee.number', with: 'username' } } as const
  t.same(matchValueOf(settings, { employee: { number: 'E-7' } }), { value: 'E-7' })
  t.same(matchValueOf(settings, { employee: { number: 7 } }), { value: '7' })
  t.same(matchValueOf(settings, { employee: {} }), refused('claim-missing'))
  for (const number of [' E-7', 'E\t7', ['E-7'], 2 ** 53, 'x'.repeat(129)])
    t.same(matchValueOf(settings, { employee: { number } }), refused('claim-form'), JSON.stringify(number))
})

t.test('an account is found by an e-mail address only if it is verified and has one @', async t => {
  const settings = { ...STAFF, account: 'match', match: { claim: 'email', with: 'username' } } as const
  t.same(matchValueOf(settings, { email: 'Anna@Example.com', email_verified: true }), { value: 'Anna@Example.com' })
  for (const email_verified of [false, 'true', undefined])
    t.same(matchValueOf(settings, { email: 'a@example.com', email_verified }), refused('email-unverified'))
  t.same(matchValueOf(settings, { email: 'a@b@example.com', email_verified: true }), refused('email-form'))
  t.same(matchValueOf(settings, { email_verified: true }), refused('email-missing'))
})

t.test(
  'an account counts only if its name is the text by which it was found, but for the case of ASCII letters',
  async t => {
    for (const [username, value] of [
      ['mike', 'mike'],
      ['Mike', 'mIKE'],
      ['José', 'josé'],
      ['rosé@example.com', 'rosé@Example.com'],
    ] as const)
      t.ok(isMatched({ username }, value), `${username} by ${value}`)
    for (const [username, value] of [
      ['mike', 'mi\u212ae'],
      ['bob', 'bób'],
      ['bob', 'b\u200bob'],
      ['bob', 'bob '],
      ['rosé@example.com', 'rose@example.com'],
      ['é', 'É'],
      ['\u00e9', 'e\u0301'],
      ['strasse', 'straße'],
      ['ann', 'ann@example.com'],
    ] as const)
      t.notOk(isMatched({ username }, value), `${username} by ${JSON.stringify(value)}`)
  },
)

t.test('the claims that are wanted are those that the settings use', async t => {
  t.same(wantedClaims(STAFF), ['preferred_username', 'name', 'picture'])
  t.same(wantedClaims({ ...STAFF, roles: GROUPS }), ['preferred_username', 'name', 'picture', 'groups'])
  const match = { ...STAFF, account: 'match', match: { claim: 'upn', with: 'username' } } as const
  t.same(wantedClaims(match), ['upn'])
  t.same(wantedClaims({ ...match, match: { claim: 'email', with: 'username' } }), ['email', 'email_verified'])
  t.same(wantedClaims({ ...match, roles: GROUPS }), ['upn'], 'no group counts')
  const required = { groups: ['/staff'], email_domains: ['example.com'] }
  t.same(wantedClaims({ ...match, roles: GROUPS, require: required }), ['upn', 'groups', 'email', 'email_verified'])
})

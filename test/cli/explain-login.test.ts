import t, { type Test } from 'tap'
import { BESIDE, folderWith } from '../settings/folder.ts'
import { run } from '../support/command-line.ts'

/* What the claims of a provider would mean at a login, on the command line. */

const STAFF = {
  name: 'staff',
  side: 'business',
  label: 'Company account',
  issuer: 'https://sso.example.com',
  client_id: 'dualgate',
  client_secret: 'Zq8-secret-of-the-client',
  account: 'claims',
  claims: { username: 'preferred_username', nickname: 'name', photo: 'picture' },
  roles: { claim: 'groups', map: { '/staff/ops': 'operator', '/staff/admins': 'SUPER_ADMIN' } },
  require: { groups: ['/staff', '/staff/ops'], email_domains: ['example.com'] },
}
const PARTNERS = { ...STAFF, name: 'partners', account: 'match', match: { claim: 'upn', with: 'username' } }
const { claims: _, roles: __, require: ___, ...MATCHED } = PARTNERS

const ANNA = {
  iss: 'https://sso.example.com',
  sub: '7',
  preferred_username: 'anna',
  name: 'Anna',
  picture: 'https://img.example.com/7.png',
  groups: ['/staff/ops', '/x'],
  email: 'anna@example.com',
  email_verified: true,
  upn: 'E-7',
}

/** The rows that the command prints for claims; a text is the content of the file as it is. */
async function explained(t: Test, claims: unknown, name = 'staff', changes: object = {}) {
  const login = { providers: [{ ...STAFF, ...changes }, MATCHED] }
  const gateway = JSON.stringify({ browser: { business: 'on', url: 'https://admin.example.com' }, login })
  const text = typeof claims === 'string' ? claims : JSON.stringify(claims)
  const folder = folderWith(t, { ...BESIDE, 'gateway.yaml': gateway, 'claims.json': text })
  const words = ['explain-login', name, '--config', 'gateway.yaml', '--claims']
  const found = await run(folder, [...words, 'claims.json'])
  t.same(await run(folder, [...words, '-'], { input: text }).then(({ code }) => code), found.code)
  t.notMatch(found.output + found.errors, 'Zq8-secret')
  return { ...found, lines: found.output.split('\n').filter(line => line !== '') }
}

t.test('explain-login shows the account that claims are', async t => {
  const { code, lines } = await explained(t, ANNA)
  t.equal(code, 0)
  t.same(lines, [
    'provider        staff, business side, https://sso.example.com',
    'login id        staff:7',
    'username        anna',
    'roles           operator',
    'session         {"nickname":"Anna","avatar":null,"photo":"https://img.example.com/7.png"}',
    'require         holds',
    'result          signs in, unless the account or a limit prevents it',
  ])
})

t.test('explain-login shows by what an account is found', async t => {
  const { code, lines } = await explained(t, ANNA, 'partners')
  t.equal(code, 0)
  t.same(lines.slice(1), [
    'account         with the username E-7',
    'result          signs in, unless the account or a limit prevents it',
  ])
})

t.test('explain-login shows which claims are absent, and what is too large', async t => {
  const { picture: _, ...absent } = ANNA
  const { lines } = await explained(t, absent)
  t.equal(lines[1], 'absent          picture; a login asks userinfo for it')
  const { output } = await explained(t, { ...ANNA, picture: 'x'.repeat(7000) })
  t.match(output, /^left out {8}photo: too large$/m)
})

const REFUSED: [title: string, changes: object, reasons: string[], name?: string][] = [
  ['no sub', { sub: undefined }, ['subject-form']],
  ['a sub that is a number', { sub: 7 }, ['subject-form']],
  ['no username', { preferred_username: null }, ['claim-missing']],
  ['a username with a line break', { preferred_username: 'a\nb' }, ['claim-form']],
  ['too many groups', { groups: undefined, _claim_names: { groups: 'src1' } }, ['group-overage']],
  ['groups of another form', { groups: { '/staff': {} } }, ['group-form']],
  ['no group that is required', { groups: ['/x'] }, ['group-required']],
  ['no address', { email: undefined }, ['email-missing']],
  ['an address that is not verified', { email_verified: 'true' }, ['email-unverified']],
  ['an address with two @', { email: 'a@b@example.com' }, ['email-form']],
  ['an address of another domain', { email: 'a@example.net' }, ['email-required']],
  ['an account and a requirement', { preferred_username: '', groups: [] }, ['group-required', 'claim-missing']],
  ['another issuer', { iss: 'https://sso.example.net' }, ['token-issuer']],
  ['no value to match', { upn: '' }, ['claim-missing'], 'partners'],
]

for (const [title, changes, reasons, name] of REFUSED) {
  t.test(`explain-login says why a login with ${title} is refused`, async t => {
    const { code, lines } = await explained(t, { ...ANNA, ...changes }, name)
    t.equal(code, 0)
    const refused = lines.filter(line => line.startsWith('refused '))
    t.same(
      refused.map(line => line.slice(16).split(':')[0]),
      reasons,
    )
    t.notOk(lines.some(line => line.startsWith('result ')))
  })
}

t.test('explain-login knows the class of authentication that is demanded', async t => {
  t.match((await explained(t, { ...ANNA, acr: 'gold' }, 'staff', { acr: ['gold', 'platinum'] })).output, /^result /m)
  for (const acr of [undefined, 'silver', ['gold']])
    t.match((await explained(t, { ...ANNA, acr }, 'staff', { acr: ['gold'] })).output, /^refused {9}acr: /m)
})

t.test('explain-login says what is wrong with its words', async t => {
  t.match(await explained(t, ANNA, 'stuff'), {
    code: 1,
    errors: /there is no provider stuff; did you mean staff\? Providers: staff, partners/,
  })
  t.match(await explained(t, 'eyJhbGciOiJSUzI1NiJ9.e30.c2ln'), {
    code: 1,
    errors: /is not JSON; write the claims as one JSON object, not as a token/,
  })
  for (const text of ['[]', '"x"', 'null'])
    t.match(await explained(t, text), { code: 1, errors: /is not a JSON object with claims/ })
  const folder = folderWith(t, { ...BESIDE, 'gateway.yaml': '' })
  const config = ['--config', 'gateway.yaml']
  t.match(await run(folder, ['explain-login', 'staff', '--claims', 'x.json', ...config]), {
    code: 1,
    errors: /there is no provider staff; login\.providers is empty/,
  })
  for (const words of [[], ['staff'], ['--claims', 'x.json'], ['staff', 'x', '--claims', 'x.json']])
    t.match(await run(folder, ['explain-login', ...words, ...config]), {
      code: 2,
      errors: /takes a provider and a file/,
    })
})

t.test('a claims file that is missing is named', async t => {
  const gateway = JSON.stringify({
    browser: { business: 'on', url: 'https://a.example' },
    login: { providers: [STAFF] },
  })
  const folder = folderWith(t, { ...BESIDE, 'gateway.yaml': gateway })
  const { code, errors } = await run(folder, [
    'explain-login',
    'staff',
    '--claims',
    'no.json',
    '--config',
    'gateway.yaml',
  ])
  t.equal(code, 1)
  t.match(errors, /no\.json/)
})

t.test('claims do not control the terminal', async t => {
  const { output } = await explained(t, { ...ANNA, name: 'Anna\u001b[31m', picture: { '\u001b[31m': '\u009b31m' } })
  t.notMatch(output, /[\u001b\u009b]/)
})

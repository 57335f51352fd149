import { join } from 'node:path'
import t from 'tap'
import { readAccounts } from '../../src/account/file/source.ts'
import { ConfigurationError } from '../../src/settings/notation/fault.ts'
import { entry, FACTOR, SERVICE } from './file-fixture.ts'

/* Faults of an accounts file, as its author reads them. */

const ROUNDED = /would be changed.*quotes/

const FAULTS: readonly (readonly [string, string, string, RegExp])[] = [
  [
    'a bare number as id',
    entry('1', 'a').replace('"1"', '1923000000000000001'),
    'accounts[0].id',
    /in quotes.*rounded/,
  ],
  ['an id with a slash', entry('a/b', 'a'), 'accounts[0].id', /A-Z a-z/],
  ['a bare number as name', entry('1', '12345'), 'accounts[0].username', /needs quotes/],
  ['a space after a name', entry('1', '"a "'), 'accounts[0].username', /spaces/],
  ['an empty name', entry('1', '""'), 'accounts[0].username', /1 to 128/],
  [
    'plain text as password',
    '  - { id: "1", username: a, password: correct horse }',
    'accounts[0].password',
    /account passwd/,
  ],
  ['a cost of 31', entry('1', 'a').replace('$04$', '$31$'), 'accounts[0].password', /cost 4 to 15/],
  ['no password', '  - { id: "1", username: a }', 'accounts[0].password', /bcrypt/],
  ['a password of a service account', entry('1', 'a', ', service: true'), 'accounts[0].password', /remove this line/],
  [
    'a second factor of a service account',
    SERVICE.replace(' }', `, second_factor: ${FACTOR} }`),
    'accounts[0].second_factor',
    /remove this line, or the line `service: true`/,
  ],
  [
    'a change of password that a service account must make',
    SERVICE.replace(' }', ', must_change_password: false }'),
    'accounts[0].must_change_password',
    /remove this line/,
  ],
  ['`service` as a text', '  - { id: "1", username: a, service: "yes" }', 'accounts[0].service', /true or false/],
  ['an account that is no service account', SERVICE.replace('true', 'false'), 'accounts[0].password', /bcrypt/],
  [
    'a service account that was added at no time',
    SERVICE.replace(' }', ', added: yesterday }'),
    'accounts[0].added',
    /a time such as/,
  ],
  ['another status', entry('1', 'a', ', status: active'), 'accounts[0].status', /ACTIVE, INACTIVE or LOCKED/],
  ['roles that are not a list', entry('1', 'a', ', roles: SUPER_ADMIN'), 'accounts[0].roles', /list of roles/],
  [
    'a permission that is a number',
    entry('1', 'a', ', permissions: [1]'),
    'accounts[0].permissions[0]',
    /must be text of 1 to 128 characters/,
  ],
  ['a nickname that is a number', entry('1', 'a', ', nickname: 7'), 'accounts[0].nickname', /text/],
  ['an entry that is a text', '  - admin', 'accounts[0]', /a section with id, username, password/],
  ['too much data', entry('1', 'a', `, x: ${'y'.repeat(7000)}`), 'accounts[0]', /bytes/],
  ['an id twice', entry('1', 'a') + entry('1', 'b'), 'accounts[1].id', /also that of account 1/],
  ['a name twice, in other cases', entry('1', 'a') + entry('2', 'A'), 'accounts[1].username', /also that of account 1/],
  [
    'a number that would be rounded',
    entry('1', 'a', ', org: { id: 1923456789012345679 }'),
    'accounts[0].org.id',
    ROUNDED,
  ],
  [
    'a fraction that would be rounded',
    entry('1', 'a', ', x: [0.1, 0.12345678901234567891]'),
    'accounts[0].x[1]',
    ROUNDED,
  ],
  ['a hexadecimal number that would be rounded', entry('1', 'a', ', x: 0x1B1A2B3C4D5E6F71'), 'accounts[0].x', ROUNDED],
  ['a number that JSON does not have', entry('1', 'a', ', x: .inf'), 'accounts[0].x', ROUNDED],
  [
    'a key that would be rounded',
    entry('1', 'a', ', x: { 1923456789012345679: 1 }'),
    'accounts[0].x.1923456789012345679',
    ROUNDED,
  ],
  ['a key twice', entry('1', 'a', ', id: "2"'), ':2', /written twice/],
  ['an alias', entry('1', '*nobody'), 'accounts[0].username', /an alias/],
  ['invalid YAML', '  - { id: "1"', ':2', /bracket|missing/],
]

for (const [what, text, place, message] of FAULTS) {
  t.test(`a fault is reported with its place and its remedy, without a hash: ${what}`, async t => {
    const path = join(t.testdir({ 'accounts.yaml': `accounts:\n${text}` }), 'accounts.yaml')
    const error = await readAccounts(path).catch(fault => fault)
    t.ok(error instanceof ConfigurationError, String(error))
    t.equal(error.faults.length, 1, error.message)
    const [fault] = error.faults
    t.ok(fault!.place.startsWith(path) && fault!.place.endsWith(place), fault!.place)
    t.match(fault!.message, message)
    t.notMatch(error.message, /\$2b\$|correct horse/)
  })
}

t.test('all faults are reported together, each with its line', async t => {
  const path = join(t.testdir({ 'accounts.yaml': 'accounts:\n  - { id: 1, username: 2 }\n  - x\n' }), 'accounts.yaml')
  const { faults } = (await readAccounts(path).catch(fault => fault)) as ConfigurationError
  t.same(faults.map(({ place }) => place.slice(path.length + 1)).sort(), [
    '2 accounts[0].id',
    '2 accounts[0].password',
    '2 accounts[0].username',
    '3 accounts[1]',
  ])
})

t.test('a file with a list instead of keys is a fault that names the file', async t => {
  const path = join(t.testdir({ 'accounts.yaml': entry('1', 'a') }), 'accounts.yaml')
  const { faults } = (await readAccounts(path).catch(fault => fault)) as ConfigurationError
  t.match(faults, [{ place: path, message: /^must consist of keys and their values/ }])
})

t.test('a faulty account hides no fault of its other fields, nor of another account', async t => {
  const text = `accounts:\n${entry('a/b', '"a "', ', status: active')}${entry('2', 'b').replace('$04$', '$31$')}`
  const path = join(t.testdir({ 'accounts.yaml': text }), 'accounts.yaml')
  const { faults } = (await readAccounts(path).catch(fault => fault)) as ConfigurationError
  t.same(faults.map(({ place }) => place.replace(/^.* /, '')).sort(), [
    'accounts[0].id',
    'accounts[0].status',
    'accounts[0].username',
    'accounts[1].password',
  ])
})

t.test('a number that is read as it is written is no fault, in whatever form', async t => {
  const exact = [
    ...['0', '-0', '1.10', '.5', '5.', '1e3', '1E+21', '12e-1', '0x1F', '0o17', '007', '+9007199254740992.0e1'],
    ...['9007199254740992', '-1923456789012345600', '0x1FFFFFFFFFFFFF', '0.1', '0.1234567890123456', '1e22', '1e400'],
    ...['"1923456789012345679"', "'0.12345678901234567891'", '!!str 1923456789012345679', '1923456789012345679 a'],
  ]
  for (const text of exact) {
    const path = join(t.testdir({ 'accounts.yaml': `accounts:\n${entry('1', 'a', `, x: ${text}`)}` }), 'accounts.yaml')
    t.ok((await readAccounts(path)).byId.has('1'), text)
  }
})

t.test('unknown top-level keys or a bare list are a fault', async t => {
  for (const text of ['users: []\n', `- ${entry('1', 'a').trim().slice(2)}\n`, 'admin\n', 'accounts: { a: 1 }\n']) {
    const path = join(t.testdir({ 'accounts.yaml': text }), 'accounts.yaml')
    await t.rejects(readAccounts(path), { message: /accounts/ }, text)
  }
})

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import bcrypt from 'bcrypt'
import t from 'tap'
import { AccountsReader } from '../../src/account/file/accounts-reader.ts'
import {
  addAccount,
  createFileAccounts,
  listAccounts,
  removeAccount,
  setPassword,
} from '../../src/account/file/source.ts'
import { partsOf, textOf } from '../../src/account/file/text-parts.ts'

/* An accounts file is read and written part by part. No text may mean anything else that way than read whole. */

const HASH = bcrypt.hashSync('correct horse', 4)
const OTHER_HASH = bcrypt.hashSync('battery staple', 4)
const block = (id: string, rest = '', indent = '  '): string =>
  `${indent}- id: "${id}"\n${indent}  username: n${id}\n${indent}  password: ${HASH}\n${rest}`
const flow = (id: string, rest = ''): string => `  - { id: "${id}", username: n${id}, password: "${HASH}"${rest} }\n`

/** Texts, and whether they are read in parts. */
const TEXTS: readonly (readonly [what: string, text: string, inParts: boolean])[] = [
  ['blocks', `accounts:\n${block('1')}${block('2')}`, true],
  ['flows', `# people\n\naccounts: # all\n${flow('1')}${flow('2')}`, true],
  ['no spaces before the dash', `accounts:\n${block('1', '', '')}${block('2', '', '')}`, true],
  ['four spaces before the dash', `accounts:\n${block('1', '', '    ')}${block('2', '', '    ')}`, true],
  [
    'comments everywhere',
    `accounts:\n  # one\n\n${block('1', '    # in one\n  # of two\n')}${block('2')}  # end\n# end\n`,
    true,
  ],
  ['line ends of Windows', `accounts:\r\n${(block('1') + block('2')).replaceAll('\n', '\r\n')}`, true],
  ['a byte order mark', `\uFEFFaccounts:\n${block('1')}`, true],
  ['no line end at the end', `accounts:\n${block('1')}${block('2')}`.trimEnd(), true],
  ['a dash alone in its line', `accounts:\n  -\n${block('1').replace('-', ' ')}${block('2')}`, true],
  [
    'lists inside',
    `accounts:\n${block('1', '    roles:\n      - a\n      - b\n    permissions:\n    - c\n')}${block('2')}`,
    true,
  ],
  ['a quoted text over two lines', `accounts:\n${block('1', '    note: "a\n      - b"\n')}${block('2')}`, true],
  [
    'a flow over lines with a comment',
    `accounts:\n  - { id: "1",\n  # c\n    username: n1, password: "${HASH}" }\n${block('2')}`,
    true,
  ],
  ['an anchor', `accounts:\n${block('1', '    team: &t a\n')}${block('2')}`, true],
  [
    'a literal block that shows items',
    `accounts:\n${block('1', '    note: |+\n      a\n\n  # c\n')}${block('2')}`,
    false,
  ],
  ['a folded block', `accounts:\n${block('1', '    note: >-\n      a\n      - b\n')}${block('2')}`, false],
  ['a mark of a document', `---\naccounts:\n${block('1')}`, false],
  ['a directive', `%YAML 1.1\n---\naccounts:\n${block('1', '    on: yes\n')}`, false],
  ['the end of a document', `accounts:\n${block('1')}...\n# rest\n`, false],
  ['a quoted key', `"accounts":\n${block('1')}`, false],
  ['a flow list', `accounts: [${flow('1').trim().slice(2)}]\n`, false],
  ['an empty list', 'accounts: []\n', false],
  ['nothing', '', false],
]

t.test('a text read in parts has the accounts of the text read whole', async t => {
  for (const [what, text, inParts] of TEXTS) {
    const reader = new AccountsReader('accounts.yaml')
    const whole = reader.readWhole(text)
    const read = await reader.read(text)
    t.same(read.entries, whole.entries, what)
    t.equal(read.hasList, whole.hasList, what)
    t.equal(read.parts !== null, inParts, what)
    if (read.parts !== null) t.equal(textOf(read.parts), text, what)
    t.same((await reader.read(text)).entries, whole.entries, `${what}, known already`)
  }
})

const FAULTY: readonly (readonly [what: string, text: string])[] = [
  ['an open quote that the next account closes', `accounts:\n${block('1', '    note: "a\n')}  - id: "x"\n`],
  ['an open flow', `accounts:\n  - { id: "1"\n${block('2')}`],
  ['an alias of another account', `accounts:\n${block('1', '    team: &t a\n')}${block('2', '    team: *t\n')}`],
  ['an item that is indented deeper', `accounts:\n${block('1')}${block('2', '', '   ')}`],
  ['an item that is indented less', `accounts:\n${block('1')}${block('2', '', ' ')}`],
  ['another key below', `accounts:\n${block('1')}users: []\n`],
  ['another key above', `users: []\naccounts:\n${block('1')}`],
  ['an id twice', `accounts:\n${block('1')}${block('1')}`],
  ['a name twice', `accounts:\n${block('1')}${block('2').replace('n2', 'N1')}`],
  ['a key twice', `accounts:\n${block('1', '    id: "2"\n')}${block('2')}`],
  ['a carriage return inside a line', `accounts:\n${block('1')}# c\r${block('2')}x\n`],
]

const faultsOf = (read: () => unknown): Promise<string> =>
  Promise.resolve()
    .then(read)
    .then(
      () => 'no fault',
      fault => fault.message,
    )

t.test('a faulty text has the faults of the text read whole', async t => {
  for (const [what, text] of FAULTY) {
    const reader = new AccountsReader('accounts.yaml')
    // The account of this text is known when the faulty one is read.
    await reader.read(`accounts:\n${block('1')}`)
    const faults = await faultsOf(() => reader.readWhole(text))
    t.not(faults, 'no fault', what)
    t.equal(await faultsOf(() => reader.read(text)), faults, what)
  }
})

/** A reader that counts how often it reads a text whole. */
class CountingReader extends AccountsReader {
  whole = 0

  override readWhole(text: string) {
    this.whole += 1
    return super.readWhole(text)
  }
}

const many = (from: number, count: number, rest = ''): string =>
  Array.from({ length: count }, (_, index) => block(`${from + index}`, rest)).join('')

t.test(
  'the faults of a few accounts are found without the sound ones, and are those of the text read whole',
  async t => {
    const rows: [what: string, faulty: string][] = [
      ['an open quote', block('a', '    note: "b\n')],
      ['an open flow', '  - { id: "a"\n'],
      ['a key twice', block('a', '    id: "b"\n')],
      ['an alias', block('a', '    team: *t\n')],
      ['a field that is no list', block('a', '    roles: x\n')],
      ['no account', '  - a\n'],
      ['a number that would be rounded', block('a', '    n: 1923456789012345679\n')],
      ['the id of one account, and the name of another', block('3').replace('n3', 'N7')],
      ['one account twice', block('7') + block('8')],
      ['faults far from each other', block('a', '    roles: x\n') + many(80, 10) + block('b', '    status: x\n')],
    ]
    for (const [what, faulty] of rows) {
      const text = `# people\naccounts:\n${many(1, 20)}${faulty}${many(40, 20)}`
      const reader = new CountingReader('accounts.yaml')
      const faults = await faultsOf(() => reader.read(text))
      t.equal(reader.whole, 0, what)
      t.equal(faults, await faultsOf(() => reader.readWhole(text)), what)
    }
  },
)

t.test('of very many faulty accounts the first hundred are reported, and that there are more', async t => {
  const text = `accounts:\n${many(1, 150, '    roles: x\n')}`
  const reader = new CountingReader('accounts.yaml')
  const faults = (await faultsOf(() => reader.read(text))).split('\n')
  const whole = (await faultsOf(() => new AccountsReader('accounts.yaml').readWhole(text))).split('\n')
  t.equal(whole.length, 150)
  // The account beside the last of them is read with it.
  t.same(faults, [...whole.slice(0, 101), 'accounts.yaml: further accounts have faults'])
  t.equal(reader.whole, 0)
})

t.test('an edit changes one account, and no byte of the others', async t => {
  for (const [what, text] of TEXTS.filter(([, text, inParts]) => inParts && (partsOf(text)?.indent.length ?? 9) <= 2)) {
    const path = join(t.testdir(), 'accounts.yaml')
    writeFileSync(path, text)
    const others = partsOf(text)!.items.slice(1)
    const { updates, close } = createFileAccounts(
      { kind: 'file', path },
      { error: () => undefined, info: () => undefined },
    )
    t.equal(await updates!.setPassword('1', { hash: OTHER_HASH, changedAt: 0, mustChange: true }), true)
    const after = partsOf(readFileSync(path, 'utf8'))!
    t.same(after.items.slice(1), others, what)
    t.equal(after.head, partsOf(text)!.head, what)
    t.match(await listAccounts(path), [
      { id: '1', mustChangePassword: true, passwordChangedAt: 0 },
      ...others.map(() => ({})),
    ])
    await close()
  }
})

/** Values that are not read as texts, or that a writer of YAML likes to write otherwise. */
const VALUES = [
  '1.10',
  '1e3',
  '1e400',
  '0x1F',
  '0o17',
  '007',
  '+1',
  '-0',
  '1_000',
  '2026-01-01T08:00:00+08:00',
  'True',
  '~',
]

t.test('an edit of an account keeps the text of what it does not edit', async t => {
  const further = VALUES.map((value, index) => `    further${index}: ${value}\n`).join('')
  for (const head of ['', '---\n', '%YAML 1.1\n---\n']) {
    const path = join(t.testdir(), 'accounts.yaml')
    writeFileSync(path, `${head}accounts:\n${block('1', further)}${block('2')}`)
    t.equal(await setPassword(path, 'n1', 'battery staple'), true)
    t.ok(readFileSync(path, 'utf8').includes(further), head)
  }
})

t.test('an edit keeps the line ends of the file, those of Windows too', async t => {
  const ofWindows = (text: string): string => text.replaceAll('\n', '\r\n')
  const commented = `# people\n\naccounts:\n${block('1', '  # in one\n')}\n# two\n${block('2')}# end\n`
  for (const text of [commented, commented.replaceAll(/^ {2}/gm, ''), `---\n${commented}`, commented.trimEnd()]) {
    const path = join(t.testdir(), 'accounts.yaml')
    for (const [ending, other] of [[text, /\r/] as const, [ofWindows(text), /(?<!\r)\n/] as const]) {
      writeFileSync(path, ending)
      const keeps = (what: string) => t.notMatch(readFileSync(path, 'utf8'), other, what)
      await addAccount(path, { username: 'n3', password: 'correct horse', roles: ['a', 'b'] })
      keeps('added')
      t.equal(await setPassword(path, 'n1', 'battery staple'), true)
      keeps('edited')
      for (const name of ['n2', 'n3', 'n1']) t.equal(await removeAccount(path, name), true)
      keeps('removed')
      t.same(await listAccounts(path), [])
    }
  }
})

t.test('the last account of a file is removed, and a list that is written whole is edited', async t => {
  const path = join(t.testdir(), 'accounts.yaml')
  writeFileSync(path, `# people\naccounts:\n${block('1')}`)
  t.equal(await removeAccount(path, 'n1'), true)
  t.match(readFileSync(path, 'utf8'), /^# people\naccounts: ?\[\]\n$|^# people\naccounts:\n {2}\[\]\n$/)
  for (const [, text] of TEXTS.filter(([, text]) => text.includes(HASH))) {
    writeFileSync(path, text)
    t.equal(await setPassword(path, 'n1', 'battery staple'), true)
    t.match(await listAccounts(path), [{ id: '1', passwordChangedAt: Number }])
  }
})

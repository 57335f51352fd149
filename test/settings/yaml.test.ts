import { join } from 'node:path'
import t from 'tap'
import { parseDocument } from 'yaml'
import { parseYamlFile, readYamlFile } from '../../src/settings/notation/yaml.ts'
import { fc } from '../support/random.ts'

const FRAGMENTS = [
  ...['a', 'b: ', 'key: value\n', '  sub: 2\n', '- ', '- b\n', '"z": ', '  ', '\n', '\n  ', '\n    ', '\r\n', '\t'],
  ...['"x"', "'y'", '"', "'", '"\\n"', '"\\q"', '"\\u00e9"', '|\n', '>\n', '- >-\n  x\n', 'a: |\n  x\n  y\n'],
  ...['[', ']', '{', '}', ', ', ' # c', '#c', '\n---\n', '...\n', 'é', '-', '<<: '],
  ...['1', '0x1F', '0777', '0o17', '1_0', '0b1', '123456789012345678901', '-0', '.5', '1e3\n', '.inf', '+1'],
  ...['null', '~', 'true', 'NO', 'yes', 'Off', '2001-01-01', '=', '*a', '&a ', '!t ', '!!str ', '@', '%', '`'],
]

// The same texts each time: in the rarest forms, such as a block of nothing but spaces, the two parsers differ.
t.test('a text that another parser can read means the same', t => {
  const text = fc.array(fc.constantFrom(...FRAGMENTS), { maxLength: 8 }).map(parts => `top: 1\n${parts.join('')}`)
  let compared = 0
  fc.assert(
    fc.property(text, text => {
      const written = parseYamlFile(text, 'f', '/')
      const document = parseDocument(text, { prettyErrors: false })
      const isReadByBoth = written.legible && [...document.errors, ...document.warnings].length === 0
      if (!isReadByBoth) return true
      compared += 1
      return JSON.stringify(written.value) === JSON.stringify(document.toJS())
    }),
    { numRuns: 2000, seed: 1 },
  )
  t.ok(compared > 50, `${compared} texts`)
  t.end()
})

const TEXT = `# A comment.
section:
  text: a
  'quoted': "b

    c"
  literal: |
    first
    second
  none:
  flow: { one: 1,
    two: [x,
      y] }
list:
- name: a
-
  name: b
- |
  text
-
`

const LINES: [path: (string | number)[], line: number][] = [
  [['section'], 2],
  [['section', 'text'], 3],
  [['section', 'quoted'], 4],
  [['section', 'literal'], 7],
  [['section', 'none'], 10],
  [['section', 'flow', 'one'], 11],
  [['section', 'flow', 'two'], 12],
  [['section', 'flow', 'two', 1], 13],
  [['list'], 14],
  [['list', 0], 15],
  [['list', 0, 'name'], 15],
  [['list', 1], 17],
  [['list', 2], 18],
]

t.test('the place of a value is the line in which it begins', t => {
  const written = parseYamlFile(TEXT, 'f', '/')
  for (const [path, line] of LINES) t.equal(written.placeOf(path).label, `f:${line}`, path.join('.'))
  t.end()
})

t.test('the place of what is not written is that of the nearest thing around it', t => {
  const written = parseYamlFile(TEXT, 'f', '/')
  for (const [path, line] of [
    [['section', 'text', 'below'], 3],
    [['section', 'absent', 'below'], 2],
    [['list', 7], 14],
    [['list', 'name'], 14],
  ] as const)
    t.equal(written.placeOf(path).label, `f:${line}`, path.join('.'))
  t.equal(written.placeOf(['absent']).label, 'f')
  t.end()
})

t.test('the last of two keys with one name counts, and both are named', t => {
  const written = parseYamlFile('a: 1\nlist:\n- b: 1\n  c: 2\n  b: 3\na: 4\n', 'f', '/')
  t.strictSame(JSON.parse(JSON.stringify(written.value)), { a: 4, list: [{ b: 3, c: 2 }] })
  t.strictSame(
    written.faults.map(({ place, message }) => `${place} ${message.split(';')[0]}`),
    ['f:5 the key b is written twice, first in line 3', 'f:6 the key a is written twice, first in line 1'],
  )
  t.end()
})

t.test('a file in another encoding than UTF-8 is not read', t => {
  const folder = t.testdir({
    'f.yaml': Buffer.from('name: caf\xe9\n', 'latin1'),
    'g.yaml': Buffer.from('name: café\n'),
  })
  t.match(readYamlFile(join(folder, 'f.yaml'), folder), {
    legible: false,
    faults: [{ place: 'f.yaml', message: 'is not UTF-8 text; save it in this encoding' }],
  })
  t.match(readYamlFile(join(folder, 'g.yaml'), folder), { legible: true, faults: [], value: { name: 'café' } })
  t.end()
})

t.test('every fault of a text is named, with its line', t => {
  const { faults, legible } = parseYamlFile('a: !x 1\nb: @c\nd: "\\q"\nb: 2\n', 'f', '/')
  t.notOk(legible)
  const said = faults.map(({ place, message }) => `${place} ${message.split(/[;,]/)[0]}`)
  t.strictSame(said.sort(), [
    'f:1 a tag',
    'f:2 a value that begins with @ or ` needs quotes',
    'f:3 an escape that YAML does not know',
    'f:4 a key that is written twice in its section',
  ])
  t.end()
})

const LIST = ['list:', '  - name: a', '    path: b', '    text: c', '  - name: d', '    path: e', '    text: f', '']
const INDENT = 'the indentation does not fit'

/** A mistake in a line, and its fault. */
const MISTAKES: readonly (readonly [what: string, line: number, written: string, fault: string])[] = [
  ['a tab', 3, '\tpath: b', '3 a tab as indentation'],
  ['a tab behind spaces', 3, '  \tpath: b', '3 a tab as indentation'],
  ['a space too few', 3, '   path: b', `3 ${INDENT}`],
  ['a space too many', 3, '     path: b', `3 ${INDENT}`],
  ['a dash too far left', 5, ' - name: d', `5 ${INDENT}`],
  ['a dash too far right', 5, '   - name: d', `5 ${INDENT}`],
  ['no dash', 5, '  name: d', `5 ${INDENT}`],
  ['no space behind a colon', 3, '    path:b', '3 the colon behind a key'],
  ['no colon', 1, 'list', '1 the colon behind a key'],
  ['an open quote', 3, '    path: "b', '4 a quote'],
  ['an open bracket', 3, '    path: [b', `4 ${INDENT}`],
  ['a bracket too many', 3, '    path: [b]]', '3 invalid YAML'],
  ['no comma', 3, '    path: { a: b c: d }', '3 a comma is missing'],
  ['a colon in a value', 3, '    path: b: c', '3 a second ": " on one line'],
]

t.test('one mistake is one fault, whatever the lines below it seem to be', t => {
  for (const [what, line, written, fault] of MISTAKES) {
    const { faults } = parseYamlFile(LIST.with(line - 1, written).join('\n'), 'f', '/')
    t.same(
      faults.map(({ place, message }) => `${place} ${message.split(/[;,]/)[0]}`),
      [`f:${fault}`],
      what,
    )
  }
  t.end()
})

t.test('each tab is named, and each faulty value above the first of them', t => {
  const text = LIST.with(1, '  - name: @a').with(2, '\tpath: b').with(5, '\tpath: @e').join('\n')
  const { faults } = parseYamlFile(text, 'f', '/')
  t.match(
    faults.map(({ place }) => place),
    ['f:2', 'f:3', 'f:6'],
  )
  t.end()
})

t.test('YAML that is not read is named as such', t => {
  const deep = `a: 1\nb:\n  ${'['.repeat(101)}${']'.repeat(101)}\n`
  for (const [text, place] of [
    ['a: 1\n? [b]\n: 2\n', 'f'],
    [deep, 'f:3'],
  ] as const)
    t.match(parseYamlFile(text, 'f', '/'), {
      legible: false,
      faults: [{ place, message: /^YAML that is not read here: a key is a text, and values are nested 100/ }],
    })
  t.end()
})

t.test('a section has no prototype, and __proto__ is a key like any other', t => {
  const { value } = parseYamlFile('__proto__: { polluted: true }\n', 'f', '/') as { value: object }
  t.equal(Object.getPrototypeOf(value), null)
  t.strictSame(Object.keys(value), ['__proto__'])
  t.equal(({} as Record<string, unknown>).polluted, undefined)
  t.end()
})

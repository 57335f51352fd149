import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { parse } from 'yaml'
import { readConfiguration } from '../../src/settings/load.ts'
import { branchesOf, type Schema } from '../../src/settings/notation/read.ts'
import { editorSchema } from '../../src/settings/schema/editor.ts'
import { SettingsSchema } from '../../src/settings/schema/settings.ts'
import { UpstreamSchema } from '../../src/settings/schema/upstreams.ts'
import { blocksOf, GUIDE } from '../support/documents.ts'
import { ROOT } from '../support/root.ts'
import { folderWith, settingsOf } from './folder.ts'

const CONFIG = join(ROOT, 'config')
const textOf = (file: string): string => readFileSync(join(CONFIG, file), 'utf8')

/** What is commented out has its `#` right before the key; prose has a space behind it. */
const uncomment = (text: string): string => text.replace(/^( *)#(?=[a-z_]+:)/gm, '$1')

t.test('the shipped configuration loads', async t => {
  const { settings } = readConfiguration('gateway.yaml', {}, CONFIG)
  t.match(settings.upstreams, [{ name: 'echo', match: '/api/v1', target: 'builtin:echo' }])
})

t.test('the shipped configuration has the same meaning as an empty one', async t => {
  const files = Object.fromEntries(
    readdirSync(CONFIG)
      .filter(file => !['gateway.yaml', 'accounts.yaml', 'examples'].includes(file))
      .map(file => [file, textOf(file)]),
  )
  const strip = (settings: object, folder: string) =>
    JSON.parse(JSON.stringify(settings).replaceAll(folder, ''), (key, value) =>
      /secret|private_key/.test(key) ? null : value,
    )
  const folders = [
    folderWith(t, { ...files, 'gateway.yaml': textOf('gateway.yaml') }),
    folderWith(t, { ...files, 'gateway.yaml': '' }),
  ]
  const [shipped, empty] = folders.map(folder => strip(readConfiguration('gateway.yaml', {}, folder).settings, folder))
  t.same(shipped, empty)
})

t.test('every file in config/ is read by the gateway, by editors or by people, or is an example', async t => {
  const read = ['gateway.yaml', 'upstreams.yaml', 'permissions.yaml', 'accounts.yaml', 'consumers.yaml']
  // `examples` has guides and configurations of other programs.
  const known = [...read, 'gateway.schema.json', 'examples', 'README.md', 'README.zh-CN.md']
  t.same(
    readdirSync(CONFIG).filter(file => !known.includes(file)),
    [],
  )
})

t.test('gateway.yaml has every key of the schema with its default, and no other', async t => {
  const text = uncomment(textOf('gateway.yaml'))
  const written = parse(text) as Record<string, unknown>

  const compare = (schema: Schema, value: unknown, path: string): void => {
    const sections = branchesOf(schema).filter(({ type }) => type === 'object')
    const isSection = typeof value === 'object' && value !== null && !Array.isArray(value)
    if (sections.length === 0 || !isSection) {
      if (schema.default !== undefined) t.same(readAs(value), readAs(schema.default), `${path} has its default`)
      for (const section of sections) {
        for (const key of Object.keys(section.properties ?? {}))
          t.match(text, new RegExp(`\\b${key}\\b`), `${path}.${key} is explained`)
      }
      return
    }
    const properties = sections[0]!.properties ?? {}
    for (const key of Object.keys(value)) t.ok(Object.hasOwn(properties, key), `${path}.${key} is in the schema`)
    for (const [key, inner] of Object.entries(properties)) {
      t.ok(Object.hasOwn(value, key), `${path}.${key} is in the file`)
      compare(inner, (value as Record<string, unknown>)[key], `${path}.${key}`)
    }
  }
  compare(SettingsSchema, written, '')
})

/** Switches are written on and off, and are true and false in the schema. */
const readAs = (value: unknown): unknown => (value === 'on' ? true : value === 'off' ? false : value)

t.test('every key of an upstream is explained in upstreams.yaml, and the example there loads', async t => {
  const text = textOf('upstreams.yaml')
  for (const key of Object.keys(UpstreamSchema.properties)) t.match(text, new RegExp(`\\b${key}:`), key)
  const [full, examples] = text.split('# Examples:')
  const list = (part: string): string => (part.match(/^# {2}.*$/gm) ?? []).map(line => line.slice(1)).join('\n')
  // Only one of the two, and no files of certificates.
  const complete = list(full!)
    .replace(/^.*targets: .*\n/m, '')
    .replace(/^ {4}tls:.*\n(?: {6}.*\n)+/m, '')
  for (const part of [complete, list(examples!)]) {
    t.not(settingsOf(t, '', {}, { 'upstreams.yaml': `upstreams:\n${part}\n` }).upstreams.length, 0)
  }
})

t.test('the commented-out settings of gateway.yaml are valid', async t => {
  const text = uncomment(textOf('gateway.yaml'))
    .replace('profile: 1', 'profile: 2')
    .replace(/^ *(secret|secret_key|private_key|key|password): …\n/gm, '')
    .replace(/^ *(sentinels|name|cluster|username|tls): .*\n/gm, '')
  t.doesNotThrow(() => settingsOf(t, text, {}, { 'logo.svg': '<svg xmlns="http://www.w3.org/2000/svg" />' }))
  const cors = textOf('gateway.yaml')
    .match(/^# {3}cors:\n(?:# {5}.*\n)+/m)?.[0]
    .replace(/^# {3}/gm, '')
  t.match(settingsOf(t, cors ?? '').cors, { origin: ['https://admin.example'], maxAge: 600 })
  const providers = textOf('gateway.yaml')
    .match(/^ {2}# {3}providers:\n(?: {2}# {5}.*\n)+/m)?.[0]
    .replace(/^ {2}# /gm, '')
  const browser = 'browser: { business: on, url: "https://admin.example.com" }\n'
  const secret = { LOGIN__PROVIDERS__0__CLIENT_SECRET: 'x' }
  t.match(settingsOf(t, `${browser}login:\n${providers}`, secret).login.providers, [{ name: 'staff' }])
})

t.test('the schema for editors is that of this version, and the shipped file is valid by it', async t => {
  const schema = editorSchema()
  t.same(
    JSON.parse(textOf('gateway.schema.json')),
    schema,
    'dualgate check --print-schema > config/gateway.schema.json',
  )
  const isValid = new Ajv2020({ strict: false }).compile(schema)
  for (const text of [textOf('gateway.yaml'), '{}']) t.ok(isValid(parse(text)), 'valid')
  for (const wrong of ['listen: { port: x }', 'lisen: {}', 'listen: { timeouts: { body: 30 } }']) {
    t.notOk(isValid(parse(wrong)), wrong)
  }
})

t.test('the examples of the guide are valid settings', async t => {
  const isValid = new Ajv2020({ strict: false }).compile(editorSchema())
  const examples = blocksOf(GUIDE).filter(({ language }) => language === 'yaml')
  for (const { heading, text } of examples) {
    const settings = text.startsWith('# config/upstreams.yaml\n') ? `upstreams:\n${text}` : text
    t.ok(isValid(parse(settings)), heading)
  }
  t.ok(examples.length >= 3)
})

t.test('the accounts example of the guide to a move is valid', async t => {
  const [, accounts] = /```yaml\n(.*?)```/s.exec(textOf('examples/README.md'))!
  const settings = settingsOf(t, `permissions: { source: accounts }\n${accounts}`, {
    ACCOUNTS__URL: 'mysql://gateway:secret@127.0.0.1:3306/shop',
  })
  t.match(settings.accounts, { kind: 'sql', query: /:username$/, rights_query: /:id$/ })
})

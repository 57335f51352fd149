import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { SettingsSchema } from '../src/config/schema/settings.ts'
import { branchesOf } from '../src/yaml/read.ts'
import { run, shippedFolder } from './support/command-line.ts'
import { ROOT } from './support/root.ts'

/* What documents, configuration and containers say of commands, options, settings and variables, exists. */

const filesIn = (folder: string, ending: RegExp): string[] =>
  readdirSync(resolve(ROOT, folder))
    .filter(file => ending.test(file) && !/^(accounts|consumers)\.yaml$/.test(file))
    .map(file => `${folder}/${file}`)
const FILES = [
  ...['README.md', 'Dockerfile', 'docker-compose.yml', '.github/workflows/ci.yml', 'bench/README.md'],
  ...filesIn('.github', /\.md$/),
  ...filesIn('config', /\.(yaml|service)$/),
]
const textOf = (file: string): string => readFileSync(resolve(ROOT, file), 'utf8')

/** What is between backticks, once or three times. */
const codeIn = (text: string): string[] =>
  [...text.matchAll(/```\w*\n([\s\S]*?)```|`([^`\n]+)`/g)].map(m => m[1] ?? m[2]!)

/** What stands there to be run: code in documents, everything elsewhere but the prose of comments. */
function commandTexts(file: string): string[] {
  const text = textOf(file)
  if (file.endsWith('.md')) return codeIn(text)
  return [...codeIn(text), text.replace(/^# ?\S.*$/gm, '').replace(/^# {2,}/gm, '')]
}

interface Mention {
  file: string
  command: string
  rest: string
}

/** `dualgate`, by whatever name it is started, and a word behind it; `npm run bench` and the like have no such name. */
const MENTION = /(?<![\w/.-])(?:dualgate|node (?:\/opt\/dualgate\/)?dist\/main\.js) ([a-z]+)\b([^\n`)]*)/g

const MENTIONS: Mention[] = FILES.flatMap(file =>
  commandTexts(file).flatMap(text =>
    [...text.matchAll(MENTION)].map(([, command, rest]) => ({ file, command: command!, rest: rest! })),
  ),
)

t.test('every command that is mentioned exists, with its words and options', async t => {
  const folder = shippedFolder(t)
  t.ok(MENTIONS.length > 20)
  for (const { file, command, rest } of MENTIONS) {
    const { code, output } = await run(folder, [command, '--help'])
    if (!t.equal(code, 0, `${file}: dualgate ${command}`)) continue
    for (const [option] of rest.matchAll(/--[a-z-]+/g))
      t.ok(option === '--help' || output.includes(`  ${option}`), `${file}: dualgate ${command} ${option}`)
    const [verb] = /(?<=^ )[a-z0-9]+(?= |$)/.exec(rest) ?? []
    const [usage] = /(?<=^Usage: ).*$/m.exec(output)!
    if (verb !== undefined) t.match(usage, new RegExp(`\\b${verb}\\b`), `${file}: dualgate ${command} ${verb}`)
  }
})

t.test('the README has every command that there is', async t => {
  const { output } = await run(shippedFolder(t), ['--help'])
  const commands = [...output.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name!).filter(name => name !== 'dualgate')
  t.ok(commands.length >= 7)
  for (const readme of ['README.md', '.github/README.zh-CN.md']) {
    const named = MENTIONS.filter(({ file }) => file === readme).map(({ command }) => command)
    for (const command of commands) t.ok(named.includes(command), `${readme}: dualgate ${command}`)
  }
})

type Schema = Parameters<typeof branchesOf>[0]

/** Whether a setting is in the schema; what is below a list is not checked. */
function exists(path: string[], schema: Schema = SettingsSchema as unknown as Schema): boolean {
  const [name, ...below] = path
  if (name === undefined) return true
  const inner = branchesOf(schema).flatMap(({ properties = {} }) =>
    Object.hasOwn(properties, name) ? [properties[name]!] : [],
  )
  return inner.some(found => exists(below, found))
}

/** Fields of bodies, records, spans and of the object in a program; settings have no such first part. */
const isField = (name: string): boolean => /^(data|extra|url|gateway)\./.test(name)
const isFile = (name: string): boolean => /\.(md|json|yaml|yml|ts|js|sh|key|ca)$/.test(name)

t.test('every setting that is mentioned by its path exists', async t => {
  let looked = 0
  for (const file of FILES) {
    for (const code of codeIn(textOf(file))) {
      const [, name] = /^([a-z_]+(?:\.[a-z_]+)+)(?:: .*)?$/.exec(code) ?? []
      if (name === undefined || isField(name) || isFile(name)) continue
      looked++
      t.ok(exists(name.split('.')), `${file}: ${name}`)
    }
  }
  t.ok(looked > 15)
})

t.test('every variable that is mentioned sets something', async t => {
  let looked = 0
  for (const file of FILES) {
    for (const [name] of textOf(file).matchAll(/\b[A-Z][A-Z0-9_]*?__[A-Z0-9_]+\b/g)) {
      looked++
      t.ok(exists(name.toLowerCase().split('__')), `${file}: ${name}`)
    }
  }
  t.ok(looked > 20)
})

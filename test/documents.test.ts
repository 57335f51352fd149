import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import t from 'tap'
import { composeFile } from '../src/cli/compose-file.ts'
import { branchesOf } from '../src/settings/notation/read.ts'
import { SettingsSchema } from '../src/settings/schema/settings.ts'
import { run, shippedFolder } from './support/command-line.ts'
import { anchorOf, blocksOf, DOCUMENTS, documentText, GUIDE, proseOf, README } from './support/documents.ts'
import { ROOT } from './support/root.ts'

/* What documents, configuration and containers say of commands, options, settings and variables, exists. */

const filesIn = (folder: string, ending: RegExp): string[] =>
  readdirSync(resolve(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(file => ending.test(file) && !/^(accounts|consumers)\.yaml$/.test(file))
    .map(file => `${folder}/${file}`)
const FILES = [
  ...DOCUMENTS.filter(file => file !== 'src/README.md'),
  ...['Dockerfile', 'docker-compose.yml'],
  ...filesIn('.github', /\.yml$/),
  ...filesIn('config', /\.(yaml|service|conf|Caddyfile)$/),
]
const textOf = documentText

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
const MENTION = /(?<![\w/.-])(?:dualgate|node (?:\/opt\/dualgate\/)?dist\/main\.js) ([a-z]+(?:-[a-z]+)*)\b([^\n`)]*)/g

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
    // Where a name comes first, any word may stand.
    if (verb !== undefined && !/^dualgate \S+ [A-Z]+\b/.test(usage!))
      t.match(usage, new RegExp(`\\b${verb}\\b`), `${file}: dualgate ${command} ${verb}`)
  }
})

t.test('the guide has every command that there is', async t => {
  const { output } = await run(shippedFolder(t), ['--help'])
  const commands = [...output.matchAll(/^ {2}([a-z-]+) /gm)]
    .map(([, name]) => name!)
    .filter(name => name !== 'dualgate')
  t.ok(commands.length >= 7)
  for (const readme of [GUIDE, 'config/README.zh-CN.md']) {
    const named = MENTIONS.filter(({ file }) => file === readme).map(({ command }) => command)
    for (const command of commands) t.ok(named.includes(command), `${readme}: dualgate ${command}`)
  }
})

type Schema = Parameters<typeof branchesOf>[0]

/** Whether a setting is in the schema; a number is the position of an entry in a list. */
function exists(path: string[], schema: Schema = SettingsSchema as unknown as Schema): boolean {
  const [name, ...below] = path
  if (name === undefined) return true
  const inner = branchesOf(schema).flatMap(({ properties = {}, items }) => {
    if (Object.hasOwn(properties, name)) return [properties[name]!]
    return items !== undefined && /^\d+$/.test(name) ? [items] : []
  })
  return inner.some(found => exists(below, found))
}

/** Fields of bodies, records, responses, spans and of the object in a program; settings have no such first part. */
const isField = (name: string): boolean => /^(data|extra|url|gateway|response)\./.test(name)
const isFile = (name: string): boolean => /\.(md|json|yaml|yml|ts|js|mjs|py|go|sh|key|ca|service|env)$/.test(name)

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

/** Settings of the services that the gateway can replace. */
const isForeign = (name: string): boolean => /^(?:APP|DB|REDIS|SM2)__/.test(name)

t.test('every variable that is mentioned sets something', async t => {
  let looked = 0
  for (const file of FILES) {
    for (const [name] of textOf(file).matchAll(/\b[A-Z][A-Z0-9_]*?__[A-Z0-9_]+\b/g)) {
      if (isForeign(name)) continue
      looked++
      t.ok(exists(name.toLowerCase().split('__')), `${file}: ${name}`)
    }
  }
  t.ok(looked > 20)
})

/** The sentences that a person reads one after another: paragraphs and lists, neither tables nor headings. */
function sentencesOf(file: string): string[] {
  const lines = proseOf(file)
    .split('\n')
    .filter(line => !/^(?:#|\||\[\^|!\[)/.test(line))
    .map(line => line.replace(/^\s*(?:[-*]|\d+\.) /, '\n'))
  return lines
    .join('\n')
    .split(/\n\s*\n|(?<=[.!?](?:\*\*)?)\s/)
    .map(sentence => sentence.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').trim())
    .filter(sentence => /\p{L}/u.test(sentence))
}

const wordsIn = (sentence: string): number => sentence.split(/\s+/).length

t.test(
  'the README fits in 200 lines, and the sentences of guide and examples have 15 words on average at most',
  async t => {
    t.ok(documentText(README).split('\n').length <= 201)
    const examples = DOCUMENTS.filter(file => /^config\/examples\/.+\/README\.md$/.test(file))
    t.ok(examples.length >= 8)
    for (const file of [README, GUIDE, ...examples]) {
      const sentences = sentencesOf(file)
      t.ok(sentences.length > (examples.includes(file) ? 2 : 20))
      const mean = sentences.reduce((sum, sentence) => sum + wordsIn(sentence), 0) / sentences.length
      t.ok(mean <= 15, `${file}: ${mean.toFixed(1)} words`)
    }
  },
)

t.test('every link of a document leads to a file and a heading that exist', async t => {
  let looked = 0
  for (const file of DOCUMENTS) {
    for (const [, target] of proseOf(file).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target!)) continue
      looked++
      const [path, anchor] = target!.split('#')
      const place = path === '' ? file : join(dirname(file), path!)
      if (!t.ok(existsSync(resolve(ROOT, place)), `${file}: ${target}`) || anchor === undefined) continue
      const headings = [...proseOf(place).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading!))
      t.ok(headings.includes(anchor), `${file}: ${target}`)
    }
  }
  t.ok(looked > 40)
})

/** What both READMEs must share: the sections in their order, and what is in each. */
function outlineOf(file: string): object[] {
  const parts = documentText(file).split(/^(?=#{1,6} )/m)
  let isBlock = false
  const sections = parts.reduce<string[]>((all, part) => {
    // A comment in a block of commands is no heading.
    if (isBlock) all.push(all.pop() + part)
    else all.push(part)
    isBlock = all.at(-1)!.split(/^```/m).length % 2 === 0
    return all
  }, [])
  return sections.map(text => ({
    level: /^#*/.exec(text)![0].length,
    blocks: [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language, code]) =>
      language === '' ? code!.split('\n').length : [language, code!.replace(/^# .*[.。]$/gm, '')],
    ),
    rows: text.match(/^\|/gm)?.length,
    bullets: text.match(/^- /gm)?.length,
    notes: text.match(/\[\^\w+\]/g),
  }))
}

t.test('the Chinese README has the sections, commands, rows, bullets and footnotes of the English one', async t => {
  const [english, chinese] = [README, '.github/README.zh-CN.md'].map(outlineOf)
  t.equal(english!.length, 6)
  t.same(chinese, english)
})

/** Commands that read the package from a registry, and images of ours that no step of a document builds. */
const PUBLISHED = /\bnpm (?:install|i|exec)(?: -\S+)* dualgate\b|\bnpx dualgate@|\bdocker (?:pull|run)\b.* dualgate\b/

t.test('no command of a document needs anything published, and what would says so', async t => {
  let looked = 0
  for (const file of FILES) {
    const paragraphs = file.endsWith('.md') ? proseOf(file).split(/\n\s*\n/) : []
    for (const paragraph of paragraphs.filter(text => PUBLISHED.test(text))) {
      looked++
      t.match(paragraph, /\bonce the package is published\b|发布之后/i, file)
    }
    const blocks = file.endsWith('.md') ? blocksOf(file).map(({ text }) => text) : [textOf(file)]
    for (const text of blocks) t.notMatch(text, PUBLISHED, file)
  }
  t.ok(looked >= 2)
  t.notMatch(composeFile('1.0.0'), PUBLISHED)
})

t.test('the documents name the package by its version', async t => {
  const { version } = JSON.parse(textOf('package.json'))
  const named = DOCUMENTS.flatMap(file => [...documentText(file).matchAll(/\bdualgate[-:](\d\S*?)(?:\.tgz\b|[`\s])/g)])
  t.ok(named.length >= 3)
  for (const [text, found] of named) t.equal(found, version, text)
})

t.test('the guide lists each of its tasks at the top, in their order', async t => {
  const [index, tasks] = proseOf(GUIDE).split(/^## Set it up$/m)
  const listed = [...index!.matchAll(/\[([^\]]+)\]\(#/g)].map(([, task]) => task)
  t.same(
    listed,
    [...tasks!.matchAll(/^### (.+)$/gm)].map(([, task]) => task),
  )
})

t.test('every footnote is named in the text, and every mark has its footnote', async t => {
  const text = documentText(README)
  const noted = [...text.matchAll(/^\[\^(\w+)\]: <https:\/\/\S+>$/gm)].map(([, name]) => name!)
  const marks = new Set([...text.matchAll(/\[\^(\w+)\](?!:)/g)].map(([, name]) => name!))
  t.same(noted.sort(), [...marks].sort())
})

t.test('the picture in the README is small', async t => {
  t.ok(statSync(resolve(ROOT, '.github/console.png')).size <= 150 * 1024)
})

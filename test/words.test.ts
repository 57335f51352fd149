import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from './support/root.ts'

/*
 * The words of the project (CONTRIBUTING, "Plain English"): some words made texts hard to understand, and have a standard
 * term instead. Data in tests may contain them; names of tests may not.
 */

/** Each word with its standard term. */
const WORDS: readonly (readonly [word: RegExp, instead: string])[] = [
  [/\bbarred\b/i, 'disabled'],
  [/\bpopulations?\b/i, 'online users'],
  [/\bcallers?\b/i, 'client'],
  [/\b(?:nobody|somebody)\b/i, 'no client, a client, authorized users'],
  [/\b(?:is|are) told\b/i, 'is notified, receives'],
  [/\bhears\b/i, 'is notified, receives'],
  [/\blooked at\b/i, 'checked'],
  [/\basked for\b/i, 'requested'],
  [/\bwho (?:asks|may)\b/i, 'authorized users'],
  [/\b(?:is|are) none\b/i, 'is invalid, is missing'],
  [/\b(?:fall|fell|falls) silent\b/i, 'sent no data within the idle limit'],
  [/\b(?:spoke|speaks) before\b/i, 'sent data before a request'],
  [/\b(?:tellers?|tellable|toldOf)\b/, 'what it does'],
]

/** Chinese that reads as translated, or has the marks of another script, with what is written instead. */
const CHINESE: readonly (readonly [word: RegExp, instead: string])[] = [
  [/不被允许/, '不允许…'],
  [/由我|被您/, 'a verb in the active voice'],
  [/\p{Script=Han}(?:[,;!?]|\.(?=\s|'|$))/u, 'a full-width mark'],
]

const TEXTS = /\.(?:ts|js|css|html|md|yaml|yml|json|service|conf|Caddyfile|mjs|py|go|java)$/

/** Every text below a folder. */
const textsIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && TEXTS.test(entry.name))
    .map(entry => join(entry.parentPath, entry.name))

/** Not the accounts that a start in this folder has created, nor the history. */
const isOurs = (file: string): boolean =>
  !/\/(?:config\/(?:accounts|consumers)\.yaml|\.github\/CHANGELOG\.md)$/.test(file)

const FILES = [
  ...['README.md', 'Dockerfile', 'docker-compose.yml'].map(file => join(ROOT, file)),
  ...['src', 'config', 'bench', '.github'].flatMap(textsIn).filter(isOurs),
]

function faultsIn(file: string, text: string, words = WORDS): string[] {
  return text.split('\n').flatMap((line, index) =>
    words.flatMap(([word, instead]) => {
      const found = word.exec(line)
      return found === null ? [] : [`${file}:${index + 1}: "${found[0]}"; write: ${instead}`]
    }),
  )
}

t.test('the texts of the project use the standard terms', async t => {
  t.ok(FILES.length > 300)
  const faults = FILES.flatMap(file => faultsIn(file.slice(ROOT.length + 1), readFileSync(file, 'utf8')))
  t.same(faults, [])
})

t.test('the Chinese texts are written as Chinese', async t => {
  const faults = FILES.flatMap(file => faultsIn(file.slice(ROOT.length + 1), readFileSync(file, 'utf8'), CHINESE))
  t.same(faults, [])
})

/** The names of tests, whatever the function is called that takes them. */
const NAMES = /\btest\(\s*(?:'((?:[^'\\]|\\.)*)'|`([^`]*)`|"([^"]*)")/g

t.test('the names of the tests use the standard terms', async t => {
  const files = textsIn('test').filter(file => file.endsWith('.ts'))
  const names = files.flatMap(file =>
    [...readFileSync(file, 'utf8').matchAll(NAMES)].map(([, a, b, c]) => [file.slice(ROOT.length + 1), a ?? b ?? c!]),
  )
  t.ok(names.length > 900)
  t.same(
    names.flatMap(([file, name]) => faultsIn(file!, name!)),
    [],
  )
})

import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { ROOT } from './root.ts'

/* The documents of the project, cut into what tests check. */

/** The guide, and the page before it: each of their commands is run by a test, or a test says why not. */
export const README = 'README.md'
export const GUIDE = 'config/README.md'

export const documentText = (file: string): string => readFileSync(resolve(ROOT, file), 'utf8')

/** Every document of the folders that people read. */
export const DOCUMENTS: readonly string[] = [
  README,
  'bench/README.md',
  'src/README.md',
  ...['.github', 'config'].flatMap(folder =>
    readdirSync(resolve(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.md'))
      .sort()
      .map(file => `${folder}/${file}`),
  ),
]

export interface Block {
  file: string
  /** The nearest heading above. */
  heading: string
  language: string
  text: string
}

/** The fenced blocks of a document, in its order. */
export function blocksOf(file: string): Block[] {
  let heading = ''
  return [...documentText(file).matchAll(/^#{1,6} (.+)$|^```(\w*)\n([\s\S]*?)^```$/gm)].flatMap(
    ([, title, language, text]) => {
      if (title !== undefined) heading = title
      return text === undefined ? [] : [{ file, heading, language: language!, text }]
    },
  )
}

/** A document without its blocks. */
export const proseOf = (file: string): string => documentText(file).replace(/^```[\s\S]*?^```$/gm, '')

/** The prose between a heading and the next one. */
export function sectionOf(file: string, heading: string): string {
  const sections = proseOf(file).split(/^#+ /m)
  return sections.find(section => section.startsWith(`${heading}\n`))!
}

/** The name by which a link reaches a heading, as GitHub makes it. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

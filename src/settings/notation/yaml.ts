import { dirname, relative } from 'node:path'
import { YAMLException } from 'js-yaml'
import { readSource, unreadableText } from '../files-read.ts'
import { ConfigurationError } from './fault.ts'
import { NOT_UTF8, utf8Text } from './utf8.ts'
import { emptySection, isSection, Written } from './written.ts'
import { YamlDocument } from './yaml-document.ts'
import { faultsOfYaml } from './yaml-faults.ts'

const NO_KEYS = 'must consist of keys and their values; a list stands below its key'
const ALIAS = 'an alias; a value that begins with * needs quotes, and each value is written where it belongs'

/** Reads a YAML file. A file that cannot be read is a fault in the result; `null` when there is no such file. */
export function readYamlFile(file: string, cwd: string): Written | null {
  const label = labelOf(file, cwd)
  const folder = dirname(file)
  try {
    return parseYamlFile(decode(readSource(file), label), label, folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    const unreadable = new Written(emptySection(), { label, folder })
    unreadable.legible = false
    unreadable.report([], error instanceof ConfigurationError ? NOT_UTF8 : unreadableText(error))
    return unreadable
  }
}

/** The text of a file. Throws `ConfigurationError` if it is in another encoding than UTF-8. */
export function decode(bytes: Buffer, label: string): string {
  const text = utf8Text(bytes)
  if (text === null) throw new ConfigurationError([{ place: label, message: NOT_UTF8 }])
  return text
}

/** A file as operators see it: from the working directory when it is below it. */
export function labelOf(file: string, cwd: string): string {
  const short = relative(cwd, file)
  return short === '' || short.startsWith('..') ? file : short
}

/** Reads the text of a file, which has keys at its top: its value, with places and faults. */
export function parseYamlFile(text: string, label: string, folder: string): Written {
  const written = parseYaml(text, label, folder)
  if (!isSection(written.value)) {
    written.report([], NO_KEYS)
    written.legible = false
  }
  return written
}

function parseYaml(text: string, label: string, folder: string): Written {
  const source = text.replace(/^\uFEFF/, '')
  try {
    return writtenIn(new YamlDocument(source), label, folder)
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error
    const illegible = new Written(emptySection(), { label, folder })
    illegible.legible = false
    for (const { line, message } of faultsOfYaml(source, error))
      illegible.faults.push({ place: line === null ? label : `${label}:${line}`, message, path: [] })
    return illegible
  }
}

function writtenIn(document: YamlDocument, label: string, folder: string): Written {
  const lineAt = (offset: number): string => `${label}:${document.lineAt(offset)}`
  const written = new Written(document.value, { label, folder }, path => {
    const { offset, depth } = document.positionOf(path)
    return { place: { label: offset === null ? label : lineAt(offset), folder }, depth }
  })
  written.altered = () => document.altered()
  for (const { name, first, second } of document.duplicates) {
    const message = `the key ${name} is written twice, first in line ${document.lineAt(first)}; join both, or remove one`
    written.faults.push({ place: lineAt(second), message, path: [] })
  }
  for (const path of document.aliases) {
    written.report(path, ALIAS)
    written.legible = false
  }
  return written
}

/** A value as it is written in one line; `undefined` for invalid YAML. */
export function parseFlow(text: string): unknown {
  const { faults, value } = parseYaml(text, '', '')
  return faults.length > 0 ? undefined : value
}

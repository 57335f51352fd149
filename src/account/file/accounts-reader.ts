import { setImmediate as pause } from 'node:timers/promises'
import { ConfigurationError } from '../../settings/notation/fault.ts'
import { parseAccounts, type Repetition, repetitionsIn } from './document.ts'
import { knownOf } from './known-account.ts'
import type { AccountEntry } from './schema.ts'
import { LIST, type Parts, partsOf, textWithOnly } from './text-parts.ts'

/** The content of an accounts file. */
export interface AccountsText {
  entries: readonly AccountEntry[]
  /** `false` for a file without a list of accounts, such as an empty one. */
  hasList: boolean
  /** The parts of the text, one item for each entry; `null` for a text that is read and written whole. */
  parts: Parts | null
}

/** Entries that are read without a pause: some milliseconds. */
const AT_ONCE = 16
/** Accounts whose faults are reported one by one. The work of finding their places must not grow with the file. */
const MAX_FAULTY = 100

/**
 * Reads the texts of one file. An account that stands in the next text as it stood in the last is not parsed again, and
 * what is new is parsed with pauses: 10 000 accounts take more than a second, in which a worker answers requests. Nor
 * are the sound accounts of a faulty text, of which the same would take seconds at a stretch.
 */
export class AccountsReader {
  readonly #path: string
  /** The entries of the last text, by their parts. */
  #known = new Map<string, AccountEntry>()

  constructor(path: string) {
    this.#path = path
  }

  /** Throws one `ConfigurationError` with the faults of the text: of a text in parts, those of the first `MAX_FAULTY` accounts. */
  async read(text: string): Promise<AccountsText> {
    return (await this.#readParts(text)) ?? this.readWhole(text)
  }

  readWhole(text: string): AccountsText {
    const { entries, hasList } = parseAccounts(text, this.#path)
    return { entries, hasList, parts: null }
  }

  /** `null` for a text in another form, which may be sound. */
  async #readParts(text: string): Promise<AccountsText | null> {
    const parts = partsOf(text)
    if (parts === null || entriesOf(`${parts.head}${parts.tail}`) === null) return null
    const read = await this.#readItems(parts.items)
    const repetitions = repetitionsIn(read)
    const repeated = new Set(repetitions.map(([index]) => index))
    const faulty = [...read.keys()].filter(index => read[index] === null || repeated.has(index))
    if (faulty.length > 0) {
      this.#throwFaults(parts, faulty, repetitions)
      return null
    }
    const entries = read as AccountEntry[]
    this.#known = new Map(parts.items.map((item, index) => [item, entries[index]!]))
    return { entries, hasList: true, parts }
  }

  /**
   * The entries of the items; `null` for each that has faults when it is read alone. Ends behind the faulty ones that are
   * reported: a corrected file waits until this one is read.
   */
  async #readItems(items: readonly string[]): Promise<(AccountEntry | null)[]> {
    const read = items.map(item => this.#known.get(item) ?? null)
    const fresh = [...read.keys()].filter(index => read[index] === null)
    let faulty = 0
    for (let from = 0; from < fresh.length; from += AT_ONCE) {
      if (from > 0) await pause()
      const some = fresh.slice(from, from + AT_ONCE)
      const entries = entriesIn(some.map(index => items[index]!))
      for (const [at, index] of some.entries()) read[index] = entries[at]!
      faulty += entries.filter(entry => entry === null).length
      if (faulty > MAX_FAULTY) return read.slice(0, some.at(-1)! + 1)
    }
    return read
  }

  /**
   * Throws the faults of a text, which is read without its sound accounts. Those beside a faulty one are left in it: an open
   * quote ends there. What has no fault that way is not as it seemed.
   */
  #throwFaults(parts: Parts, faulty: readonly number[], repetitions: readonly Repetition[]): void {
    const first = new Set(faulty.slice(0, MAX_FAULTY))
    const beside = [...first].flatMap(index => [index - 1, index, index + 1])
    const repeated = repetitions.filter(([index]) => first.has(index)).map(([, earlier]) => earlier)
    const kept = new Set([...beside, ...repeated].filter(index => index in parts.items).sort((a, b) => a - b))
    const hasMore = faulty.some(index => !kept.has(index))
    try {
      parseAccounts(textWithOnly(parts, kept), this.#path, [...kept])
    } catch (error) {
      if (!(error instanceof ConfigurationError) || !hasMore) throw error
      throw new ConfigurationError([...error.faults, { place: this.#path, message: 'further accounts have faults' }])
    }
  }
}

/** The entries of items; `null` for each that has faults. Sound ones are read together, in half of the time. */
function entriesIn(items: readonly string[]): (AccountEntry | null)[] {
  const together = entriesOf(LIST + items.join(''))
  const entries = together?.length === items.length ? together : items.map(entryIn)
  for (const entry of entries) if (entry !== null) knownOf(entry)
  return entries
}

function entryIn(item: string): AccountEntry | null {
  const [entry, ...others] = entriesOf(LIST + item) ?? []
  return entry === undefined || others.length > 0 ? null : entry
}

/** The entries of a text; `null` if it has faults. */
function entriesOf(text: string): AccountEntry[] | null {
  try {
    return parseAccounts(text, '').entries
  } catch {
    return null
  }
}

import { setImmediate as pause } from 'node:timers/promises'
import { hasRepetitions, parseAccounts } from './document.ts'
import { knownOf } from './known-account.ts'
import type { AccountEntry } from './schema.ts'
import { type Parts, partsOf } from './text-parts.ts'

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

/**
 * Reads the texts of one file. An account that stands in the next text as it stood in the last is not parsed again, and
 * what is new is parsed with pauses: 10 000 accounts take more than a second, in which a worker answers requests.
 */
export class AccountsReader {
  readonly #path: string
  /** The entries of the last text, by their parts. */
  #known = new Map<string, AccountEntry>()

  constructor(path: string) {
    this.#path = path
  }

  /** Throws one `ConfigurationError` with all faults of the text. */
  async read(text: string): Promise<AccountsText> {
    return (await this.#readParts(text)) ?? this.readWhole(text)
  }

  readWhole(text: string): AccountsText {
    const { entries, hasList } = parseAccounts(text, this.#path)
    return { entries, hasList, parts: null }
  }

  /** `null` for a text in another form, or with faults: these are reported with their places in the whole. */
  async #readParts(text: string): Promise<AccountsText | null> {
    const parts = partsOf(text)
    if (parts === null || entriesOf(`${parts.head}${parts.tail}`) === null) return null
    const known = new Map<string, AccountEntry>()
    let parsed = 0
    for (const item of parts.items) {
      let entry = this.#known.get(item)
      if (entry === undefined) {
        const [first, ...others] = entriesOf(`accounts:\n${item}`) ?? []
        if (first === undefined || others.length > 0) return null
        entry = first
        knownOf(entry)
        parsed += 1
        if (parsed % AT_ONCE === 0) await pause()
      }
      known.set(item, entry)
    }
    const entries = [...known.values()]
    if (entries.length < parts.items.length || hasRepetitions(entries)) return null
    this.#known = known
    return { entries, hasList: true, parts }
  }
}

/** The entries of a text; `null` if it has faults. */
function entriesOf(text: string): AccountEntry[] | null {
  try {
    return parseAccounts(text, '').entries
  } catch {
    return null
  }
}

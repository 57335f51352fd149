import { reservedForm } from '../../base/header-names.ts'
import { memoize } from '../../base/memoize.ts'
import type { HeaderEditSettings } from '../../settings/schema/upstreams.ts'

/** What an operator sets and removes in the headers of a message. Framing and identity are not editable (`isFixedIn…`). */
export interface HeaderEdits {
  /** Whether a header that arrived goes no further, in every spelling that servers fold into one. */
  removes(name: string): boolean
  /** What is set, names and values in turn; it comes last. */
  readonly added: readonly string[]
}

const NOTHING: HeaderEditSettings = { set: {}, remove: [] }

/** `null` where nothing is edited. `owned` are further names that go no further, because the gateway itself sends them. */
export function createEdits(
  settings: HeaderEditSettings | undefined,
  owned: readonly string[] = [],
): HeaderEdits | null {
  if (settings === undefined && owned.length === 0) return null
  const { set, remove } = settings ?? NOTHING
  const added = Object.entries(set).flat()
  const replaced = new Set([...Object.keys(set), ...remove, ...owned].map(reservedForm))
  const removes = memoize(name => replaced.has(reservedForm(name)))
  return { removes, added }
}

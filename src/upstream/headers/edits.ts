import { reservedForm } from '../../base/header-names.ts'
import { memoize } from '../../base/memoize.ts'
import type { HeaderEditSettings } from '../../config/schema/upstreams.ts'

/** What an operator sets and removes in the headers of a message. Framing and identity are not editable (`isFixedIn…`). */
export interface HeaderEdits {
  /** Whether a header that arrived goes no further, in every spelling that servers fold into one. */
  removes(name: string): boolean
  /** What is set, names and values in turn; it comes last. */
  readonly added: readonly string[]
}

/** `null` where nothing is edited. */
export function createEdits(settings: HeaderEditSettings | undefined): HeaderEdits | null {
  if (settings === undefined) return null
  const added = Object.entries(settings.set).flat()
  const replaced = new Set([...Object.keys(settings.set), ...settings.remove].map(reservedForm))
  const removes = memoize(name => replaced.has(reservedForm(name)))
  return { removes, added }
}

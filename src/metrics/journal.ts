import { Counter, type Registry } from 'prom-client'

export interface JournalCounter {
  /** Counts entries that were stored, or lost. */
  journaled(result: 'written' | 'lost', entries: number): void
  /** Counts a failure of the store. */
  failed(): void
}

export function countJournal(registers: Registry[]): JournalCounter {
  const entries = new Counter({
    name: 'dualgate_journal_entries_total',
    help: 'Entries of the journal by result: written, or lost because the store failed for too long',
    labelNames: ['result'],
    registers,
  })
  const failures = new Counter({
    name: 'dualgate_journal_failures_total',
    help: 'How often the store refused entries of the journal, which then wait',
    registers,
  })
  // A counter that begins with its first loss would hide it from an alert, which needs a rise.
  for (const result of ['written', 'lost']) entries.inc({ result }, 0)
  return {
    journaled: (result, count) => entries.inc({ result }, count),
    failed: () => failures.inc(),
  }
}

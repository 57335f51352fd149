import { ConfigurationError } from '../notation/fault.ts'
import type { KeyPath, Report } from '../notation/written.ts'

/** Reads files, and reports their faults at the setting that names them. */
export function reportFaults(read: () => unknown, path: KeyPath, report: Report): void {
  try {
    read()
  } catch (fault) {
    if (!(fault instanceof ConfigurationError)) throw fault
    for (const { place, message } of fault.faults) report(path, `${place} ${message}`)
  }
}

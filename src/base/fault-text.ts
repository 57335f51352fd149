import { placeFaultText } from './place-fault.ts'

/** The messages of a fault and of its causes. Where a place on the disk is at fault: the place, what went wrong and the remedy. */
export function faultText(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault)
  const ofPlace = placeFaultText(fault)
  if (ofPlace !== null) return `${(fault as NodeJS.ErrnoException).path}: ${ofPlace}`
  return fault.cause === undefined ? fault.message : `${fault.message}: ${faultText(fault.cause)}`
}

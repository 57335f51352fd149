/** The messages of a fault and of its causes. */
export function faultText(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault)
  return fault.cause === undefined ? fault.message : `${fault.message}: ${faultText(fault.cause)}`
}

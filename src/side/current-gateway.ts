import type { Operations } from './operations.ts'

let bound: Operations | null = null

export function bindBusiness(operations: Operations): void {
  bound = operations
}

/** A gateway that closes releases the functions, unless a later gateway has bound them. */
export function releaseBusiness(operations: Operations): void {
  if (bound === operations) bound = null
}

/** One operation of the B side of the running gateway. Throws when no gateway runs, or its profile lacks the operation. */
export function offered<K extends keyof Operations>(name: K): NonNullable<Operations[K]> {
  if (bound === null) throw new Error('no gateway runs in this process: createGateway() comes first')
  const operation = bound[name]
  if (operation === undefined) throw new Error(`${name} belongs to profile 2`)
  return operation
}

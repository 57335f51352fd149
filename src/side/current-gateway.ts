import type { Operations } from './operations.ts'

/** Those of the gateways that run in this process, the latest one last: its operations are the functions. */
const bound: Operations[] = []

export function bindBusiness(operations: Operations): void {
  bound.push(operations)
}

/** The functions of a gateway that closes are those of the one before it, if that still runs. */
export function releaseBusiness(operations: Operations): void {
  const place = bound.indexOf(operations)
  if (place !== -1) bound.splice(place, 1)
}

/** One operation of the B side of the running gateway. Throws when no gateway runs, or its profile lacks the operation. */
export function offered<K extends keyof Operations>(name: K): NonNullable<Operations[K]> {
  const latest = bound.at(-1)
  if (latest === undefined) throw new Error('no gateway runs in this process: createGateway() comes first')
  const operation = latest[name]
  if (operation === undefined) throw new Error(`${name} belongs to profile 2`)
  return operation
}

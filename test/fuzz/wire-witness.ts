import type { WireUpstream } from '../attack/wire-upstream.ts'
import type { Witness } from './run.ts'

/** A backend that keeps the bytes of every request. */
export const wireWitness = (upstream: WireUpstream): Witness => ({
  arrived: () => upstream.arrived.splice(0),
  unreadable: () => upstream.unreadable.splice(0),
  judge: () => null,
})

import { createAddressList } from './address-list.ts'

/** An upstream out of service. */
export interface Maintenance {
  /** Seconds, for the `Retry-After` header. */
  readonly retryAfter: number
  /** Whether a client with this address gets through. */
  admits(address: string): boolean
}

export interface MaintenanceSettings {
  /** Milliseconds. */
  retry_after: number
  /** Addresses and CIDR ranges. */
  allow: readonly string[]
}

export const createMaintenance = ({ retry_after, allow }: MaintenanceSettings): Maintenance => ({
  retryAfter: Math.ceil(retry_after / 1000),
  admits: createAddressList(allow),
})

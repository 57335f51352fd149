import type { MomentFormat } from '../side/moment.ts'

/** The forms that a store shares with the other programs that write beside it. */
export interface StoreForms {
  /** How `created_at` is read; in UTC when it is not given. */
  moments?: MomentFormat
}

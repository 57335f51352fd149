import type { TimestampFormat } from '../timestamp.ts'
import type { Sharing } from './acknowledged.ts'

/** What a store has in common with the programs and processes beside it. */
export interface StoreForms {
  /** How `created_at` is read; in UTC when it is not given. */
  timestamps?: TimestampFormat
  /** Reaches the other processes of the gateway, where there are several. */
  sharing?: Sharing | undefined
  /** The key of a captcha's answer, with `{prefix}`, `{type}` and `{id}` to be filled in. Only Redis has such keys. */
  captchaKey?: string
}

import type { TimestampFormat } from '../base/timestamp.ts'
import type { Sharing } from './acknowledged-changes.ts'

/** Settings that a store shares with other programs and processes. */
export interface StoreForms {
  /** How `created_at` is read; in UTC when it is not given. */
  timestamps?: TimestampFormat
  /** Reaches the other processes of the gateway, if there are any. */
  sharing?: Sharing | undefined
  /** The key of a captcha's answer, with `{prefix}`, `{type}` and `{id}` to be filled in. Only Redis has such keys. */
  captchaKey?: string
}

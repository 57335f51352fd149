import { Refusal } from '../base/refusal.ts'

/** Why a session has ended before its time. */
export const END_REASONS = [
  'replaced',
  'kicked-out',
  'password-changed',
  'account-changed',
  'logged-out',
  /** At the provider with which its user had signed in. */
  'provider-logout',
] as const

export type EndReason = (typeof END_REASONS)[number]

/** Reads a stored value. `null` for an unknown reason. */
export const readEndReason = (text: string): EndReason | null => END_REASONS.find(reason => reason === text) ?? null

/** The refusal of a request without a live session. `ended`: why its session has ended, if that is reported. */
export const notLoggedIn = (ended?: EndReason | null): Refusal =>
  new Refusal('NOT_LOGGED_IN', ended ? { data: { ended } } : {})

import type { Side } from './side.ts'

/** The operations of both profiles, by the specification's names in camelCase ("Internal authentication operations"). */
export const OPERATIONS = [
  'login',
  'logout',
  'kickout',
  'kickoutToken',
  'isLogin',
  'getLoginId',
  'getLoginIdByToken',
  'getTokenValue',
  'renewTimeout',
  'disable',
  'isDisable',
  'untieDisable',
  'getLoginType',
] as const

/** The ten that Profile 2 adds. */
export const EXTENDED_OPERATIONS = [
  'getLoginIdDefaultNull',
  'getTokenInfo',
  'getSession',
  'getExtra',
  'getTokenTimeout',
  'getSessionTimeout',
  'getTokenValueByLoginId',
  'getTokenValuesByLoginId',
  'checkDisable',
  'getDisableTime',
] as const

export type OperationName = (typeof OPERATIONS)[number] | (typeof EXTENDED_OPERATIONS)[number]

/** The operations of one side for a program that embeds the gateway. Profile 1 has no extended operations. */
export type Operations = Pick<Side, (typeof OPERATIONS)[number]> &
  Partial<Pick<Side, (typeof EXTENDED_OPERATIONS)[number]>>

/** The column of the profile that decides which operations exist. */
export interface OffersOperations {
  readonly extendedOperations: boolean
}

export const operationNames = (profile: OffersOperations): readonly OperationName[] =>
  profile.extendedOperations ? [...OPERATIONS, ...EXTENDED_OPERATIONS] : OPERATIONS

/** The operations of a side as the profile has them. */
export function offerOperations(side: Side, profile: OffersOperations): Operations {
  const offered = Object.fromEntries(operationNames(profile).map(name => [name, side[name]])) as unknown as Operations
  return profile.extendedOperations ? offered : { ...offered, logout: request => side.logout(request) }
}

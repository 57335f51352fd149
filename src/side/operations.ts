import { BY_OPERATIONS, type Origin } from '../event/event.ts'
import type { Extra } from '../session/record.ts'
import type { Token } from '../token/bearer.ts'
import type { Side, WithHeaders } from './side.ts'

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
const EXTENDED_OPERATIONS = [
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

/** The operations that publish events, without the origin that these carry: it is always `operations`. */
interface ChangingOperations {
  /** `seconds`: the lifetime of this session, where it is not `jwt.expire_seconds`. */
  login(request: WithHeaders | undefined, userId: string, extra?: Extra, seconds?: number): Promise<Token>
  /** Profile 1 has no logout by login id: it ignores the second argument. */
  logout(request: WithHeaders, loginId?: string): Promise<boolean>
  kickout(userId: string): Promise<number>
  kickoutToken(userId: string, token: string): Promise<boolean>
  renewTimeout(request: WithHeaders, seconds?: number): Promise<boolean>
  disable(loginId: string, seconds: number): Promise<void>
  untieDisable(loginId: string): Promise<boolean>
}

/** The operations of one side for a program that embeds the gateway. Profile 1 has no extended operations. */
export type Operations = ChangingOperations &
  Pick<Side, Exclude<(typeof OPERATIONS)[number], keyof ChangingOperations>> &
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
  return { ...offered, ...offerChanging(side, profile) }
}

function offerChanging(side: Side, { extendedOperations }: OffersOperations): ChangingOperations {
  const origin: Origin = { by: BY_OPERATIONS }
  return {
    login: (request, userId, extra, seconds) => side.login(request, userId, extra, { ...origin, seconds }),
    logout: (request, loginId) => side.logout(request, extendedOperations ? loginId : undefined, origin),
    kickout: userId => side.kickout(userId, origin),
    kickoutToken: (userId, token) => side.kickoutToken(userId, token, origin),
    renewTimeout: (request, seconds) => side.renewTimeout(request, seconds, origin),
    disable: (loginId, seconds) => side.disable(loginId, seconds, origin),
    untieDisable: loginId => side.untieDisable(loginId, origin),
  }
}

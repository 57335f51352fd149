import { offered } from '../side/current-gateway.ts'
import type { Operations } from '../side/operations.ts'

/*
 * The B side's operations as functions ("Internal authentication operations"): they act on the gateway that this
 * process runs. The C side is an instance, `gateway.sides.consumer`.
 */

export const login: Operations['login'] = (...input) => offered('login')(...input)
export const logout: Operations['logout'] = (...input) => offered('logout')(...input)
export const kickout: Operations['kickout'] = (...input) => offered('kickout')(...input)
export const kickoutToken: Operations['kickoutToken'] = (...input) => offered('kickoutToken')(...input)
export const isLogin: Operations['isLogin'] = (...input) => offered('isLogin')(...input)
export const getLoginId: Operations['getLoginId'] = (...input) => offered('getLoginId')(...input)
export const getLoginIdByToken: Operations['getLoginIdByToken'] = (...input) => offered('getLoginIdByToken')(...input)
export const getTokenValue: Operations['getTokenValue'] = (...input) => offered('getTokenValue')(...input)
export const renewTimeout: Operations['renewTimeout'] = (...input) => offered('renewTimeout')(...input)
export const disable: Operations['disable'] = (...input) => offered('disable')(...input)
export const isDisable: Operations['isDisable'] = (...input) => offered('isDisable')(...input)
export const untieDisable: Operations['untieDisable'] = (...input) => offered('untieDisable')(...input)
export const getLoginType: Operations['getLoginType'] = () => offered('getLoginType')()

type Extended<K extends keyof Operations> = NonNullable<Operations[K]>

export const getLoginIdDefaultNull: Extended<'getLoginIdDefaultNull'> = (...input) =>
  offered('getLoginIdDefaultNull')(...input)
export const getTokenInfo: Extended<'getTokenInfo'> = (...input) => offered('getTokenInfo')(...input)
export const getSession: Extended<'getSession'> = (...input) => offered('getSession')(...input)
export const getExtra: Extended<'getExtra'> = (...input) => offered('getExtra')(...input)
export const getTokenTimeout: Extended<'getTokenTimeout'> = (...input) => offered('getTokenTimeout')(...input)
export const getSessionTimeout: Extended<'getSessionTimeout'> = (...input) => offered('getSessionTimeout')(...input)
export const getTokenValueByLoginId: Extended<'getTokenValueByLoginId'> = (...input) =>
  offered('getTokenValueByLoginId')(...input)
export const getTokenValuesByLoginId: Extended<'getTokenValuesByLoginId'> = (...input) =>
  offered('getTokenValuesByLoginId')(...input)
export const checkDisable: Extended<'checkDisable'> = (...input) => offered('checkDisable')(...input)
export const getDisableTime: Extended<'getDisableTime'> = (...input) => offered('getDisableTime')(...input)

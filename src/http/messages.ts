import type { RefusalReason } from '../refusal.ts'

export type Locale = 'en' | 'zh-CN'
type Text = readonly [en: string, zh: string]

/** The reason of a fault, beside the reasons of refusals. */
export type Failure = RefusalReason | 'INTERNAL'

interface Row {
  /** The envelope's `code`, and the HTTP status where `errors.http_status` is `native`. */
  code: number
  /** The HTTP status where `errors.http_status` is `envelope`, when it is not the code. */
  status?: 200
  text: Text
}

/** One row for each word of `refusal.ts`: what its caller sees ("Errors"). `{name}` is filled from the refusal's params. */
export const FAILURES: Readonly<Record<Failure, Row>> = {
  BAD_PATH: { code: 400, text: ['Malformed request path: {fault}', '请求路径不合法'] },
  BAD_REQUEST: { code: 400, text: ['Malformed request: {fault}', '请求不合法'] },
  URI_TOO_LONG: { code: 414, text: ['Request target too long', '请求地址过长'] },
  METHOD_NOT_ALLOWED: { code: 405, text: ['Method not allowed', '请求方法不被允许'] },
  HEADERS_TOO_LARGE: { code: 431, text: ['Too many or too large header fields', '请求头过大'] },
  BODY_TOO_LARGE: { code: 413, text: ['Request body too large', '请求体过大'] },
  UNSUPPORTED_TRANSFER_CODING: { code: 501, text: ['Unsupported transfer coding', '不支持的传输编码'] },
  REQUEST_TIMEOUT: { code: 408, text: ['The request did not arrive in time', '请求超时'] },
  NOT_FOUND: { code: 404, text: ['Not found', '资源不存在'] },
  NOT_LOGGED_IN: { code: 401, status: 200, text: ['Not logged in', '未授权/未登录'] },
  NOT_PERMITTED: { code: 403, text: ['Missing permission: {permissions}', '缺少权限: {permissions}'] },
  ORIGIN_NOT_ALLOWED: { code: 403, text: ['Origin not allowed', '来源不被允许'] },
  TOO_MANY_SOCKETS: { code: 429, text: ['Too many open connections', '连接数过多'] },
  DISABLED: { code: 403, status: 200, text: ['Account disabled', '账号已被禁用'] },
  SESSION_DISABLED: { code: 403, text: ['Account disabled', '账号已被禁用'] },
  INVALID: { code: 400, status: 200, text: ['{field}: {fault}', '{field}: {fault}'] },
  CAPTCHA_BLANK: { code: 400, status: 200, text: ['Captcha id or answer missing', '验证码ID或验证码内容不能为空'] },
  CAPTCHA_GONE: { code: 400, status: 200, text: ['Captcha expired or invalid', '验证码已过期或无效'] },
  CAPTCHA_WRONG: { code: 400, status: 200, text: ['Wrong captcha', '验证码错误'] },
  WRONG_CREDENTIALS: { code: 400, status: 200, text: ['Wrong username or password', '用户名或密码错误'] },
  ACCOUNT_LOCKED: { code: 400, status: 200, text: ['Account locked', '账号已被锁定'] },
  ACCOUNT_INACTIVE: { code: 400, status: 200, text: ['Account inactive', '账号已停用'] },
  TOO_MANY_ATTEMPTS: {
    code: 429,
    status: 200,
    text: ['Too many requests, try again in {seconds} seconds', '请求过于频繁，请{seconds}秒后再试'],
  },
  NO_SUCH_TOKEN: { code: 400, status: 200, text: ['Not a live token of this user', '令牌不存在或不属于该用户'] },
  BUSY: { code: 503, text: ['Too busy, try again', '服务繁忙，请稍后再试'] },
  UNAVAILABLE: { code: 503, text: ['Service unavailable', '服务暂不可用'] },
  BAD_GATEWAY: { code: 502, text: ['Bad gateway', '上游服务不可用'] },
  UPSTREAM_TIMEOUT: { code: 504, text: ['The upstream did not answer in time', '上游服务响应超时'] },
  UPSTREAM_BUSY: { code: 503, text: ['The upstream is too busy, try again', '上游服务繁忙，请稍后再试'] },
  INTERNAL: { code: 500, text: ['Internal server error', '服务器内部错误'] },
}

export const SUCCESS: Text = ['Success', '请求成功']
export const LOGGED_OUT: Text = ['Logged out', '登出成功']

export const inLocale = (text: Text, locale: Locale): string => text[locale === 'en' ? 0 : 1]

export function failureMessage(reason: Failure, params: Record<string, string | number>, locale: Locale): string {
  return inLocale(FAILURES[reason].text, locale).replace(/\{(\w+)\}/g, (_, name: string) => String(params[name] ?? ''))
}

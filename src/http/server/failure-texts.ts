import type { FieldFault, PasswordFault, RefusalReason } from '../../base/refusal.ts'
import { NOT_A_LOGIN_ID } from '../../base/refusal.ts'

export type Locale = 'en' | 'zh-CN'
export type Text = readonly [en: string, zh: string]

/** The reason of a fault, beside the reasons of refusals. */
export type Failure = RefusalReason | 'INTERNAL'

interface Row {
  /** The envelope's `code`, and the HTTP status where `errors.http_status` is `native`. */
  code: number
  /** The HTTP status where `errors.http_status` is `envelope`, when it is not the code. */
  status?: 200
  text: Text
}

const DISABLED: Text = ['Account disabled, try again in {minutes} min', '账号已被禁用，请{minutes}分钟后再试']

/**
 * One row for each reason of `refusal.ts`: the answer to the client ("Errors"). `{name}` is filled from the refusal's
 * params.
 */
export const FAILURES: Readonly<Record<Failure, Row>> = {
  BAD_PATH: { code: 400, text: ['Malformed request path: {fault}', '请求路径不合法'] },
  BAD_REQUEST: { code: 400, text: ['Malformed request: {fault}', '请求不合法'] },
  URI_TOO_LONG: { code: 414, text: ['Request target too long', '请求地址过长'] },
  METHOD_NOT_ALLOWED: { code: 405, text: ['Method not allowed', '不支持该请求方法'] },
  HEADERS_TOO_LARGE: { code: 431, text: ['Too many or too large header fields', '请求头过大'] },
  BODY_TOO_LARGE: { code: 413, text: ['Request body too large', '请求体过大'] },
  UNSUPPORTED_TRANSFER_CODING: { code: 501, text: ['Unsupported transfer coding', '不支持的传输编码'] },
  REQUEST_TIMEOUT: { code: 408, text: ['The request did not arrive in time', '请求超时'] },
  // The code that nginx logs for the same; it stands in the log and the metrics only.
  CLIENT_LEFT: { code: 499, text: ['The client left before its request was answered', '客户端在请求完成前断开了连接'] },
  ADDRESS_NOT_ALLOWED: { code: 403, text: ['Address not allowed', '不允许从该地址访问'] },
  NOT_FOUND: { code: 404, text: ['Not found', '资源不存在'] },
  NOT_LOGGED_IN: { code: 401, status: 200, text: ['Not logged in', '未授权/未登录'] },
  COOKIE_TWICE: {
    code: 401,
    status: 200,
    text: ['Two cookies {name}: delete the cookies of this site', '存在两个 {name} Cookie，请清除本站的 Cookie'],
  },
  CROSS_ORIGIN: {
    code: 403,
    text: ['A page of another origin may not send this request', '不允许其他来源（Origin）的页面发送此请求'],
  },
  NOT_PERMITTED: { code: 403, text: ['Missing permission: {permissions}', '缺少权限: {permissions}'] },
  KEY_NOT_ALLOWED: {
    code: 403,
    text: ['The key does not allow this path or this address', '该密钥不允许访问此路径或来自此地址'],
  },
  NOT_FOR_KEYS: { code: 403, text: ['Not for keys: sign in', '密钥不能执行此操作，请登录'] },
  TOO_MANY_WRONG_KEYS: {
    code: 429,
    text: ['Too many wrong keys, try again in {seconds} seconds', '错误的密钥过多，请{seconds}秒后再试'],
  },
  RATE_LIMITED: { code: 429, text: ['Too many requests, try again later', '请求过于频繁，请稍后再试'] },
  ORIGIN_NOT_ALLOWED: { code: 403, text: ['Origin not allowed', '不允许来自该来源（Origin）的连接'] },
  TOO_MANY_SOCKETS: { code: 429, text: ['Too many open connections', '连接数过多'] },
  DISABLED: { code: 403, status: 200, text: DISABLED },
  SESSION_DISABLED: { code: 403, text: DISABLED },
  WRONG_SECRET: {
    code: 401,
    text: [
      'The internal secret is missing or wrong: send internal.secret as Authorization: Bearer',
      '内部密钥缺失或错误：请用 Authorization: Bearer 发送 internal.secret',
    ],
  },
  INVALID: { code: 400, status: 200, text: ['{field}: {fault}', '{field}: {fault}'] },
  CAPTCHA_BLANK: { code: 400, status: 200, text: ['Captcha id or answer missing', '验证码ID或验证码内容不能为空'] },
  CAPTCHA_GONE: { code: 400, status: 200, text: ['Captcha expired or invalid', '验证码已过期或无效'] },
  CAPTCHA_WRONG: { code: 400, status: 200, text: ['Wrong captcha', '验证码错误'] },
  WRONG_CREDENTIALS: { code: 400, status: 200, text: ['Wrong username or password', '用户名或密码错误'] },
  PASSWORD_NOT_ALLOWED: { code: 400, status: 200, text: ['The new password {faults}', '新密码不符合要求：{faults}'] },
  WRONG_CODE: { code: 400, status: 200, text: ['Wrong code', '动态码或恢复码错误，或已使用过'] },
  NO_SECOND_FACTOR: { code: 400, status: 200, text: ['No second factor is set up', '尚未设置两步验证'] },
  SETUP_GONE: {
    code: 400,
    status: 200,
    text: ['The set-up has expired, begin again', '设置已过期，请重新开始'],
  },
  FACTOR_REQUIRED: { code: 403, status: 200, text: ['A second factor is required', '必须启用两步验证'] },
  FACTOR_UNREADABLE: {
    code: 403,
    status: 200,
    text: ['The second factor cannot be checked; ask an administrator', '两步验证暂时无法校验，请联系管理员'],
  },
  STEP_REQUIRED: { code: 403, status: 200, text: ['Signing in needs one more step', '登录还需要完成下一步'] },
  TICKET_INVALID: {
    code: 400,
    status: 200,
    text: ['This sign-in has expired, sign in again', '本次登录已失效，请重新登录'],
  },
  ACCOUNT_LOCKED: { code: 400, status: 200, text: ['Account locked', '账号已被锁定'] },
  ACCOUNT_INACTIVE: { code: 400, status: 200, text: ['Account inactive', '账号已停用'] },
  PASSWORD_EXPIRED: {
    code: 400,
    status: 200,
    text: ['The password has expired; change it in your company directory', '密码已过期，请先在公司目录中修改密码'],
  },
  PROVIDER_REFUSED: {
    code: 403,
    text: ['The sign-in at your company was not accepted', '公司统一登录未被接受'],
  },
  PASSWORD_LOGIN_OFF: {
    code: 403,
    text: ['Sign in with your company account', '请使用公司账号登录'],
  },
  TOO_MANY_ATTEMPTS: {
    code: 429,
    status: 200,
    text: ['Too many requests, try again in {seconds} seconds', '请求过于频繁，请{seconds}秒后再试'],
  },
  NO_SUCH_ACCOUNT: { code: 400, status: 200, text: ['No such account', '账号不存在'] },
  ACCOUNT_CHANGED: {
    code: 400,
    status: 200,
    text: ['The account has changed meanwhile: load it again', '该账号已被修改，请重新加载后再编辑'],
  },
  ACCOUNT_HOLDS_MORE: { code: 403, text: ['The account holds rights that you do not hold', '该账号拥有您没有的权限'] },
  RIGHTS_NOT_HELD: { code: 403, text: ['You do not hold: {rights}', '您没有以下权限，无法授予：{rights}'] },
  OWN_ACCOUNT: { code: 403, text: ['Not allowed for your own account', '不能对自己的账号执行此操作'] },
  LAST_SUPER_ADMIN: {
    code: 403,
    text: ['The last active SUPER_ADMIN must stay', '必须保留最后一个有效的 SUPER_ADMIN 账号'],
  },
  ACCOUNTS_UNWRITABLE: {
    code: 503,
    text: [
      'Accounts cannot be changed here now: their file cannot be written. Ask an administrator',
      '账号文件无法写入，暂时不能修改账号，请联系管理员',
    ],
  },
  NO_SUCH_TOKEN: { code: 400, status: 200, text: ['Not a live token of this user', '令牌不存在或不属于该用户'] },
  NO_SUCH_KEY: { code: 400, status: 200, text: ['Not a key of this user', '密钥不存在或不属于该用户'] },
  TOO_MANY_KEYS: {
    code: 400,
    status: 200,
    text: ['At most {maximum} keys: revoke one first', '最多 {maximum} 个密钥，请先吊销一个'],
  },
  KEY_SUCCEEDED: {
    code: 400,
    status: 200,
    text: ['Another key has taken the place of this one', '该密钥已被新密钥替换'],
  },
  NO_SERVICE_ACCOUNT: {
    code: 400,
    status: 200,
    text: ['Not a service account: its user makes its keys', '不是服务账号，其密钥由用户自己创建'],
  },
  BUSY: { code: 503, text: ['Too busy, try again', '服务繁忙，请稍后再试'] },
  UNAVAILABLE: { code: 503, text: ['Service unavailable', '服务暂不可用'] },
  BAD_GATEWAY: { code: 502, text: ['Bad gateway', '上游服务不可用'] },
  UPSTREAM_TIMEOUT: { code: 504, text: ['The upstream did not answer in time', '上游服务响应超时'] },
  UPSTREAM_BUSY: { code: 503, text: ['The upstream is too busy, try again', '上游服务繁忙，请稍后再试'] },
  MAINTENANCE: { code: 503, text: ['Under maintenance, try again later', '系统维护中，请稍后再试'] },
  INTERNAL: { code: 500, text: ['Internal server error', '服务器内部错误'] },
}

/** The faults of fields in Chinese; the English text is the name of the fault. */
const FIELD_FAULTS: Readonly<Record<FieldFault, string>> = {
  'is missing': '缺少该字段',
  'is taken': '已被占用',
  'must be a JSON object': '必须是 JSON 对象',
  'must be sent as application/json': '必须以 application/json 格式发送',
  'must be an object': '必须是对象',
  'must be a string': '必须是字符串',
  'must be encrypted with the public key': '必须用公钥加密',
  'must be a whole number from {minimum} to {maximum}': '必须是 {minimum} 到 {maximum} 之间的整数',
  [NOT_A_LOGIN_ID]: '必须是 1 到 128 个字符，且只含 A-Z a-z 0-9 . _ @ : -',
  'must be 1 to 128 characters without spaces at its ends': '必须是 1 到 128 个字符，且首尾不能有空格',
  'must be at most {maximum} characters': '最多 {maximum} 个字符',
  'must be at most 8192 bytes as JSON': '转为 JSON 后最多 8192 字节',
  'must be at most 6144 bytes as JSON': '转为 JSON 后最多 6144 字节',
  'must not nest deeper than 16 levels': '嵌套不能超过 16 层',
  'must be at most 72 bytes as UTF-8': '以 UTF-8 计最多 72 字节',
  'must be well-formed Unicode': '必须是合法的 Unicode 文本',
  'must not be empty': '不能为空',
  'must be `next` of another page': '必须是另一页返回的 next',
  'must be a time: YYYY-MM-DD HH:MM:SS or ISO 8601': '必须是时间，格式为 YYYY-MM-DD HH:MM:SS 或 ISO 8601',
  'must not contain NUL': '不能包含 NUL 字符',
  'must not contain control characters or noncharacters': '不能包含控制字符或非字符',
  'must be true or false': '必须是 true 或 false',
  'must be one of {values}': '必须是以下之一：{values}',
  'must be left out: sessions of this side are not kept in cookies': '必须省略：该端不使用 Cookie 会话',
  'must be left out: a service account has no password': '必须省略：服务账号没有密码',
  'belongs to a service account, which has no password and no second factor': '是服务账号，没有密码，也没有两步验证',
  'must be a list of at most {maximum} texts of 1 to 128 characters':
    '必须是列表，最多 {maximum} 项，每项 1 到 128 个字符',
  'must be shorter: the limits of a key are at most {maximum} bytes together, as JSON':
    '过长，请缩短：密钥的各项限制转为 JSON 后合计最多 {maximum} 字节',
  'must be paths as they are sent, with a slash at the beginning and none at the end':
    '必须是与请求中的写法一致的路径，开头有斜杠，结尾没有斜杠',
  'must be addresses or CIDR ranges': '必须是地址或 CIDR 网段',
}

/** Each continues the sentence of `PASSWORD_NOT_ALLOWED`. */
const PASSWORD_FAULTS: Readonly<Record<PasswordFault, Text>> = {
  min_length: ['must have at least {min_length} characters', '至少需要 {min_length} 个字符'],
  classes: [
    'must contain at least {classes} of these: lower case, upper case, digits, other characters',
    '小写字母、大写字母、数字、其他字符中至少要包含 {classes} 种',
  ],
  common: ['must not be a common password', '过于常见，容易被猜到'],
  max_bytes: ['must have at most {max_bytes} bytes as UTF-8', '以 UTF-8 计最多 {max_bytes} 字节'],
  characters: ['must not contain NUL or invalid Unicode', '不能包含 NUL 或无效的 Unicode 字符'],
  username: ['must not be the user name', '不能与用户名相同'],
  same: ['must not be the present password', '不能与当前密码相同'],
}

/** Every text of a refusal, and of the faults of fields in them: pages show them in the language of their user. */
export const REFUSAL_TEXTS: readonly Text[] = [
  ...Object.values(FAILURES).map(({ text }) => text),
  ...Object.entries(FIELD_FAULTS),
]

export const SUCCESS: Text = ['Success', '请求成功']
export const LOGGED_OUT: Text = ['Logged out', '登出成功']

export const inLocale = (text: Text, locale: Locale): string => text[locale === 'en' ? 0 : 1]

type Params = Readonly<Record<string, string | number>>

const fill = (text: string, params: Params): string =>
  text.replace(/\{(\w+)\}/g, (_, name: string) => String(params[name] ?? ''))

/** The fault of a field in words of the locale, with its limits filled in. */
export const faultOfField = (params: Params, locale: Locale): string =>
  fill(locale === 'en' ? String(params.fault) : FIELD_FAULTS[params.fault as FieldFault], params)

/** Every fault of a new password, in one sentence. */
const faultsOfPassword = (params: Params, locale: Locale): string =>
  String(params.faults)
    .split(' ')
    .map(fault => fill(inLocale(PASSWORD_FAULTS[fault as PasswordFault], locale), params))
    .join(locale === 'en' ? ', ' : '；')

function shownParams(reason: Failure, params: Params, locale: Locale): Params {
  if (reason === 'INVALID') return { ...params, fault: faultOfField(params, locale) }
  if (reason === 'PASSWORD_NOT_ALLOWED') return { ...params, faults: faultsOfPassword(params, locale) }
  return params
}

export function failureMessage(reason: Failure, params: Params, locale: Locale): string {
  return fill(inLocale(FAILURES[reason].text, locale), shownParams(reason, params, locale))
}

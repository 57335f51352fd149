import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { OperationBody, OperationData } from '../http/routes/operations/operations.ts'
import type { VerifiedKey } from '../http/routes/operations/verify-key.ts'
import type { EndReason } from '../session/end-reason.ts'
import type { Extra } from '../session/record.ts'
import type { SideName } from '../session/sides.ts'
import type { OperationName } from '../side/operations.ts'

/*
 * The operations of a running gateway, for the services behind it (`import { createClient } from 'dualgate/client'`).
 * It needs only the address of the gateway's internal listener and its secret.
 */

export interface ClientOptions {
  /** Base URL of the internal listener, such as http://127.0.0.1:8081, or unix:/path/of.sock for `internal.socket`. */
  url: string
  /** `internal.secret` of the gateway. */
  secret: string
  /** How long an answer may take, in milliseconds; 5000 when not given. */
  timeout?: number
}

/** An operation that the gateway refused or that failed; `code` as in its envelope: 503 when its store fails. */
export class OperationError extends Error {
  readonly code: number
  /** The id of the request in the gateway's log. */
  readonly traceId: string
  /** Of code 401: why the session of the token has ended, if the gateway knows it (`sessions.tell_end`). */
  readonly ended: EndReason | null

  constructor({ code, message, data, trace_id }: Omit<Answer, 'success'>) {
    super(message)
    this.name = 'OperationError'
    this.code = code
    this.traceId = trace_id
    this.ended = code === 401 ? ((data as { ended?: EndReason } | null)?.ended ?? null) : null
  }
}

/** The operations of both sides. Those of profile 2 are refused with 404 by a gateway of profile 1. */
export const createClient = (options: ClientOptions) => ({
  business: operationsOf(options, 'business'),
  consumer: operationsOf(options, 'consumer'),
})

export type Client = ReturnType<typeof createClient>

/** Each operation under its name in the specification; absent things are `null`, absent times -1. */
function operationsOf(options: ClientOptions, side: SideName) {
  const ask = <N extends OperationName>(name: N, ...[body]: BodyOf<N>): Promise<OperationData<N>> =>
    post(options, `${side}/${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`, body ?? {})
  return {
    /**
     * A new token of the user, whom the service has verified: no step of a login is demanded. Refused with 403 while the login
     * id is disabled. `seconds`: the lifetime of this session, at most ten years, where it is not `jwt.expire_seconds`.
     */
    login: async (userId: string, extra: Extra = {}, seconds?: number) =>
      (await ask('login', { user_id: userId, extra, ...(seconds !== undefined && { seconds }) })).token,
    logout: (token: string) => ask('logout', { token }),
    kickout: (userId: string) => ask('kickout', { user_id: userId }),
    kickoutToken: (userId: string, token: string) => ask('kickoutToken', { user_id: userId, token }),
    isLogin: async (token: string) => (await ask('isLogin', { token })).is_login,
    /** `''` when the token is not live. */
    getLoginId: async (token: string) => (await ask('getLoginId', { token })).user_id,
    renewTimeout: (token: string, seconds?: number) =>
      ask('renewTimeout', seconds === undefined ? { token } : { token, seconds }),
    disable: (userId: string, seconds: number) => ask('disable', { user_id: userId, seconds }),
    isDisable: async (userId: string) => (await ask('isDisable', { user_id: userId })).is_disable,
    untieDisable: (userId: string) => ask('untieDisable', { user_id: userId }),
    getLoginType: async () => (await ask('getLoginType')).login_type,
    /**
     * Whose the key of a program is; `null` for one that is wrong or has ended, and while its owner is not active or is disabled.
     * Limits to paths and addresses are not checked. Refused with 404 where the side has no keys.
     */
    verifyKey: (key: string) => post<VerifiedKey>(options, `${side}/verify-key`, { key }),

    getLoginIdDefaultNull: async (token: string) => (await ask('getLoginIdDefaultNull', { token })).user_id,
    getTokenInfo: (token: string) => ask('getTokenInfo', { token }),
    getSession: (token: string) => ask('getSession', { token }),
    getExtra: async (token: string, name: string) => (await ask('getExtra', { token, name })).value,
    /** Seconds. */
    getTokenTimeout: async (token: string) => (await ask('getTokenTimeout', { token })).timeout,
    /** Seconds. */
    getSessionTimeout: async (token: string) => (await ask('getSessionTimeout', { token })).timeout,
    getTokenValueByLoginId: async (userId: string) => (await ask('getTokenValueByLoginId', { user_id: userId })).token,
    getTokenValuesByLoginId: async (userId: string) =>
      (await ask('getTokenValuesByLoginId', { user_id: userId })).tokens,
    /** Refused with 403 while the login id is disabled. */
    checkDisable: (userId: string) => ask('checkDisable', { user_id: userId }),
    /** Seconds. */
    getDisableTime: async (userId: string) => (await ask('getDisableTime', { user_id: userId })).disable_time,
  }
}

/** An operation without a body needs none here. */
type BodyOf<N extends OperationName> = OperationBody<N> extends undefined ? [] : [body: OperationBody<N>]

type Answer = { success: boolean; data: unknown; code: number; message: string; trace_id: string }

async function post<T>({ url, secret, timeout = 5000 }: ClientOptions, operation: string, body: object): Promise<T> {
  const isSocket = url.startsWith(UNIX)
  const sent: Sent = {
    path: `/operations/v1/${operation}`,
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(timeout),
  }
  const received = await (isSocket ? viaSocket(url.slice(UNIX.length), sent) : viaFetch(url, sent))
  const answer = answerIn(received.text)
  if (answer === null) {
    const place = isSocket ? url : new URL(url).origin
    throw new Error(`${place} answered ${received.status}, and not as the internal listener of a gateway does`)
  }
  if (!answer.success) throw new OperationError(answer)
  return answer.data as T
}

const UNIX = 'unix:'

interface Sent {
  path: string
  headers: Record<string, string>
  body: string
  signal: AbortSignal
}

interface Received {
  status: number
  text: string
}

async function viaFetch(url: string, { path, ...sent }: Sent): Promise<Received> {
  // The gateway never redirects an operation; its body would go wherever the answer of another program says.
  const response = await fetch(new URL(path, url), { method: 'POST', redirect: 'manual', ...sent })
  return { status: response.status, text: await response.text() }
}

/** `fetch` of Node knows no sockets. */
async function viaSocket(socketPath: string, { body, ...sent }: Sent): Promise<Received> {
  try {
    return await new Promise((resolve, reject) => {
      request({ socketPath, method: 'POST', ...sent }, response => {
        text(response).then(text => resolve({ status: response.statusCode ?? 0, text }), reject)
      })
        .on('error', reject)
        .end(body)
    })
  } catch (fault) {
    // As of `fetch`: the end of the time limit is a TimeoutError.
    sent.signal.throwIfAborted()
    throw fault
  }
}

/** `null` for what is not an envelope of a gateway. */
function answerIn(text: string): Answer | null {
  try {
    const answer = JSON.parse(text) as Partial<Answer> | null
    return typeof answer?.success === 'boolean' ? (answer as Answer) : null
  } catch {
    return null
  }
}

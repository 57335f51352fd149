import { Agent, type Dispatcher, request } from 'undici'
import type { Clock } from '../base/clock.ts'
import { SIGNATURE_HEADER, sign } from '../base/hmac.ts'
import { isPlainObject } from '../base/plain-object.ts'
import { Refusal, Unavailable } from '../base/refusal.ts'
import { createTaskQueue } from '../base/task-queue.ts'
import { readAccount, readRights } from './answered-account.ts'
import type { HashSource, HashUpdates } from './hash-accounts.ts'

export interface HttpAccountsSettings {
  kind: 'http'
  url: string
  /** Stores changes; absent where the gateway stores none. */
  update_url?: string
  /** Key of the signature of each request. */
  secret: string
  /** Milliseconds for one look-up. */
  timeout: number
  /** Milliseconds. */
  recheck: number | 'off'
}

/** Large enough for a picture, which is left out of the session. */
const MAX_ANSWER_BYTES = 2_097_152
/** Connections to the backend, and queries that may wait for one. */
const CONNECTIONS = 8
const WAITING = 64

/**
 * Accounts from a backend (design: B-side login). The gateway posts `{"username":"…"}` as JSON. The backend answers 200
 * with `id`, `username`, `password` (the bcrypt hash), `status` and further fields for the session, or 404 for an
 * unknown name. For the rights of a user the gateway posts `{"id":"…"}`. A change goes to `update_url`. Any other answer is a
 * failure of the source, including redirects. The body is signed (`signature.ts`).
 */
export function createHttpAccounts(
  { url, update_url, secret, timeout }: Omit<HttpAccountsSettings, 'recheck'>,
  clock: Clock,
): HashSource {
  const agent = new Agent({
    connections: CONNECTIONS,
    connect: { timeout },
    headersTimeout: timeout,
    bodyTimeout: timeout,
    maxResponseSize: MAX_ANSWER_BYTES,
  })
  const enqueue = createTaskQueue(CONNECTIONS, WAITING)

  /** The time limit covers waiting, connecting and answering together. */
  async function post<T>(
    to: string,
    content: object,
    read: (answer: Dispatcher.ResponseData) => Promise<T>,
  ): Promise<T> {
    const signal = AbortSignal.timeout(timeout)
    return enqueue(async () => {
      signal.throwIfAborted()
      const body = JSON.stringify(content)
      const signature = sign(body, [secret], clock.now())
      const headers = { 'content-type': 'application/json', accept: 'application/json', [SIGNATURE_HEADER]: signature }
      return read(await request(to, { method: 'POST', headers, body, dispatcher: agent, signal }))
    })
  }
  const ask = (asked: { username: string } | { id: string }) => post(url, asked, readAnswer)

  return {
    ...(update_url !== undefined && { updates: updatesAt(change => post(update_url, change, readStored)) }),
    async find(username) {
      return orUnavailable(async () => {
        const answer = await ask({ username })
        if (answer === null) return null
        if (update_url !== undefined && !Object.hasOwn(answer, 'second_factor')) throw new Error(NO_SECOND_FACTOR)
        return readAccount(Object.entries(answer), 'http')
      })
    },
    async findRights(id) {
      return orUnavailable(async () => {
        const answer = await ask({ id })
        return answer === null ? null : readRights(id, Object.entries(answer))
      })
    },
    close: () => agent.close(),
  }
}

/** Otherwise no login would need a second factor that was stored. */
const NO_SECOND_FACTOR = 'the response has no "second_factor", which update_url stores; respond with null without one'

type Change =
  | { id: string; password: string; password_before: string | undefined }
  | { id: string; second_factor: string | null; second_factor_before: string | null }

/** `store` answers whether the account was changed. */
function updatesAt(store: (change: Change) => Promise<boolean>): HashUpdates {
  return {
    can: new Set(['password', 'second-factor'] as const),
    setPassword: (id, { hash, before }) => orUnavailable(() => store({ id, password: hash, password_before: before })),
    setSecondFactor: (id, second_factor, second_factor_before) =>
      orUnavailable(() => store({ id, second_factor, second_factor_before })),
  }
}

async function readStored({ statusCode, body }: Dispatcher.ResponseData): Promise<boolean> {
  await body.dump()
  if (statusCode === 200 || statusCode === 204) return true
  // Conflict (RFC 9110, 15.5.10): another password or second factor has been stored since.
  if (statusCode === 404 || statusCode === 409) return false
  throw new Error(`the backend answers with status ${statusCode}`)
}

async function orUnavailable<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question()
  } catch (fault) {
    if (fault instanceof Refusal) throw fault
    throw new Unavailable('the backend of the accounts', fault)
  }
}

/** The fields of the answer; `null` for 404. */
async function readAnswer({ statusCode, body }: Dispatcher.ResponseData): Promise<Record<string, unknown> | null> {
  if (statusCode !== 200) {
    await body.dump()
    if (statusCode === 404) return null
    throw new Error(`the backend answers with status ${statusCode}`)
  }
  const answer = jsonOf(new TextDecoder('utf-8', { fatal: true }).decode(await body.arrayBuffer()))
  if (!isPlainObject(answer)) throw new Error('the response is not a JSON object')
  return answer
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // What JSON.parse throws quotes the text, and that may hold a hash.
    throw new Error('the response is not JSON')
  }
}

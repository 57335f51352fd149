import { Agent, type Dispatcher, errors, ProxyAgent, request } from 'undici'
import { within } from '../base/deadline.ts'
import type { ProviderSettings } from '../settings/schema/providers.ts'
import { readCertificates } from '../settings/tls.ts'

/** What `openid-client` gives to a `fetch`, as far as it counts here. */
export interface ExchangeOptions {
  method?: string | undefined
  headers?: Record<string, string> | undefined
  body?: unknown
}

/** Requests to one provider. */
export interface Exchange {
  /**
   * The answer with its whole body, which has arrived. Redirects are not followed. Fails with an `Error` without secrets when
   * none arrives within the time limit.
   */
  fetch(url: string, options?: ExchangeOptions): Promise<Response>
  /** Does not wait for requests: they fail. */
  close(): Promise<void>
}

const MAX_ANSWER_BYTES = 1_048_576
const CONNECTIONS = 8
/** Statuses whose response has no body (Fetch, "null body status"). */
const WITHOUT_BODY = new Set([204, 205, 304])

export function createExchange({ timeout, ca, proxy }: Pick<ProviderSettings, 'timeout' | 'ca' | 'proxy'>): Exchange {
  const agent = createAgent(timeout, ca === undefined ? undefined : readCertificates(ca, 'ca'), proxy)
  return {
    async fetch(url, { method = 'GET', headers = {}, body } = {}) {
      const end = new AbortController()
      const options = { dispatcher: agent, method, headers, signal: end.signal } as const
      const work = async (): Promise<Response> =>
        responseOf(await request(url, { ...options, body: body == null ? null : String(body) }))
      try {
        return await within(timeout, work(), () => {
          throw new Error(`no answer within ${timeout} ms`)
        })
      } catch (fault) {
        throw withoutContent(fault)
      } finally {
        end.abort()
      }
    },
    close: () => agent.destroy(),
  }
}

/** The library attaches what is not HTTP, and that may hold tokens. */
const withoutContent = (fault: unknown): unknown =>
  fault instanceof errors.HTTPParserError ? new Error(fault.message) : fault

/** The time limit is for the whole answer, and not here, where a stall of this process would count. */
function createAgent(timeout: number, ca: string | undefined, proxy: string | undefined): Dispatcher {
  const tls = { timeout, ...(ca !== undefined && { ca }) }
  const limits = { connections: CONNECTIONS, headersTimeout: 0, bodyTimeout: 0, maxResponseSize: MAX_ANSWER_BYTES }
  if (proxy === undefined) return new Agent({ ...limits, connect: tls })
  return new ProxyAgent({ ...limits, uri: proxy, requestTls: tls, proxyTls: { timeout } })
}

async function responseOf({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<Response> {
  const content = await body.arrayBuffer()
  const named = Object.entries(headers).flatMap(([name, value = '']) =>
    [value].flat().map((one): [string, string] => [name, one]),
  )
  return new Response(WITHOUT_BODY.has(statusCode) ? null : content, { status: statusCode, headers: named })
}

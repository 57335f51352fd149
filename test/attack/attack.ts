import type { LoginType } from '../../src/session/sides.ts'

/** One hostile input, and what becomes of it. */
export interface Attack {
  /** What the gateway does, as a statement. */
  claim: string
  /**
   * The bytes that are sent, in latin1. `{C}` stands for a live token of the C side, `{B}` for one of the B side, `{%C}`
   * and `{%B}` for the same with every character escaped. An honest request of another client follows on the same
   * connection, as behind a proxy that shares connections.
   */
  send: string
  /** The answers: `upstream`, or the `code` of the gateway's own. None where the connection only ends. */
  answers: readonly ('upstream' | number)[]
  /** The requests that arrive at the backend, besides the honest one. */
  arrives?: readonly Arrival[]
  /** Whether the honest request must not be served, because it is not clear where the attack ends and it begins. */
  severs?: boolean
  /** Whether the parser of the oldest versions of Node overlooks it, of which a gateway warns. */
  isOverlooked?: boolean
  /** Whether nothing follows, because the attack is a request that is never complete. */
  unfinished?: boolean
}

export interface Arrival {
  /** The request line. */
  line: string
  /** The header lines that the client sent and that go on, as they were written. */
  headers?: readonly string[]
  body?: string
  /** The side of the session; without one no header names the client. */
  as?: LoginType
  /** The `Host` of the request; `x` if absent. */
  host?: string
  /** The minor version of HTTP that the client spoke; 1 when not given. */
  version?: 0 | 1
}

/** A request of lines, with an empty line behind them and `body` behind that. */
export const request = (lines: readonly string[], body = ''): string => `${lines.join('\r\n')}\r\n\r\n${body}`

const HOST = 'Host: x'

/** A request with a session of the C side that changes one thing. */
export const asConsumer = (line: string, ...headers: string[]): string =>
  request([line, HOST, 'Authorization: Bearer {C}', ...headers])

export const asAnonymous = (line: string, ...headers: string[]): string => request([line, HOST, ...headers])

export const asBusiness = (line: string, ...headers: string[]): string =>
  request([line, HOST, 'Authorization: Bearer {B}', ...headers])

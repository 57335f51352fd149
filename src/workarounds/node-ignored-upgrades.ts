import type { IncomingMessage } from 'node:http'
import { ClientMessage } from './node-empty-requests.ts'

/*
 * Seen in: Node 20.20.2. With a listener of `upgrade`, Node takes every connection away from HTTP whose request names a protocol,
 * whatever protocol it is, and clients ask for h2c with ordinary requests.
 * Upstream: https://github.com/nodejs/node/pull/59824 (`shouldUpgradeCallback`, Node 24.9).
 * Without it: such a request gets no answer.
 * Until: Node 20 and 22 are no longer supported.
 */

const ASKED = Symbol('asked')

/**
 * A request that counts as an upgrade only if it requests a WebSocket. Every other `Upgrade` is ignored (RFC 9110 7.8), as it
 * is by a server without upgrades.
 */
export class UpgradableMessage extends ClientMessage {
  declare [ASKED]: boolean | null

  get upgrade(): boolean {
    return this[ASKED] === true && (this.method === 'CONNECT' || asksForWebSocket(this))
  }

  /** Set by the parser before there are headers, and already by the constructor of the class above. */
  set upgrade(asked: boolean | null) {
    this[ASKED] = asked
  }
}

const asksForWebSocket = ({ method, headers, httpVersionMajor, httpVersionMinor }: IncomingMessage): boolean =>
  method === 'GET' &&
  headers.upgrade?.toLowerCase() === 'websocket' &&
  (httpVersionMajor > 1 || (httpVersionMajor === 1 && httpVersionMinor >= 1))

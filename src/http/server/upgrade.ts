import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { asToken, type Token } from '../../token/bearer.ts'
import { ClientMessage } from './message.ts'

/*
 * Routes a request for a WebSocket like other requests: the gate checks it like every other request, and it reaches the
 * route of its upstream. The proxy plugin could open the WebSocket itself, but it sends 101 to the client before the
 * upstream has answered, and buffers without limit for slow clients. So http/websocket does it.
 */

const ASKED = Symbol('asked')

/**
 * A request that counts as an upgrade only if it requests a WebSocket. Every other `Upgrade` is ignored (RFC 9110 7.8),
 * as it is by a server without upgrades: Node would take the connection away from HTTP for whatever protocol is named,
 * and clients ask for h2c with ordinary requests.
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

/** What an upgrade has beside what every request has. */
export interface Upgrade {
  socket: Socket
  /** What the client sent behind the request's head. */
  head: Buffer
  /** The values of `token` in its query; they are no longer in its URL. */
  tokens: readonly string[]
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>()

/** Costs nothing for other requests. */
export const isUpgrade = (request: IncomingMessage): boolean => (request as UpgradableMessage).upgrade

export const upgradeOf = (request: IncomingMessage): Upgrade | null =>
  isUpgrade(request) ? (upgrades.get(request) ?? null) : null

/** The token of an upgrade that brings it in the query, because browsers can send no header with it (design: Token). */
export function tokenOfUpgrade(request: IncomingMessage): Token | null {
  const tokens = upgradeOf(request)?.tokens ?? []
  return tokens.length === 1 ? asToken(tokens[0]) : null
}

/** Routes upgrades as requests, to the same handlers behind the same hooks. Needs a server of `UpgradableMessage`s. */
export function routeUpgrades(app: FastifyInstance): void {
  app.server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    // Node has removed its own listener, and an `error` event without one ends the process.
    socket.on('error', () => socket.destroy())
    const { url, tokens } = withoutTokens(request.url ?? '')
    // From here on the URL contains no token that could be logged or forwarded.
    request.url = url
    upgrades.set(request, { socket, head, tokens })
    const response = new ServerResponse(request)
    response.once('finish', () => socket.destroy())
    try {
      response.assignSocket(socket)
      app.routing(request, response)
    } catch {
      // The answer to an earlier request is still in progress on this connection: the client broke the order.
      socket.destroy()
    }
  })
}

function withoutTokens(target: string): { url: string; tokens: string[] } {
  const mark = target.indexOf('?')
  if (mark === -1) return { url: target, tokens: [] }
  const tokens: string[] = []
  const rest = target
    .slice(mark + 1)
    .split('&')
    .filter(pair => !(pair.startsWith('token=') && tokens.push(pair.slice('token='.length)) > 0))
  if (tokens.length === 0) return { url: target, tokens }
  return { url: target.slice(0, mark) + (rest.length === 0 ? '' : `?${rest.join('&')}`), tokens }
}

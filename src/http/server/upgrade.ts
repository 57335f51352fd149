import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { asToken, type Token } from '../../token/bearer.ts'
import type { UpgradableMessage } from '../../workarounds/node-ignored-upgrades.ts'
import { closeWithLinger } from './connection/linger.ts'

/*
 * Routes a request for a WebSocket like other requests: the gate checks it like every other request, and it reaches the
 * route of its upstream. The proxy plugin could open the WebSocket itself, but it sends 101 to the client before the
 * upstream has answered, and buffers without limit for slow clients. So http/websocket does it.
 */

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
    response.once('finish', () => closeWithLinger(socket))
    try {
      response.assignSocket(socket)
      app.routing(request, response)
    } catch {
      // The answer to an earlier request is still in progress on this connection: the client broke the order.
      socket.destroy()
    }
  })
}

/** The values of `token` in the query of a handshake, as browsers send one. */
export const tokensIn = (target: string): readonly string[] => withoutTokens(target).tokens

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

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the requests of a route are forwarded: the forwarding decides when it reads their bodies. */
    isForwarded?: true
  }
}

/** Requests whose clients wait for `100 Continue` before they send the body. */
const waiting = new WeakSet<IncomingMessage>()

/**
 * Serves requests that expect `100 Continue` like others. It is sent when the body is about to be read, and so only if the
 * request passed the gate; other clients get their refusal at once.
 */
export function acceptExpectations(app: FastifyInstance): void {
  app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    waiting.add(request)
    app.server.emit('request', request, response)
  })
  // Node would refuse any other expectation with its own message.
  app.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    app.server.emit('request', request, response)
  })
  // A hook of the listener would run for every forwarded request, too.
  app.addHook('onRoute', route => {
    if (route.config?.isForwarded === true) return
    route.preParsing = (request, reply, _payload, done) => {
      continueIfExpected(request.raw, reply.raw)
      done()
    }
  })
}

/** Lets the client send the body that is about to be read. */
export function continueIfExpected(request: IncomingMessage, response: ServerResponse): void {
  if (waiting.delete(request)) response.writeContinue()
}

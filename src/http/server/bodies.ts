import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { KeptChunks } from '../../base/kept-chunks.ts'
import { invalid, Refusal } from '../../base/refusal.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Of a route that is in no API document: it gets the text of a form. */
    takesForm?: true
  }
}

/** Whether a request has a body; RFC 9112 6.3: one of the two announces it. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined ||
  (headers['content-length'] !== undefined && headers['content-length'] !== '0')

/**
 * How a listener reads the bodies of its own routes. A body of length 0 counts as no body, with any content type,
 * because existing clients send `content-type: application/json` with every request, including the logout. A route
 * without a body in its schema ignores one, up to the limit. On all other routes a body must be JSON with its
 * content type. This excludes forms of foreign pages, which browsers send without a preflight. A route that takes a form gets its
 * text.
 */
export function readBodies(app: FastifyInstance): void {
  // Members like `__proto__` stay data: what is read from a body is read as own properties only.
  const parseJson = app.getDefaultJsonParser('ignore', 'ignore')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (request, payload, done) => {
    const { bodyLimit } = request.routeOptions
    readWhole(payload, bodyLimit ?? 0, (error, body) => {
      if (error !== null) done(error)
      else if (takesForm(request)) done(null, request.mediaType === FORM ? body.toString() : undefined)
      else if (body.length === 0 || !needsBody(request)) done(null)
      else if (request.mediaType !== 'application/json') done(invalid('body', 'must be sent as application/json'))
      else void parseJson(request, body.toString(), done)
    })
  })
}

/** `body` is empty with an error. */
type WholeBody = (error: Error | null, body: Buffer) => void

const NOTHING = Buffer.alloc(0)

/**
 * Reads a body up to a limit. Fastify would keep each chunk by itself: of clients that send chunks of one byte, and then no more, those
 * of one address would fill gigabytes.
 */
export function readWhole(request: IncomingMessage, limit: number, done: WholeBody): void {
  if (Number(request.headers['content-length'] ?? 0) > limit) {
    done(new Refusal('BODY_TOO_LARGE'), NOTHING)
    return
  }
  const kept = new KeptChunks()
  const stop = (): unknown => request.off('data', onData).off('end', onEnd).off('error', onError)
  function onData(chunk: Buffer): void {
    kept.add(chunk)
    if (kept.bytes <= limit) return
    stop()
    done(new Refusal('BODY_TOO_LARGE'), NOTHING)
  }
  function onEnd(): void {
    stop()
    done(null, Buffer.concat(kept.take()))
  }
  function onError(error: Error & { statusCode?: number }): void {
    stop()
    // It is the client's.
    error.statusCode ??= 400
    done(error, NOTHING)
  }
  request.on('data', onData).on('end', onEnd).on('error', onError)
  request.resume()
}

/**
 * Takes a content type away that Fastify cannot read: it would refuse the request before any parser is called, also where a
 * route ignores the body or forwards it.
 */
export function ignoreUnreadableType(request: FastifyRequest): void {
  if (request.headers['content-type'] !== undefined && request.mediaType === undefined) {
    request.headers = { 'content-type': undefined }
  }
}

export const FORM = 'application/x-www-form-urlencoded'

const takesForm = ({ routeOptions: { config } }: FastifyRequest): boolean =>
  config.takesForm === true || (config.documented !== undefined && 'form' in config.documented)

const needsBody = ({ routeOptions }: FastifyRequest): boolean => routeOptions.schema?.body !== undefined

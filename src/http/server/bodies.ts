import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { invalid } from '../../base/refusal.ts'

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
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    if (takesForm(request)) done(null, request.mediaType === FORM ? body.toString() : undefined)
    else if (body.length === 0 || !needsBody(request)) done(null)
    else if (request.mediaType !== 'application/json') done(invalid('body', 'must be sent as application/json'))
    else void parseJson(request, body.toString(), done)
  })
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

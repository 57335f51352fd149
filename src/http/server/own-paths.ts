import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { Refusal } from '../../base/refusal.ts'
import { METHODS } from './ambiguous-request.ts'

/** The value of `Allow` for paths of upstreams. */
const FORWARDED = [...METHODS].join(', ')

/**
 * The paths that a listener serves itself, and their methods. Any other method on them is 405 with `Allow`, and OPTIONS is
 * 204 with `Allow` (RFC 9110 9.3.7, 15.5.6): neither is forwarded.
 */
export class OwnPaths {
  readonly #methods = new Map<string, Set<string>>()
  #isCollecting = true

  /** Collects the routes that are registered from now on. */
  collect(app: FastifyInstance): void {
    app.addHook('onRoute', ({ method, url }: RouteOptions) => {
      if (!this.#isCollecting) return
      const methods = this.#methods.get(url) ?? new Set()
      for (const one of [method].flat()) methods.add(one)
      this.#methods.set(url, methods)
    })
  }

  /** Collects no more routes: those that follow belong to upstreams. */
  close(): void {
    this.#isCollecting = false
  }

  has(path: string): boolean {
    return this.#methods.has(path)
  }

  /** The value of `Allow` of a path. */
  allowOf(path: string): string {
    const methods = this.#methods.get(path)
    return methods === undefined ? FORWARDED : [...METHODS].filter(is => is === 'OPTIONS' || methods.has(is)).join(', ')
  }

  /**
   * Refuses methods that are neither served nor forwarded, ahead of everything else: no session and no secret makes them
   * work, and `Allow` tells no more than OPTIONS does.
   */
  refuseUnknownMethod(method: string, path: string): void {
    if (!METHODS.has(method)) throw new Refusal('METHOD_NOT_ALLOWED', { allow: this.allowOf(path) })
  }

  /** Whether a path is an own one, and no route of it has this method. */
  lacks(method: string, path: string): boolean {
    const methods = this.#methods.get(path)
    return methods !== undefined && !methods.has(method)
  }

  /**
   * Answers a request that `lacks` is true for. The gate comes before: where a path needs a session, or the secret, a request
   * without one is refused for that first, whatever its method. OPTIONS passes on the public listener (rule 2), and so shows
   * the methods to every client: they are public, the API document names them.
   */
  answerOther({ method }: FastifyRequest, reply: FastifyReply, path: string): void {
    const allow = this.allowOf(path)
    if (method !== 'OPTIONS') throw new Refusal('METHOD_NOT_ALLOWED', { allow })
    reply.code(204).header('allow', allow).send()
  }

  /** A hook ahead of CORS, which answers OPTIONS itself where it is on. */
  readonly allowOptions = (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    if (request.method === 'OPTIONS' && this.has(request.target.path)) {
      reply.header('allow', this.allowOf(request.target.path))
    }
    done()
  }
}
